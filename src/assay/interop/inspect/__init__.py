"""Inspect AI: our suites as its tasks, our lab as its sandbox, our grade as its score, our records as its logs."""
