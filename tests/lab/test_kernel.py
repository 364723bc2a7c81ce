"""Code in a lab tries system calls that widen its attack surface; without a sandbox they are not refused."""

import ctypes
import errno
import platform

import pytest
from inside import EVERY_SANDBOX, Open, python, shell

from assay.core.errors import LabError
from assay.lab.sandboxes import seccomp

pytestmark = pytest.mark.anyio

# Calls an ordinary user may make: (x86_64, aarch64). The filter alone answers EPERM to them.
ALLOWED_OUTSIDE = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "kcmp": (312, 272),
    "keyctl": (250, 219),
    "io_uring_setup": (425, 425),
    "name_to_handle_at": (303, 264),
    "open_tree": (428, 428),
    "pidfd_getfd": (438, 438),
    "io_setup": (206, 0),
}
CALL = """
import ctypes, errno, sys
libc = ctypes.CDLL(None, use_errno=True)
for number in sys.argv[1:]:
    ctypes.set_errno(0)
    libc.syscall(int(number), 0, 0, 0, 0, 0, 0)
    print(errno.errorcode.get(ctypes.get_errno(), 'done'))
"""


def numbers() -> list[str]:
    return [str(pair[0 if platform.machine() == "x86_64" else 1]) for pair in ALLOWED_OUTSIDE.values()]


@EVERY_SANDBOX
async def test_denied_system_calls_are_refused(opened: Open):
    async with opened("none") as lab:
        outside = (await python(lab, CALL, *numbers())).stdout.text.split()
    async with opened() as lab:
        inside = (await python(lab, CALL, *numbers())).stdout.text.split()
    assert "EPERM" not in outside
    assert inside == ["EPERM"] * len(ALLOWED_OUTSIDE)


SHARED_MEMORY = """
import ctypes, errno, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
address = libc.shmat(int(sys.argv[1]), None, 0o10000)
print(errno.errorcode[ctypes.get_errno()] if address == ctypes.c_void_p(-1).value else ctypes.string_at(address))
"""


@EVERY_SANDBOX
async def test_shared_memory_of_the_machine_cannot_be_read(opened: Open):
    """Its ids are small integers, so nobody needs to look them up."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    segment = libc.shmget(0, 4096, 0o1666)  # private, to be created, for everybody
    assert segment >= 0
    try:
        ctypes.memmove(libc.shmat(segment, None, 0), b"a secret", 8)
        async with opened("none") as lab:
            assert (await python(lab, SHARED_MEMORY, str(segment))).stdout.text == "b'a secret'\n"
        async with opened() as lab:
            assert (await python(lab, SHARED_MEMORY, str(segment))).stdout.text.strip() in ("EPERM", "EINVAL")
    finally:
        libc.shmctl(segment, 0, None)


async def test_the_mounts_of_other_labs_cannot_be_listed_without_a_mount_namespace(opened: Open):
    listed = """
import ctypes, errno, struct
libc, ids = ctypes.CDLL(None, use_errno=True), (ctypes.c_uint64 * 500)()
request = ctypes.create_string_buffer(struct.pack("IIQQ", 24, 0, 2**64 - 1, 0))
print(libc.syscall(458, request, ids, 500, 0) > 0, ctypes.get_errno())
"""
    async with opened("none") as lab:
        outside = (await python(lab, listed)).stdout.text
    assert outside.startswith("True") or str(errno.ENOSYS) in outside, "the kernel lists mounts, or is too old to"
    async with opened("landlock") as lab:
        assert (await python(lab, listed)).stdout.text == f"False {errno.EPERM}\n"


@EVERY_SANDBOX
async def test_making_a_nested_user_namespace_fails(opened: Open):
    attempts = "unshare --user true && echo unshared; unshare --user --map-root-user --mount true && echo mapped"
    async with opened("none") as lab:
        assert "unshared" in (await shell(lab, attempts)).stdout.text
    async with opened() as lab:
        assert (await shell(lab, attempts)).stdout.text == ""


@EVERY_SANDBOX
async def test_clone_with_a_new_namespace_fails_and_threads_still_start(opened: Open):
    clone = f"""
import ctypes, errno, threading
libc = ctypes.CDLL(None, use_errno=True)
for flags in (0x10000000, 0x20000, 0x40000000):
    assert libc.syscall({56 if platform.machine() == "x86_64" else 220}, flags | 17, 0, 0, 0, 0) == -1
    print(errno.errorcode[ctypes.get_errno()])
assert libc.syscall(435, 0, 0) == -1
print(errno.errorcode[ctypes.get_errno()])
thread = threading.Thread(target=print, args=('thread',))
thread.start()
thread.join()
"""
    async with opened() as lab:
        assert (await python(lab, clone)).stdout.text.split() == ["EPERM", "EPERM", "EPERM", "ENOSYS", "thread"]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="only this processor has a second system call table")
@EVERY_SANDBOX
async def test_calls_through_the_32_bit_table_kill_the_caller(opened: Open):
    # mov eax, 20 (getpid); int 0x80; ret
    foreign = """
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(b'\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3')
print(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))())
"""
    async with opened() as lab:
        called = await python(lab, foreign)
    assert called.ended == "signal"
    assert called.stdout.text == ""


async def test_code_cannot_type_into_the_terminal_of_the_harness(opened: Open):
    async with opened() as lab:
        typed = await python(lab, "import fcntl, os; fcntl.ioctl(os.open('/dev/tty', os.O_RDWR), 0x5412, b'x')")
    assert "No such device or address" in typed.stderr.text


def test_there_are_filters_for_two_processor_architectures():
    for machine in ("x86_64", "aarch64"):
        program = seccomp.build_filter(machine)
        assert len(program) % 8 == 0
        assert len(program) // 8 < 4096  # the kernel's limit
    with pytest.raises(LabError, match="riscv64"):
        seccomp.build_filter("riscv64")


WATCH = """
import ctypes, fcntl, os, signal, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def inotify():
    watch = libc.inotify_init1(os.O_NONBLOCK)
    if watch < 0 or libc.inotify_add_watch(watch, b"/usr/bin", 0x20) < 0:
        raise OSError(ctypes.get_errno(), "inotify")
    subprocess.run(["/usr/bin/true"])
    return b"true" in os.read(watch, 4096)
def dnotify():
    signals = []
    signal.signal(signal.SIGIO, lambda *_: signals.append(1))
    fcntl.fcntl(os.open("/usr/bin", os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_ACCESS)
    os.read(os.open("/usr/bin/true", os.O_RDONLY), 1)
    return bool(signals)
def lease():
    with open("mine", "w+"):
        pass
    return fcntl.fcntl(os.open("mine", os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK) == 0
for probe in (inotify, dnotify, lease):
    try:
        print(probe.__name__, probe())
    except OSError as error:
        print(probe.__name__, error.errno in (1, 38))
        print("refused")
"""


@EVERY_SANDBOX
async def test_code_cannot_watch_who_uses_the_files_that_labs_share(opened: Open):
    """Among them are the programs of the machine, so a watch would see what the host and other labs start."""
    async with opened("none") as lab:
        outside = (await python(lab, WATCH)).stdout.text
    assert outside == "inotify True\ndnotify True\nlease True\n"
    async with opened() as lab:
        inside = (await python(lab, WATCH)).stdout.text
        # Programs that would rather watch a file poll it instead.
        followed = await shell(lab, "touch log; (sleep 0.2; echo line >> log; sleep 1.5)& tail -f log --pid=$!")
    assert inside == "inotify True\nrefused\ndnotify True\nrefused\nlease True\nrefused\n"
    assert followed.stdout.text == "line\n", followed.stderr.text
