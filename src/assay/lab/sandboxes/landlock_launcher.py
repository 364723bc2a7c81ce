"""Starts a command that Landlock, seccomp and resource limits confine, and ends everything that it leaves running.

A script for `python -I -S` that imports nothing but the standard library, because it may run as another user's program.
Its arguments are three descriptors: the settings, the pipe for its reports, and a pipe that closes when all must end.

The process that reads the settings becomes the supervisor. It stays outside of the sandbox, adopts every process whose
parent has ended, and kills them all when the command ends or the harness does. A second process confines itself and
becomes the command. All processes of a lab carry its mark, an unused resource limit that the filter protects.
"""

import ctypes
import itertools
import json
import os
import resource
import select
import signal
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

MARK_RLIMIT = 10
"""The limit of file locks, which no kernel since 2.4 enforces: its value marks the processes of a lab."""

_LIBC = ctypes.CDLL(None, use_errno=True)
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ABI_VERSION_FLAG, _PATH_BENEATH = 1, 1
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 1, 22, 36, 38
_FILTER_MODE = 2

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_FILE_RIGHTS = 0xC007  # execute, write, read, truncate, and calls of the driver
_NODES = 1 << 6 | 1 << 11  # creating devices, which no lab may
_RIGHTS_BY_ABI = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF}  # later ones know calls of device drivers, too
_ALL_RIGHTS = 0xFFFF
RIGHTS = {
    "read": _READ_FILE | _READ_DIR,
    "run": _READ_FILE | _READ_DIR | _EXECUTE,
    "memory": _READ_FILE | _WRITE_FILE | 1 << 5 | 1 << 8 | 1 << 14,  # files by name, without a list of those of others
    "device": _READ_FILE | _WRITE_FILE | 1 << 15,
    "write": _ALL_RIGHTS & ~_NODES,
}
"""What a path in the settings may be used for, by name."""

NOT_FOUND, NOT_STARTED = 127, 126


def landlock_version() -> int:
    """Return the version of the kernel's Landlock interface; 0 if there is none, or it is turned off."""
    return max(0, int(_LIBC.syscall(_CREATE_RULESET, None, 0, _ABI_VERSION_FLAG)))


def main(settings_fd: int, report_fd: int, life_fd: int) -> None:
    """Start the command, and supervise it until it or the harness ends."""
    with os.fdopen(settings_fd, "rb") as file:
        settings = json.load(file)
    for fd in (report_fd, life_fd):
        os.set_inheritable(fd, False)
    _prctl(_PR_SET_SUBREAPER, 1)
    # A supervisor that is paused with its lab would not notice that the harness has died.
    _prctl(_PR_SET_PDEATHSIG, signal.SIGCONT)
    child_ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    child = os.fork()
    if child == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _become_command(settings, report_fd)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)  # the pipes must close when the last process of the lab has ended
    _report(report_fd, {"child": child})
    ended = _wait_for_child(child, child_ended, life_fd)
    if ended is not None:
        _report(report_fd, {"exit-code": ended})
    _kill_children()


def _wait_for_child(child: int, child_ended: int, life_fd: int) -> int | None:
    """Reap orphans until the child has ended, and return its exit code; None if the harness ends first."""
    while True:
        readable, _, _ = select.select([child_ended, life_fd], [], [])
        os.set_blocking(child_ended, False)
        if child_ended in readable:
            os.read(child_ended, 4096)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return None
            if pid == child:
                code = os.waitstatus_to_exitcode(status)
                return 128 - code if code < 0 else code
            if pid == 0:
                break
        if life_fd in readable:
            return None


def _kill_children() -> None:
    """Kill all descendants: when a process dies, its children become those of the supervisor."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children")
    for attempt in itertools.count():
        for pid in listed.read_text().split():
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        # At first without a pause: a process that forks and exits at once must be met while it exists.
        if attempt > 10_000:
            time.sleep(0.01)


def _become_command(settings: dict[str, Any], report_fd: int) -> None:
    """Confine this process and replace it by the command; never returns."""
    try:
        os.setsid()
        for file in settings["join"]:
            Path(file).write_text("0")
        if settings["processors"]:
            os.sched_setaffinity(0, settings["processors"])
        ruleset = _make_ruleset(settings["rules"])
        _set_limits(settings)
        if settings["owner"]:
            user, group = settings["owner"]
            os.setgroups([])
            os.setresgid(group, group, group)
            os.setresuid(user, user, user)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # the kernel clears it when the user changes
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
        _call("landlock_restrict_self", _LIBC.syscall(_RESTRICT_SELF, ruleset, 0))
        os.close(ruleset)
        for pid_signal in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(pid_signal, signal.SIG_DFL)  # Python ignores these, and a command would inherit that
        os.umask(0o022)
        program = bytes.fromhex(settings["filter"])
    except Exception as error:  # noqa: BLE001 - reported to the harness, which raises it
        _report(report_fd, {"error": f"{type(error).__name__}: {error}"})
        os._exit(NOT_STARTED)
    command = settings["command"]
    try:
        os.chdir(settings["workspace"])
        _set_filter(program)
        os.execvpe(command[0], command, settings["variables"])
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        os._exit(NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_STARTED)


def _make_ruleset(rules: dict[str, list[str]]) -> int:
    """Return a ruleset that allows what the rules name, and nothing else that this kernel's Landlock knows."""
    abi = landlock_version()
    handled = _RIGHTS_BY_ABI.get(abi, _ALL_RIGHTS)
    tcp, scopes = 3, 3  # binding and connecting; abstract sockets and signals
    attributes = struct.pack("QQQ", handled, tcp, scopes)[: 8 if abi < 4 else 16 if abi < 6 else 24]
    ruleset = _call("landlock_create_ruleset", _LIBC.syscall(_CREATE_RULESET, attributes, len(attributes), 0))
    for right, paths in rules.items():
        for path in paths:
            folder = Path(path).is_dir()
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
            allowed = RIGHTS[right] & handled & (_ALL_RIGHTS if folder else _FILE_RIGHTS)
            rule = struct.pack("=Qi", allowed, fd)
            _call(f"landlock_add_rule {path}", _LIBC.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0))
            os.close(fd)
    return ruleset


def _set_limits(settings: dict[str, Any]) -> None:
    limits = {getattr(resource, f"RLIMIT_{name}"): value for name, value in settings["limits"].items()}
    if not settings["owner"]:
        # The kernel counts all processes of the user, so those that run already come on top, but for this one.
        limits[resource.RLIMIT_NPROC] += _count_threads(os.getuid()) - 1
    limits[MARK_RLIMIT] = settings["mark"]
    for limit, value in limits.items():
        hard = resource.getrlimit(limit)[1]
        allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limit, (allowed, allowed))


def _count_threads(user: int) -> int:
    threads = 0
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and folder.stat().st_uid == user:
                threads += int((folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[17])
        except OSError:
            continue
    return threads


def _set_filter(program: bytes) -> None:
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    _prctl(_PR_SET_SECCOMP, _FILTER_MODE, header)


def _prctl(option: int, value: int, pointer: bytes | int = 0) -> None:
    _call(f"prctl {option}", _LIBC.prctl(option, ctypes.c_ulong(value), pointer, 0, 0))


def _call(name: str, result: int) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")
    return result


def _report(fd: int, content: dict[str, Any]) -> None:
    try:
        os.write(fd, json.dumps(content).encode() + b"\n")
    except BrokenPipeError:
        return  # the harness is dead


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
