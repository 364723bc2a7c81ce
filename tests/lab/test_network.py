"""Code in a lab tries to reach a listener on this machine. In sandbox `none` each attempt succeeds."""

import re
import socket
from collections.abc import Iterator

import pytest
from inside import EVERY_SANDBOX, WITHOUT_ENGINE, Open, python

from assay.core.disk import random_token

pytestmark = pytest.mark.anyio

TCP = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 2); print('connected')"
UDP = """
import socket, sys
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.settimeout(2)
out.sendto(b'ping', ('127.0.0.1', int(sys.argv[1])))
print('sent')
"""
UNIX = """
import socket, sys
out = socket.socket(socket.AF_UNIX)
out.connect(sys.argv[1].replace('@', chr(0)))
print('connected')
"""


@pytest.fixture
def tcp() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield str(server.getsockname()[1])


@EVERY_SANDBOX
async def test_tcp_to_the_host_fails(opened: Open, tcp: str):
    async with opened("none") as lab:
        assert (await python(lab, TCP, tcp)).stdout.text == "connected\n"
    async with opened() as lab:
        tried = await python(lab, TCP, tcp)
    assert not tried.succeeded
    assert re.search("refused|not permitted", tried.stderr.text)


@WITHOUT_ENGINE
async def test_udp_to_the_host_fails(opened: Open):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.setblocking(False)
        port = str(server.getsockname()[1])
        async with opened("none") as lab:
            assert (await python(lab, UDP, port)).stdout.text == "sent\n"
        assert server.recv(10) == b"ping"
        async with opened() as lab:
            await python(lab, UDP, port)
        with pytest.raises(BlockingIOError):
            server.recv(10)


@EVERY_SANDBOX
async def test_an_abstract_unix_socket_of_the_host_is_not_reached(opened: Open):
    name = f"assay-{random_token()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        async with opened("none") as lab:
            assert (await python(lab, UNIX, f"@{name}")).stdout.text == "connected\n"
        async with opened() as lab:
            tried = await python(lab, UNIX, f"@{name}")
        assert re.search("refused|not permitted", tried.stderr.text)


@EVERY_SANDBOX
async def test_a_unix_socket_file_of_the_host_is_not_reached(opened: Open, home):
    path = home.root / "engine.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        path.chmod(0o777)
        server.listen()
        async with opened("none") as lab:
            assert (await python(lab, UNIX, path)).stdout.text == "connected\n"
        async with opened() as lab:
            tried = await python(lab, UNIX, path)
        assert re.search("No such file|not permitted", tried.stderr.text)


@EVERY_SANDBOX
async def test_a_name_is_not_resolved_and_no_route_exists(opened: Open):
    probe = """
import socket
for address in ('1.1.1.1', '169.254.169.254'):
    try:
        socket.create_connection((address, 80), 2)
        print('connected')
    except OSError as error:
        print(error.strerror)
try:
    print(open('/proc/net/dev').read().count(':'), 'interfaces')
except PermissionError:
    print('no sockets')
"""
    async with opened() as lab:
        said = (await python(lab, probe)).stdout.text
    refused = "Operation not permitted" if lab.sealing.sandbox == "landlock" else "Network is unreachable"
    seen = "no sockets" if lab.sealing.sandbox == "landlock" else "1 interfaces"
    assert said == f"{refused}\n{refused}\n{seen}\n"


@EVERY_SANDBOX
async def test_socket_families_that_ignore_network_namespaces_are_refused(opened: Open):
    # Without the filter the packet family would answer EPERM in a lab, and vsock would reach a virtual machine's host.
    probe = """
import errno, socket
for family in (40, 17, 38, 31):  # vsock, packet, alg, bluetooth
    try:
        socket.socket(family, socket.SOCK_STREAM)
        print('opened')
    except OSError as error:
        print(errno.errorcode[error.errno])
"""
    async with opened() as lab:
        refused = "EPERM" if lab.sealing.sandbox == "landlock" else "EAFNOSUPPORT"
        assert (await python(lab, probe)).stdout.text == f"{refused}\n" * 4
