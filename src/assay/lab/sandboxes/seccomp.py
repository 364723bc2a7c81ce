"""The seccomp filter of labs: a deny-list of system calls.

Agents may run anything, so this is not an allow-list. It denies what widens the attack surface of the kernel
(namespaces, mounts, tracing, keys, modules, io_uring), what reaches past the network namespace (unusual socket
families), memory that control groups do not count (buffers of sockets), what all programs of a machine share a fixed
number of (contexts of asynchronous I/O), ways to see what other programs do with the files that labs share (inotify,
fanotify, dnotify, leases), and ways to outlive the harness.

Without namespaces the filter also closes what those would separate: sockets, System V and POSIX queues, and the
scheduling and limits of other processes. A lab that shares the harness's user can change
neither permissions nor times of files, because Landlock does not tell which file such a call is about.
"""

import errno
import json
import platform
import signal
import struct
from collections.abc import Mapping
from dataclasses import dataclass

from assay.core.errors import LabError
from assay.lab.sandboxes.landlock_launcher import MARK_RLIMIT


def build_filter(
    machine: str | None = None,
    *,
    pinned: bool = False,
    namespaces: bool = True,
    own_user: bool = True,
    memory_counted: bool = True,
) -> bytes:
    """Return the filter for this machine's processor as `bwrap --seccomp` reads it.

    With `pinned`, code in the lab cannot move to other processors. Without `namespaces`, an `own_user`, or memory that
    the kernel counts, the filter denies what these would make harmless.
    """
    name = machine or platform.machine()
    if name not in _PROCESSORS:
        raise LabError(f"there is no system call filter for {name}, only for {', '.join(_PROCESSORS)}")
    cpu = _PROCESSORS[name]
    code = [_load(_ARCHITECTURE), *_unless_equal(cpu.audit, _KILL), _load(_NUMBER)]
    if cpu.x32_bit:
        code += _if_at_least(cpu.x32_bit, _refuse(errno.ENOSYS))
    for number in cpu.inotify:
        code += _if_equal(number, _refuse(errno.ENOSYS))  # for which programs have a fallback
    for number in (*cpu.denied, *([cpu.sched_setaffinity] if pinned else [])):
        code += _if_equal(number, _refuse(errno.EPERM))
    if not memory_counted:
        for number in _numbers(_UNMAPPED_MEMORY, name):
            code += _if_equal(number, _refuse(errno.ENOSYS))
    # The flags of clone3 are behind a pointer, which a filter cannot follow; the C library falls back to clone.
    code += _if_equal(_CLONE3, _refuse(errno.ENOSYS))
    code += _if_equal(cpu.clone, _load(_FIRST_ARGUMENT), *_if_any_bit(_NEW_NAMESPACES, _refuse(errno.EPERM)), _ALLOW)
    if not namespaces:
        code += _deny_reaching_out(name)
    if not own_user:
        code += _ignore_metadata_changes(name)
    code += _if_equal(cpu.socket, *_socket_rules())
    code += _if_equal(cpu.setsockopt, *_setsockopt_rules())
    code += _if_equal(cpu.prctl, *_prctl_rules())
    code += _if_equal(cpu.fcntl, *_fcntl_rules())
    return b"".join([*code, _ALLOW])


