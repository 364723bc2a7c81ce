"""Guesses tails for every coin."""

with open("data/test.csv") as test, open("submission.csv", "w") as submission:
    next(test)
    submission.write("coin,side\n")
    submission.writelines(f"{line.strip()},0\n" for line in test)
