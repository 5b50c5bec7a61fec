"""The wheel, built from these sources, and what of the packages here it asks for: nothing is fetched."""

import subprocess
import sys
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from shutil import copy, copytree

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

__all__ = ["build_wheel", "closure", "link", "pip"]

ROOT = Path(__file__).parents[1]


def build_wheel(folder: Path) -> Path:
    """The package as it is published, built from a copy of its sources."""
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        copy(ROOT / name, folder)
    copytree(ROOT / "src" / "ostinato", folder / "src" / "ostinato")
    pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(folder))
    (made,) = folder.glob("*.whl")
    return made


def pip(*words: str) -> None:
    """Run pip, which must need no index."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    ran = subprocess.run([*command, *words], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def closure(requirements: list[str], extra: str = "") -> set[str]:
    """The distributions that some requirements ask for, and what these ask for in turn."""
    found: set[str] = set()
    todo = [(Requirement(text), extra) for text in requirements]
    while todo:
        wanted, of = todo.pop()
        name = canonicalize_name(wanted.name)
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": of}):
            continue
        todo += [
            (Requirement(text), each)
            for each in ({""} if name not in found else set()) | wanted.extras
            for text in (requirements if name == "ostinato" else metadata.requires(name) or [])
        ]
        found.add(name)
    return found - {"ostinato"}


def link(names: Iterable[str], site: Path) -> None:
    """Let a folder have these distributions of ours."""
    for name in names:
        here = metadata.distribution(name)
        for top in {file.parts[0] for file in here.files or []} - {"..", "__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(Path(str(here.locate_file(top))))