def build_profile(*, pinned: bool = False, memory_counted: bool = True) -> str:
    """Return the same rules as `build_filter` in the format of container engines."""
    names = [*_DENIED, *_DENIED_EVERYWHERE, *(["sched_setaffinity"] if pinned else [])]
    watching = ["inotify_init", "inotify_init1", "inotify_add_watch"]
    missing = ["clone3", *watching, *([] if memory_counted else _UNMAPPED_MEMORY)]
    rules = [_rule(names, errno.EPERM), _rule(missing, errno.ENOSYS)]
    flags = [1 << bit for bit in range(32) if _NEW_NAMESPACES & 1 << bit]
    rules += [_rule(["clone"], errno.EPERM, (0, "SCMP_CMP_MASKED_EQ", flag, flag)) for flag in flags]
    families = [family for family in range(_MAX_FAMILY) if family not in (*_FAMILIES, _NETLINK)]
    rules += [_rule(["socket"], errno.EAFNOSUPPORT, (0, "SCMP_CMP_EQ", family, 0)) for family in families]
    rules += [_rule(["socket"], errno.EAFNOSUPPORT, (0, "SCMP_CMP_GE", _MAX_FAMILY, 0))]
    netlink = (0, "SCMP_CMP_EQ", _NETLINK, 0), (2, "SCMP_CMP_NE", 0, 0)
    rules += [_rule(["socket"], errno.EPROTONOSUPPORT, *netlink)]
    for option in _BUFFER_OPTIONS:
        buffers = (1, "SCMP_CMP_EQ", _SOL_SOCKET, 0), (2, "SCMP_CMP_EQ", option, 0)
        rules += [_rule(["setsockopt"], errno.EPERM, *buffers)]
    for command in _WATCHING_COMMANDS:
        rules += [_rule(["fcntl"], errno.EPERM, (1, "SCMP_CMP_EQ", command, 0))]
    machine = {"x86_64": "SCMP_ARCH_X86_64", "aarch64": "SCMP_ARCH_AARCH64"}[platform.machine()]
    return json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "architectures": [machine], "syscalls": rules})


def _rule(names: list[str], error: int, *arguments: tuple[int, str, int, int]) -> dict[str, object]:
    compared = [
        {"index": index, "op": op, "value": value, "valueTwo": second} for index, op, value, second in arguments
    ]
    return {"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": error, "args": compared}


def _deny_reaching_out(machine: str) -> list[bytes]:
    """Deny what reaches other processes of the machine, and what they see: only namespaces would prevent it."""
    code = [line for number in _numbers(_SHARED_BY_ALL, machine) for line in _if_equal(number, _refuse(errno.EPERM))]
    only_itself = _load(_FIRST_ARGUMENT), *_unless_equal(0, _refuse(errno.EPERM))
    for number in _numbers(_OF_ANY_PROCESS, machine):
        code += _if_equal(number, *only_itself, _ALLOW)
    for number in _numbers(_LIMITS_OF_ANY_PROCESS, machine):
        unmarked = _load(_SECOND_ARGUMENT), *_if_equal(MARK_RLIMIT, _refuse(errno.EPERM))
        code += _if_equal(number, *only_itself, *unmarked, _ALLOW)
    for number in _numbers(_OWN_LIMITS, machine):
        code += _if_equal(number, _load(_FIRST_ARGUMENT), *_if_equal(MARK_RLIMIT, _refuse(errno.EPERM)), _ALLOW)
    for calls, process in ((_PRIORITY, 0), (_IO_PRIORITY, 1)):
        for number in _numbers(calls, machine):
            kind = _load(_FIRST_ARGUMENT), *_unless_equal(process, _refuse(errno.EPERM))
            code += _if_equal(number, *kind, _load(_SECOND_ARGUMENT), *_unless_equal(0, _refuse(errno.EPERM)), _ALLOW)
    return code


def _ignore_metadata_changes(machine: str) -> list[bytes]:
    """Let changes of permissions and times succeed without effect, as copying a file needs them; refuse others."""
    code = [line for number in _numbers(_METADATA, machine) for line in _if_equal(number, _refuse(0))]
    refused = _numbers(_OTHER_METADATA, machine)
    return code + [line for number in refused for line in _if_equal(number, _refuse(errno.EPERM))]


