"""Archives of images (CBZ, ZIP, CBT, TAR): members are read in memory, never written by their name.

Counted before and while they are unpacked: members, bytes, ratio. Overlapping members, nested
archives, links and encrypted members are refused or left out, each with its reason.
"""

import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from ostinato.apps.watchfolder.names import natural_key
from ostinato.apps.watchfolder.prep.images import Pages, add_image
from ostinato.apps.watchfolder.prep.kinds import kind_of
from ostinato.apps.watchfolder.prep.limits import PrepLimits
from ostinato.apps.watchfolder.station.refused import OURS, Refused

CHUNK = 1 << 20
ENCRYPTED = 1
SMALL = 1 << 20
ARCHIVES = {"zip", "tar", "rar", "7z"}
IGNORED = ("thumbs.db", "comicinfo.xml", "desktop.ini")


class _Counted:
    """What has been unpacked so far."""

    def __init__(self, limits: PrepLimits) -> None:
        self.limits = limits
        self.bytes = 0

    def read(self, file: IO[bytes], packed: int, name: str) -> bytes:
        """All of a member, counted while it is read: what headers say may be a lie."""
        made = io.BytesIO()
        while chunk := file.read(CHUNK):
            made.write(chunk)
            size = made.tell()
            self.bytes += len(chunk)
            if size > self.limits.member_bytes:
                raise Refused("BOMB", f"{name} unpacks to more than {self.limits.member_bytes:,} bytes (member_bytes)")
            if self.bytes > self.limits.total_bytes:
                raise Refused("BOMB", f"unpacks to more than {self.limits.total_bytes:,} bytes (total_bytes)")
            if size > SMALL and size > self.limits.ratio * max(packed, 1):
                raise Refused("BOMB", f"{name} is packed more than {self.limits.ratio} to 1 (ratio)")
        return made.getvalue()


def add_archive(pages: Pages, path: Path, kind: str) -> None:
    """Add the images of an archive, in the order in which a person would read their names."""
    found = _zip(path, pages.limits) if kind == "zip" else _tar(path, pages.limits)
    skipped = 0
    for name, data in found:
        inner = kind_of(data[:CHUNK])
        if inner in ARCHIVES:
            raise Refused("UNSAFE", f"{_shown(name)} is an archive in an archive")
        if inner is None or inner == "pdf":
            skipped += 1
            continue
        add_image(pages, data, inner, _shown(name))
    if skipped:
        pages.notes.append(f"{skipped} members are no images and were left out")
    if not pages.paths:
        raise Refused("NO_PAGES", "there is no image in the archive")


def _shown(name: str) -> str:
    return repr(name[-80:])


def _is_ignored(name: str) -> bool:
    parts = name.replace("\\", "/").split("/")
    return (
        any(part.startswith(".") and part not in {".", ".."} for part in parts)
        or "__MACOSX" in parts
        or parts[-1].lower() in IGNORED
    )


def _zip(path: Path, limits: PrepLimits) -> Iterator[tuple[str, bytes]]:
    counted = _Counted(limits)
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            _check_zip(members, limits)
            for member in sorted(members, key=lambda each: natural_key(each.filename)):
                if member.is_dir() or _is_ignored(member.filename) or _is_link(member):
                    continue
                with archive.open(member) as file:
                    yield (member.filename, counted.read(file, member.compress_size, _shown(member.filename)))
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno in OURS:
            raise
        raise Refused("CORRUPT", f"the archive cannot be read: {error}") from None
    except (NotImplementedError, RuntimeError) as error:
        raise Refused("UNSUPPORTED", f"the archive is packed in a way not known: {error}") from None


def _is_link(member: zipfile.ZipInfo) -> bool:
    return (member.external_attr >> 16) & 0o170000 == 0o120000  # noqa: PLR2004 - S_IFLNK


def _check_zip(members: list[zipfile.ZipInfo], limits: PrepLimits) -> None:
    if len(members) > limits.members:
        raise Refused("BOMB", f"{len(members):,} members, more than {limits.members:,} (members)")
    if any(member.flag_bits & ENCRYPTED for member in members):
        raise Refused("ENCRYPTED", "the archive is locked with a password")
    end = -1
    for member in sorted(members, key=lambda each: each.header_offset):
        if member.header_offset < end:
            raise Refused("BOMB", "members of the archive overlap")
        end = member.header_offset + member.compress_size
    total = sum(member.file_size for member in members)
    if total > limits.total_bytes:
        raise Refused("BOMB", f"says to unpack to {total:,} bytes, more than {limits.total_bytes:,} (total_bytes)")


def _tar(path: Path, limits: PrepLimits) -> Iterator[tuple[str, bytes]]:
    counted = _Counted(limits)
    try:
        with tarfile.open(path, "r:") as archive:
            members = []
            for member in archive:
                members.append(member)
                if len(members) > limits.members:
                    raise Refused("BOMB", f"more than {limits.members:,} members (members)")
            for member in sorted(members, key=lambda each: natural_key(each.name)):
                if not member.isreg() or _is_ignored(member.name):
                    continue
                file = archive.extractfile(member)
                if file is not None:
                    yield member.name, counted.read(file, member.size, _shown(member.name))
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno in OURS:
            raise
        raise Refused("CORRUPT", f"the archive cannot be read: {error}") from None
