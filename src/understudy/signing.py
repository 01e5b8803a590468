"""A detached signature over a model folder: who vouches for it, checked without trusting the folder.

What is signed is the list of all files of the folder with their SHA-256, in one canonical form (as in OpenSSF model signing);
the signature (Ed25519) and that list stand beside the folder in `MODEL.sig.json`, so that the folder itself stays as it was
certified. `certificate verify --key` checks the folder against the list and the list against the public key.

Keys are PEM files: the private one is written with mode 0600 and never leaves its file. A signature says who signed, not that
the claim is true: that is what the other checks of `verify` are for. Needs the package `cryptography` (extra `sign`).
"""

import base64
import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from understudy.errors import UsageError
from understudy.files import PRIVATE, write_atomically

FORMAT = "understudy signature 1"
Key = TypeVar("Key")


def _ed25519() -> tuple[ModuleType, ModuleType, type[Exception]]:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ModuleNotFoundError:
        raise UsageError("signing needs the package 'cryptography'; install understudy[sign]") from None
    return ed25519, serialization, InvalidSignature


def path_of(folder: str | Path) -> Path:
    """Where the signature of a model folder stands."""
    return Path(os.path.abspath(folder)).with_name(Path(os.path.abspath(folder)).name + ".sig.json")


def statement(folder: str | Path) -> bytes:
    """What is signed: every file of the folder and its hash, in the order of their names."""
    place = Path(folder)
    if not place.is_dir():
        raise UsageError(f"{str(place)!r} is not a model folder")
    files = {}
    for path in sorted(place.rglob("*")):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise UsageError(f"{str(path)!r} is not a plain file; a model holds nothing else")
        if path.is_file():
            files[path.relative_to(place).as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest()
    return json.dumps({"format": FORMAT, "files": files}, sort_keys=True, separators=(",", ":")).encode()


def make_keys(private: str | Path) -> tuple[Path, Path]:
    """A new pair: the private key at `private`, the public one beside it with `.pub`. Nothing is overwritten."""
    ed25519, serialization, _ = _ed25519()
    secret, public = Path(private), Path(f"{private}.pub")
    for path in (secret, public):
        if path.exists():
            raise UsageError(f"{str(path)!r} exists already; a key is never overwritten")
    key = ed25519.Ed25519PrivateKey.generate()
    write_atomically(
        secret,
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
        mode=PRIVATE,
    )
    write_atomically(
        public,
        key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo),
    )
    return secret, public


def sign(folder: str | Path, private: str | Path) -> Path:
    """Sign a model folder; returns the path of the signature."""
    ed25519, serialization, _ = _ed25519()
    if os.stat(private).st_mode & 0o077:
        raise UsageError(f"{str(private)!r} can be read by others; a private key must have mode 0600 (chmod 600)")
    key = _key(private, lambda data: serialization.load_pem_private_key(data, password=None))
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise UsageError(f"{str(private)!r} is not an Ed25519 private key")
    said = statement(folder)
    content = {
        "format": FORMAT,
        "statement": said.decode(),
        "signature": base64.b64encode(key.sign(said)).decode(),
    }
    return write_atomically(path_of(folder), json.dumps(content, indent=1) + "\n")


def check(folder: str | Path, public: str | Path, signature: str | Path | None = None) -> tuple[bool, str]:
    """Whether the folder is the one that the holder of the key signed, and why not."""
    ed25519, serialization, invalid = _ed25519()
    key = _key(public, serialization.load_pem_public_key)
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise UsageError(f"{str(public)!r} is not an Ed25519 public key")
    place = Path(signature) if signature is not None else path_of(folder)
    try:
        content = json.loads(place.read_text(encoding="utf-8"))
        said, mark = content["statement"].encode(), base64.b64decode(content["signature"], validate=True)
    except FileNotFoundError:
        return False, f"there is no signature at {str(place)!r}"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False, f"{str(place)!r} is damaged"
    try:
        key.verify(mark, said)
    except invalid:
        return False, "was not made with this key, or was altered"
    if said != statement(folder):
        return False, "is for other files than those in the folder"
    return True, "was made with this key, for exactly these files"


def _key(path: str | Path, load: Callable[[bytes], Key]) -> Key:
    try:
        return load(Path(path).read_bytes())
    except FileNotFoundError:
        raise UsageError(f"there is no key at {str(path)!r}") from None
    except (ValueError, TypeError, OSError):
        raise UsageError(f"{str(path)!r} is not a key in PEM form") from None