def _socket_rules() -> list[bytes]:
    """Allow the usual families; netlink only for routing, because other protocols pass messages without a limit."""
    families = [line for family in _FAMILIES for line in _if_equal(family, _ALLOW)]
    routing = [_load(_THIRD_ARGUMENT), *_if_equal(0, _ALLOW), _refuse(errno.EPROTONOSUPPORT)]
    return [_load(_FIRST_ARGUMENT), *families, *_if_equal(_NETLINK, *routing), _refuse(errno.EAFNOSUPPORT)]


def _setsockopt_rules() -> list[bytes]:
    """Refuse larger buffers of sockets: their memory does not count as that of the lab."""
    options = [line for option in _BUFFER_OPTIONS for line in _if_equal(option, _refuse(errno.EPERM))]
    return [_load(_SECOND_ARGUMENT), *_unless_equal(_SOL_SOCKET, _ALLOW), _load(_THIRD_ARGUMENT), *options, _ALLOW]


def _prctl_rules() -> list[bytes]:
    """Keep the first process of a sandbox from surviving the harness: its parent death signal must stay SIGKILL.

    Other programs may ask for another signal (torch.multiprocessing does). The call then succeeds without effect, as
    all processes die with the sandbox anyway.
    """
    signals = [*_if_equal(0, _refuse(errno.EPERM)), *_if_equal(signal.SIGKILL, _ALLOW), _refuse(0)]
    return [_load(_FIRST_ARGUMENT), *_unless_equal(_PR_SET_PDEATHSIG, _ALLOW), _load(_SECOND_ARGUMENT), *signals]


def _fcntl_rules() -> list[bytes]:
    """Refuse leases and notices of changes, which tell who else opens a file."""
    commands = [line for command in _WATCHING_COMMANDS for line in _if_equal(command, _refuse(errno.EPERM))]
    return [_load(_SECOND_ARGUMENT), *commands, _ALLOW]


@dataclass(frozen=True)
class _Processor:
    """The numbers that a processor architecture assigns to system calls."""

    audit: int
    clone: int
    socket: int
    setsockopt: int
    prctl: int
    fcntl: int
    inotify: tuple[int, ...]
    sched_setaffinity: int
    denied: tuple[int, ...]
    x32_bit: int = 0


# Calls since Linux 5.1 have the same number everywhere.
_DENIED_EVERYWHERE = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "pidfd_getfd": 438, "process_madvise": 440,
    "mount_setattr": 442, "quotactl_fd": 443, "open_tree_attr": 467,
}  # fmt: skip
_CLONE3 = 435

_DENIED = {  # name: (x86_64, aarch64); None where the processor has no such call
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282), "fanotify_init": (300, 262),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "setns": (308, 268), "unshare": (272, 97),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "quotactl": (179, 60), "swapon": (167, 224), "swapoff": (168, 225), "reboot": (169, 142), "acct": (163, 89),
    "syslog": (103, 116), "settimeofday": (164, 170), "clock_settime": (227, 112), "clock_adjtime": (305, 266),
    "adjtimex": (159, 171), "sethostname": (170, 161), "setdomainname": (171, 162), "vhangup": (153, 58),
    "lookup_dcookie": (212, 18), "nfsservctl": (180, 42), "move_pages": (279, 239), "migrate_pages": (256, 238),
    "iopl": (172, None), "ioperm": (173, None), "modify_ldt": (154, None), "uselib": (134, None), "ustat": (136, None),
    "sysfs": (139, None), "_sysctl": (156, None), "create_module": (174, None), "get_kernel_syms": (177, None),
    "query_module": (178, None),
    "io_setup": (206, 0),
}  # fmt: skip

