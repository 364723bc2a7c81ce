"""Run a script as AIDE's interpreter did; runs inside the lab.

The script is executed by a process of AIDE's own, not as a program: `__name__` is not `__main__`, there is no
`__file__`, the arguments are AIDE's, both outputs are one stream that can only be written, and whatever ends the
process counts as an error, even `exit(0)`.
"""

import os
import sys
import traceback

DONE = 90


class Output:
    """A stream that can be written and flushed, and nothing else."""

    def __init__(self) -> None:
        self.write, self.flush = sys.stdout.write, sys.stdout.flush


def main(path: str) -> None:
    """Execute a script in a child process; exit with 1 unless it came to its end."""
    child = os.fork()
    if not child:
        ended = execute(path)
        sys.stdout.flush()
        os._exit(DONE if ended else 1)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) or os.WEXITSTATUS(status) not in (1, DONE):
        print("The process that executed the script died unexpectedly.")
    sys.exit(os.WIFSIGNALED(status) or os.WEXITSTATUS(status) != DONE)


def execute(path: str) -> bool:
    """Execute a script, and return whether it came to its end."""
    with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - a fraction of the time of pathlib
        code = file.read()
    sys.argv = ["aide", "data_dir=./input", "exp_name=exp"]
    sys.stdout = sys.stderr = Output()
    try:
        exec(compile(code, path, "exec"), {})
    except BaseException as error:  # noqa: BLE001 - whatever a script raises is a fault of its own
        trace = error.__traceback__
        traceback.print_exception(error.with_traceback(trace and trace.tb_next))
        return False
    return True


main(sys.argv[1])
