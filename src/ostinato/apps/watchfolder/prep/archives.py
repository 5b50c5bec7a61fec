"""Archives of pages (ZIP, TAR, RAR, 7z; CBZ and so on): images and PDFs, in the order of their names.

Members are read in memory, never written by their name, and counted before and while they are
unpacked: members, bytes, ratio. Overlapping members, nested archives and encrypted members are
refused; a member that is no page is left out, and named in the notes.
"""

import io
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from ostinato.apps.watchfolder.names import natural_key
from ostinato.apps.watchfolder.prep.images import Pages, add_image
from ostinato.apps.watchfolder.prep.kinds import kind_of
from ostinato.apps.watchfolder.prep.libarchive import Archive
from ostinato.apps.watchfolder.prep.limits import PrepLimits
from ostinato.apps.watchfolder.prep.packages import ADVICE, package_of
from ostinato.apps.watchfolder.prep.pdfs import rewrite
from ostinato.apps.watchfolder.station.refused import OURS, Refused

CHUNK = 1 << 20
ENCRYPTED = 1
SMALL = 1 << 20
ARCHIVES = {"zip", "tar", "rar", "7z"}
READERS = ("zip", "tar", "rar", "7z")
IGNORED = ("thumbs.db", "comicinfo.xml", "desktop.ini", ".ds_store")


class Readable(Protocol):
    """A member that is being unpacked."""

    def read(self, size: int, /) -> bytes:
        """Read the next bytes; none at its end."""


class _Counted:
    """What has been unpacked so far."""

    def __init__(self, limits: PrepLimits) -> None:
        self.limits = limits
        self.bytes = 0

    def read(self, file: Readable, packed: int, name: str) -> bytes:
        """Read all of a member, counted while it is read: what headers say may be a lie."""
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
    """Add the images and PDFs of an archive, in the order in which a person would read their names."""
    read = {"zip": _zip, "tar": _tar}.get(kind)
    found = _packed(path, kind, pages) if read is None else read(path, pages.limits)
    left_out: list[str] = []
    for name, data in found:
        inner = kind_of(data[:CHUNK])
        if inner == "zip" and (called := _package(data)) is not None:
            left_out.append(f"{_shown(name)}, {called}")
        elif inner in ARCHIVES:
            raise Refused("UNSAFE", f"{_shown(name)} is an archive in an archive")
        elif inner == "pdf":
            _add_pdf(pages, data, name)
        elif inner is None:
            left_out.append(_shown(name))
        else:
            add_image(pages, data, inner, _shown(name))
    if not pages.count:
        raise Refused("NO_PAGES", "there is no image and no PDF in the archive")
    if left_out:
        pages.notes.append(f"left out, because they are no pages: {'; '.join(left_out)}")


def _add_pdf(pages: Pages, data: bytes, name: str) -> None:
    """Add a PDF as PREP would make it: unlocked, disarmed, its pages counted with all others."""
    source, target = pages.folder / "member.pdf", pages.next_path("volume")
    source.write_bytes(data)
    try:
        count, notes = rewrite(source, target, pages.limits, pages.report)
    except Refused as error:
        raise Refused(error.code, f"{_shown(name)}: {error}") from None
    finally:
        source.unlink()
    pages.add_volume(target, count)
    pages.notes += [f"{_shown(name)}: {note}" for note in notes]


def _package(data: bytes) -> str | None:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return package_of(archive)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError):
        return None


def _shown(name: str) -> str:
    return repr(name[-80:])


def _is_ignored(name: str) -> bool:
    parts = name.replace("\\", "/").split("/")
    return "__MACOSX" in parts or parts[-1].lower() in IGNORED or parts[-1].startswith("._")


def _zip(path: Path, limits: PrepLimits) -> Iterator[tuple[str, bytes]]:
    counted = _Counted(limits)
    try:
        with zipfile.ZipFile(path) as archive:
            if (called := package_of(archive)) is not None:
                raise Refused("UNSUPPORTED", f"it is {called}, and no scan: {ADVICE}")
            members = archive.infolist()
            _check_zip(members, limits)
            for member in sorted(members, key=lambda each: natural_key(each.filename)):
                if member.is_dir() or _is_ignored(member.filename):
                    continue
                if _is_link(member):
                    yield member.filename, b""  # no page: named among what is left out
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
                if member.isdir() or _is_ignored(member.name):
                    continue
                if not member.isreg():
                    yield member.name, b""  # a link or a device, named among what is left out
                    continue
                file = archive.extractfile(member)
                if file is not None:
                    yield member.name, counted.read(file, member.size, _shown(member.name))
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno in OURS:
            raise
        raise Refused("CORRUPT", f"the archive cannot be read: {error}") from None


def _packed(path: Path, kind: str, pages: Pages) -> Iterator[tuple[str, bytes]]:
    """Yield the members of a RAR or 7z, sorted: until all are unpacked they are files with our own names."""
    limits, counted, packed = pages.limits, _Counted(pages.limits), path.stat().st_size
    found: list[tuple[str, Path]] = []
    archive = Archive(path, kind)
    try:
        for number, member in enumerate(archive.members(), 1):
            if number > limits.members:
                raise Refused("BOMB", f"more than {limits.members:,} members (members)")
            if member.encrypted:
                raise Refused("ENCRYPTED", f"the {kind.upper()} archive is locked with a password")
            if _is_ignored(member.name):
                continue
            kept = pages.folder / f"member-{number:06}"
            # A link or a device has nothing to read: it is named among what is left out.
            kept.write_bytes(counted.read(member, packed, _shown(member.name)) if member.plain else b"")
            found.append((member.name, kept))
    finally:
        archive.close()
    for name, kept in sorted(found, key=lambda each: natural_key(each[0])):
        yield name, kept.read_bytes()
        kept.unlink()
