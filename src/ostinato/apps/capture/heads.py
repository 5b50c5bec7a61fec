"""Signs the end of a chain at some time with Ed25519, and exports it as a file.

A chain alone does not show that its end was cut off, or that all of it was written anew. A head
that was signed and kept where the owner of the database cannot change it does.
"""

import base64
import json
import os
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from ostinato.apps.capture.files import write_whole
from ostinato.errors import InvalidInput
from ostinato.idempotency import canonical, sha256

ALGORITHM = "Ed25519"
NAME_DIGITS = 32
KEY_DIGITS = 8


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a chain at some time, signed."""

    tenant_id: str
    chain_id: str
    seq: int
    entry_hash: str
    signed_at: str
    public_key: str
    signature: str

    def canonical(self) -> bytes:
        """Return what is signed."""
        signed = ("chain_id", "entry_hash", "seq", "signed_at", "tenant_id")
        return canonical({name: getattr(self, name) for name in signed})

    def is_signed(self, by: Collection[str] | None = None) -> bool:
        """Return whether the signature is that of its public key, and that key one of those expected."""
        if by is not None and self.public_key not in by:
            return False
        try:
            key = Ed25519PublicKey.from_public_bytes(base64.b64decode(self.public_key))
            key.verify(base64.b64decode(self.signature), self.canonical())
        except (InvalidSignature, ValueError):
            return False
        return True

    def document(self) -> dict[str, Any]:
        """Return the head as it is exported."""
        return {"algorithm": ALGORITHM, **asdict(self)}


def signed(key: Ed25519PrivateKey, tenant_id: str, *, chain_id: str, seq: int, entry_hash: str, signed_at: str) -> Head:
    """Sign the head of a chain."""
    bare = Head(tenant_id, chain_id, seq, entry_hash, signed_at, public_text(key), signature="")
    return replace(bare, signature=base64.b64encode(key.sign(bare.canonical())).decode())


def public_text(key: Ed25519PrivateKey) -> str:
    """Return the public half of a key, in base64: how heads name who signed them."""
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()


def read_head(document: Mapping[str, Any]) -> Head:
    """Read a head from its exported document."""
    given = {each.name: document.get(each.name) for each in fields(Head)}
    good = all(type(value) is (int if name == "seq" else str) for name, value in given.items())
    if not good or document.get("algorithm") != ALGORITHM:
        raise InvalidInput(
            "this is not the document of a signed head", hint="Pass the file that `ostinato capture sign-head` wrote."
        )
    return Head(**given)  # type: ignore[arg-type]  # was just looked through


def read_heads(path: Path) -> list[Head]:
    """Read the heads of a file, which has one or a list of them, or of all files of a folder."""
    if path.is_dir():
        return [head for file in sorted(path.rglob("*.json")) for head in read_heads(file)]
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"{path} cannot be read: {type(error).__name__}",
            hint="Pass a file that `ostinato capture sign-head` wrote, or the folder of such.",
        ) from None
    documents = found if isinstance(found, list) else [found]
    return [read_head(each if isinstance(each, dict) else {}) for each in documents]


def export(folder: Path, head: Head) -> Path:
    """Write a head into a folder, where each chain has one of its own; one that is there stays."""
    chain = sha256(canonical([head.tenant_id, head.chain_id]))[:NAME_DIGITS]
    key = sha256(head.public_key.encode())[:KEY_DIGITS]
    place = folder.expanduser() / chain / f"{head.seq:012d}-{key}.json"
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        write_whole(place, json.dumps(head.document(), indent=2) + "\n", mode=0o644)
    return place


def read_key(path: Path) -> Ed25519PrivateKey:
    """Read the private key of a PEM file, which must be its owner's alone."""
    try:
        with path.expanduser().open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            key = load_pem_private_key(file.read(), password=None)
    except (OSError, ValueError, TypeError) as error:
        raise InvalidInput(
            f"{path} has no private key: {type(error).__name__}",
            hint="Make one with `ostinato capture new-signing-key`.",
        ) from None
    if mode & 0o077 or not isinstance(key, Ed25519PrivateKey):
        raise InvalidInput(f"{path} is open to others, or not an Ed25519 key", hint=f"chmod 600 {path}")
    return key
