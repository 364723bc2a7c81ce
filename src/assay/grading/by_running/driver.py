"""Answer requests to call a function of a file: runs inside a lab as `python driver.py FILE FUNCTION`.

A request, on standard input, is a token, the number of arguments, and the arguments. The answer is the token of the
request, a kind, and an array: the result (`RESULT`), or an error message as bytes (`FAULT`). An array is a
header of fixed size, with its type and shape, and then its values in C order. The token is random, so that no answer
can be ready before its request.

The called code shares this process and can do anything to it. The host trusts nothing here: it holds the clock, bounds
what it reads by what it expects, and compares every result.
"""

import contextlib
import fcntl
import importlib.util
import math
import os
import struct
import sys
from collections.abc import Callable, Sequence
from typing import Any, BinaryIO

import numpy as np

TOKEN_SIZE = 16
RESULT, FAULT = b"R", b"F"
TYPES = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16")
MAX_AXES = 8
MAX_FAULT_BYTES = 500

_HEADER = struct.Struct(f"<BB{MAX_AXES}Q")
HEADER_SIZE = _HEADER.size
_PIPE_SIZE = 1 << 20


def main(file: str, function: str) -> None:
    """Serve requests until standard input ends."""
    with contextlib.suppress(OSError):  # larger pipes mean fewer context switches; without them it is only slower
        for pipe in (0, 1):
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_SIZE)
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # The called code must neither print into the answers nor read the requests.
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    call: Callable[..., Any] | None = None
    while token := requests.read(TOKEN_SIZE):
        arguments = [_read_array(requests) for _ in range(requests.read(1)[0])]
        try:
            if call is None:
                call = _load(file, function)
            kind, result = RESULT, _check_result(call(*arguments), function)
        except BaseException as error:  # noqa: BLE001 - whatever it raises, including SystemExit, is its answer
            text = f"{type(error).__name__}: {error}"
            kind, result = FAULT, np.frombuffer(text.encode()[:MAX_FAULT_BYTES], np.uint8)
        answers.write(token + kind + pack_header(result))
        answers.write(result.reshape(-1).view(np.uint8).data)
        answers.flush()


def pack_request(token: bytes, arguments: Sequence[np.ndarray[Any, Any]]) -> bytes:
    """Return a request as bytes."""
    packed = [token, bytes([len(arguments)])]
    for argument in arguments:
        packed += [pack_header(argument), argument.tobytes()]
    return b"".join(packed)


def pack_header(array: np.ndarray[Any, Any]) -> bytes:
    """Return the type and shape of an array as bytes."""
    return _HEADER.pack(TYPES.index(array.dtype.str), array.ndim, *array.shape, *[0] * (MAX_AXES - array.ndim))


def unpack_header(header: bytes) -> tuple[np.dtype[Any], tuple[int, ...], int]:
    """Return the type, shape and size in bytes of the array that follows; `ValueError` if this is not a header."""
    kind, axes, *sizes = _HEADER.unpack(header)
    if kind >= len(TYPES) or axes > MAX_AXES:
        raise ValueError("not the header of an array")
    dtype, shape = np.dtype(TYPES[kind]), tuple(sizes[:axes])
    return dtype, shape, dtype.itemsize * math.prod(shape)


def _read_array(stream: BinaryIO) -> np.ndarray[Any, Any]:
    dtype, shape, size = unpack_header(stream.read(HEADER_SIZE))
    return np.frombuffer(bytearray(stream.read(size)), dtype).reshape(shape)


def _load(file: str, function: str) -> Callable[..., Any]:
    spec = importlib.util.spec_from_file_location("submission", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["submission"] = module
    spec.loader.exec_module(module)
    loaded: Callable[..., Any] = getattr(module, function)
    return loaded


def _check_result(result: object, function: str) -> np.ndarray[Any, Any]:
    if not isinstance(result, np.ndarray):
        raise TypeError(f"{function} returned {type(result).__name__}, not a numpy array")
    if result.dtype.str not in TYPES:
        raise TypeError(f"{function} returned an array of {result.dtype}, which is not numeric")
    if result.ndim > MAX_AXES:
        raise TypeError(f"{function} returned an array of {result.ndim} axes; at most {MAX_AXES} are accepted")
    return np.ascontiguousarray(result)


if __name__ == "__main__":
    main(*sys.argv[1:])