# What namespaces would separate: sockets, queues and shared memory of System V and POSIX, and the list of mounts.
_SHARED_BY_ALL = {
    "socket": (41, 198), "mq_open": (240, 180), "mq_unlink": (241, 181),
    # Ids are small integers, so to refuse only those that look them up would not be enough.
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195),
    "semget": (64, 190), "semop": (65, 193), "semctl": (66, 191), "semtimedop": (220, 192),
    "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187),
    "statmount": (457, 457), "listmount": (458, 458),
}  # fmt: skip
# Memory that no process has mapped, which polling does not find.
_UNMAPPED_MEMORY = {
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194), "msgget": (68, 186),
}  # fmt: skip
_OF_ANY_PROCESS = {
    "sched_setparam": (142, 118), "sched_setscheduler": (144, 119), "sched_setattr": (314, 274),
    "sched_setaffinity": (203, 122),
}  # fmt: skip
_LIMITS_OF_ANY_PROCESS = {"prlimit64": (302, 261)}
_OWN_LIMITS = {"setrlimit": (160, 164)}
_PRIORITY, _IO_PRIORITY = {"setpriority": (141, 140)}, {"ioprio_set": (251, 30)}
_METADATA = {
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "utime": (132, None), "utimes": (235, None), "futimesat": (261, None), "utimensat": (280, 88),
}  # fmt: skip
_OTHER_METADATA = {
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "setxattrat": (463, 463),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16), "removexattrat": (466, 466),
    "file_setattr": (469, 469),
}  # fmt: skip


def _numbers(calls: Mapping[str, tuple[int, int | None]], machine: str) -> list[int]:
    """Return the numbers of system calls on a machine, without those it does not have."""
    numbers = (pair[0 if machine == "x86_64" else 1] for pair in calls.values())
    return [number for number in numbers if number is not None]


_PROCESSORS = {
    "x86_64": _Processor(
        0xC000003E,
        clone=56,
        socket=41,
        setsockopt=54,
        prctl=157,
        fcntl=72,
        inotify=(253, 254, 294),
        sched_setaffinity=203,
        denied=(*_numbers(_DENIED, "x86_64"), *_DENIED_EVERYWHERE.values()),
        x32_bit=0x40000000,
    ),
    "aarch64": _Processor(
        0xC00000B7,
        clone=220,
        socket=198,
        setsockopt=208,
        prctl=167,
        fcntl=25,
        inotify=(26, 27),
        sched_setaffinity=122,
        denied=(*_numbers(_DENIED, "aarch64"), *_DENIED_EVERYWHERE.values()),
    ),
}

# Cgroup, host name, IPC, user, process, network and mount namespaces.
_NEW_NAMESPACES = 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000 | 0x00020000
# Unix, IPv4, IPv6. Others ignore the network namespace, above all vsock, which reaches a machine's hypervisor.
_FAMILIES = (1, 2, 10)
_NETLINK = 16
_MAX_FAMILY = 64
_SOL_SOCKET = 1
_BUFFER_OPTIONS = (7, 8, 32, 33)  # SO_SNDBUF, SO_RCVBUF, and their variants for the administrator
_PR_SET_PDEATHSIG = 1
_WATCHING_COMMANDS = (1024, 1026)  # F_SETLEASE, F_NOTIFY

_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT, _SECOND_ARGUMENT, _THIRD_ARGUMENT = (
    0,
    4,
    16,
    24,
    32,
)  # offsets in the kernel's struct seccomp_data, little-endian


def _line(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)


def _load(offset: int) -> bytes:
    return _line(0x20, offset)


def _return(action: int) -> bytes:
    return _line(0x06, action)


def _refuse(error: int) -> bytes:
    return _return(0x00050000 | error)


_ALLOW = _return(0x7FFF0000)
_KILL = _return(0x80000000)


def _if_equal(value: int, *then: bytes) -> list[bytes]:
    return [_line(0x15, value, 0, len(then)), *then]


def _unless_equal(value: int, *then: bytes) -> list[bytes]:
    return [_line(0x15, value, len(then), 0), *then]


def _if_at_least(value: int, *then: bytes) -> list[bytes]:
    return [_line(0x35, value, 0, len(then)), *then]


def _if_any_bit(bits: int, *then: bytes) -> list[bytes]:
    return [_line(0x45, bits, 0, len(then)), *then]
