"""Writes files from what the code declares, or says which of them are out of date."""

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path


def write(files: Mapping[str, str], folder: Path, argv: list[str] | None) -> int:
    """Write files, by their path in a folder; with --check only compare, and return 1 if stale."""
    parser = argparse.ArgumentParser(description=f"Write {folder} from the declared objects.")
    parser.add_argument("--check", action="store_true", help="write nothing, name stale files")
    parser.add_argument("--folder", type=Path, default=folder, help="where the files are")
    options = parser.parse_args(argv)
    outdated = stale(files, options.folder)
    for name in outdated:
        path: Path = options.folder / name
        if options.check:
            print(f"{path} is out of date: run `make reference`")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[name], encoding="utf-8")
            print(f"wrote {path}")
    return 1 if options.check and outdated else 0


def stale(files: Mapping[str, str], folder: Path) -> list[str]:
    """Return the names of files that are missing in a folder, or say something else there."""
    return [
        name
        for name, text in files.items()
        if not (folder / name).exists() or (folder / name).read_text(encoding="utf-8") != text
    ]


def table(header: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    """Write a table in Markdown."""
    heads = [str(cell) for cell in header]
    lines = [heads, ["---"] * len(heads), *([str(cell) for cell in row] for row in rows)]
    cells = ([cell.replace("|", "\\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def one_line(text: str) -> str:
    """Write a text of several lines in one."""
    return " ".join(text.split())
