"""Reads RAR and 7z with the libarchive of the system, where it has one.

Only a few of its functions are called, by ctypes: members come one after the other, and their bytes
in chunks, so that they can be counted while they are unpacked. It runs in the sandboxed process.
"""

import ctypes
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ostinato.apps.watchfolder.station.refused import Refused

NAMES = ("libarchive.so.13", "libarchive.so", "libarchive.13.dylib", "libarchive.dylib")
FORMATS = {"rar": ("rar", "rar5"), "7z": ("7zip",)}
OK, END, WARN = 0, 1, -20
REGULAR, FOLDER, TYPE_MASK = 0o100000, 0o040000, 0o170000
BLOCK = 64 << 10


@cache
def library() -> ctypes.CDLL | None:
    """Load the library, or return None; an older one without RAR 5 will do."""
    for name in NAMES:
        try:
            found = ctypes.CDLL(name)
        except OSError:
            continue
        found.archive_read_new.restype = ctypes.c_void_p
        for function in ("archive_error_string", "archive_entry_pathname_utf8", "archive_entry_pathname"):
            getattr(found, function).restype = ctypes.c_char_p
            getattr(found, function).argtypes = [ctypes.c_void_p]
        found.archive_version_details.restype = ctypes.c_char_p
        found.archive_read_data.restype = ctypes.c_ssize_t
        found.archive_read_data.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
        found.archive_read_open_filename.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t]
        found.archive_read_next_header.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p)]
        found.archive_entry_filetype.argtypes = [ctypes.c_void_p]
        found.archive_entry_filetype.restype = ctypes.c_uint
        for function in ("archive_read_free", "archive_read_support_filter_all", "archive_entry_is_encrypted"):
            getattr(found, function).argtypes = [ctypes.c_void_p]
        return found
    return None


def version() -> str:
    """Return the version of the library, or "none"."""
    found = library()
    return "none" if found is None else found.archive_version_details().decode("ascii", "replace").split(" ")[1]


class Member:
    """One file of an archive; it must be read, or passed over, before the next one."""

    def __init__(self, archive: "Archive", name: str, *, plain: bool, encrypted: bool) -> None:
        self.name = name
        self.plain = plain
        """Whether it is a file, and neither a link nor a device."""
        self.encrypted = encrypted
        self._archive = archive

    def read(self, size: int) -> bytes:
        """Read the next bytes; none at its end."""
        return self._archive.read(size)


class Archive:
    """An open archive."""

    def __init__(self, path: Path, kind: str) -> None:
        found = library()
        if found is None:
            raise Refused(
                "UNSUPPORTED",
                f"{kind.upper()} archives need the library libarchive, which is not installed:"
                " install it (Debian: libarchive13), or make a ZIP of it",
            )
        self._library = found
        self._handle = ctypes.c_void_p(found.archive_read_new())
        self._called = kind.upper()
        found.archive_read_support_filter_all(self._handle)
        for name in FORMATS[kind]:
            support = getattr(found, f"archive_read_support_format_{name}", None)
            if support is not None:
                support.argtypes = [ctypes.c_void_p]
                support(self._handle)
        if found.archive_read_open_filename(self._handle, str(path).encode(), BLOCK) != OK:
            raise self._refusal()

    def close(self) -> None:
        """Let the library free what it holds."""
        self._library.archive_read_free(self._handle)

    def members(self) -> Iterator[Member]:
        """Yield all that is in it but folders, in the order in which it was packed."""
        entry = ctypes.c_void_p()
        while (code := self._library.archive_read_next_header(self._handle, ctypes.byref(entry))) != END:
            if code < WARN:
                raise self._refusal()
            kind = self._library.archive_entry_filetype(entry) & TYPE_MASK
            if kind == FOLDER:
                continue
            name = self._library.archive_entry_pathname_utf8(entry) or self._library.archive_entry_pathname(entry)
            encrypted = bool(self._library.archive_entry_is_encrypted(entry))
            shown = (name or b"?").decode("utf-8", "replace")
            yield Member(self, shown, plain=kind == REGULAR, encrypted=encrypted)

    def read(self, size: int) -> bytes:
        """Read the next bytes of the current member."""
        buffer = ctypes.create_string_buffer(size)
        count = self._library.archive_read_data(self._handle, buffer, size)
        if count < 0:
            raise self._refusal()
        return buffer.raw[:count]

    def _refusal(self) -> Refused:
        said = (self._library.archive_error_string(self._handle) or b"").decode("utf-8", "replace")
        low = said.lower()
        if "encrypt" in low or "passphrase" in low:
            return Refused("ENCRYPTED", f"the {self._called} archive is locked with a password")
        if "unsupported" in low or "not supported" in low or "solid" in low:
            return Refused("UNSUPPORTED", f"this {self._called} archive is packed in a way not read here: {said}")
        return Refused("CORRUPT", f"the {self._called} archive cannot be read: {said or 'it is damaged'}")
