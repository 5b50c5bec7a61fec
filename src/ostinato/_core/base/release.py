"""The release of Ostinato that a process runs."""

from importlib import metadata


def own_release() -> str | None:
    """Return the release; None where Ostinato is not installed as a package."""
    try:
        return metadata.version("ostinato")
    except metadata.PackageNotFoundError:
        return None
