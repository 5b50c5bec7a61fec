"""Recognises a file by its first bytes only: a name may say anything."""

ACCEPTS = (
    "pdf",
    "jpeg",
    "png",
    "tiff",
    "webp",
    "gif",
    "bmp",
    "heic",
    "avif",
    "zip/cbz",
    "tar/cbt",
    "rar/cbr",
    "7z/cb7",
)
HEAD = 1024
_PREFIXES = (
    (b"\xff\xd8\xff", "jpeg"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"II*\x00", "tiff"),
    (b"MM\x00*", "tiff"),
    (b"II+\x00", "tiff"),
    (b"MM\x00+", "tiff"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"BM", "bmp"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"Rar!\x1a\x07", "rar"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
)
_HEIC = (b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1")
_AVIF = (b"avif", b"avis")


def kind_of(head: bytes) -> str | None:
    """Return the kind of a file that begins so; None: not one that is known."""
    for prefix, kind in _PREFIXES:
        if head.startswith(prefix):
            return kind
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "webp"
    if head[4:8] == b"ftyp":
        return "heic" if head[8:12] in _HEIC else "avif" if head[8:12] in _AVIF else None
    if head[257:262] == b"ustar":
        return "tar"
    return "pdf" if b"%PDF-" in head[:HEAD] else None
