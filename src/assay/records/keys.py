"""Ed25519 keys, in the files of OpenSSH: `assay new key` and `ssh-keygen -t ed25519` write the same kind."""

import base64
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from assay.core.errors import MissingDependency, RecordError, UsageError
from assay.core.untrusted import read_plain

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KIND = "ssh-ed25519"
_HEADER = len(KIND).to_bytes(4, "big") + KIND.encode() + (32).to_bytes(4, "big")
_MAX_FILE = 2**20


def create_key(path: Path) -> str:
    """Write a new private key to a file that only its owner can read, the public key beside it; return the latter."""
    _require()
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = public_key(key)
    for file, content, mode in ((path, private, 0o600), (path_of_public(path), f"{public}\n".encode(), 0o644)):
        try:
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        except FileExistsError:
            raise UsageError(f"{file} exists already; choose another name") from None
        except OSError as error:
            raise UsageError(f"cannot write {file}: {error.strerror}") from None
        with os.fdopen(handle, "wb") as opened:
            opened.write(content)
    return public


def path_of_public(path: Path) -> Path:
    """Return the path of the public key that belongs to a private one."""
    return path.with_name(f"{path.name}.pub")


def load_private_key(path: Path) -> "Ed25519PrivateKey":
    """Read a private key; `UsageError` if it is none, or is protected by a passphrase."""
    _require()
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    try:
        key: object = serialization.load_ssh_private_key(read_plain(path.resolve(), _MAX_FILE), None)
    except (OSError, RecordError) as error:
        raise UsageError(f"cannot read the key {path}: {getattr(error, 'strerror', None) or error}") from None
    except (ValueError, TypeError, NotImplementedError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError(
            f"{path} is not an Ed25519 private key without a passphrase; create one with: assay new key FILE"
        )
    return key


def public_key(key: "Ed25519PrivateKey") -> str:
    """Return the public key as OpenSSH writes it, without a comment."""
    return f"{KIND} {base64.b64encode(_HEADER + key.public_key().public_bytes_raw()).decode()}"


def load_trusted_keys(sources: Iterable[str]) -> frozenset[str]:
    """Return the public keys that these are, or that are in these files, one per line; `UsageError` if it is none."""
    keys: set[str] = set()
    for source in sources:
        text = source
        if not source.startswith(f"{KIND} "):
            try:
                text = read_plain(Path(source).resolve(), _MAX_FILE).decode(errors="replace")
            except (OSError, RecordError) as error:
                raise UsageError(f"cannot read the key {source}: {getattr(error, 'strerror', None) or error}") from None
        lines = [line for line in map(str.strip, text.splitlines()) if line and not line.startswith("#")]
        for line in lines:
            key = " ".join(line.split()[:2])
            if _decode(key) is None:
                raise UsageError(f"{source} is not a public key that begins with {KIND}; it is in the file FILE.pub")
            keys.add(key)
        if not lines:
            raise UsageError(f"{source} has no public key")
    return frozenset(keys)


def is_signed_by(key: str, signature: str, message: bytes) -> bool:
    """Whether this is the signature of the message by this public key; both may be anything."""
    _require()
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    raw = _decode(key)
    try:
        signed = base64.b64decode(signature, validate=True)
        if raw is not None:
            Ed25519PublicKey.from_public_bytes(raw).verify(signed, message)
    except (ValueError, InvalidSignature):
        return False
    return raw is not None


def fingerprint(key: str) -> str:
    """Return the fingerprint of a public key, as `ssh-keygen -l` shows it."""
    raw = _decode(key)
    if raw is None:
        return "an invalid key"
    return f"SHA256:{base64.b64encode(hashlib.sha256(_HEADER + raw).digest()).decode().rstrip('=')}"


def _decode(key: str) -> bytes | None:
    """Return the 32 bytes of a public key; None if it is none."""
    kind, _, text = key.partition(" ")
    try:
        content = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    valid = kind == KIND and content.startswith(_HEADER) and len(content) == len(_HEADER) + 32
    return content[len(_HEADER) :] if valid else None


def _require() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise MissingDependency("Signing with a key", "sign") from None
