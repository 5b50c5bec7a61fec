"""Declares a mutant, and finds the lists of all applications."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
FRAME = {"__init__", "__main__", "mutant", "rows", "runner"}


class Rotten(Exception):
    """A mutant no longer fits the source: its text is not there, or there more than once."""


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One rule broken by one small change of the source."""

    rule: str
    """The beginning of its row in docs/specs/<app>.md."""
    breaks: str
    """What the change does, for the reader of the table."""
    file: str
    """Below `src/ostinato`, unless it begins with `tests/` or `src/`."""
    old: str
    """Stands in the file exactly once."""
    new: str
    tests: tuple[str, ...]
    """Named as in the row: below tests/apps/<app>, or from the root. At least one of them must fail."""
    slow: bool = False
    """Its tests need a database, other processes or OCR: never part of the sample in `make test`."""

    def path(self, root: Path = ROOT) -> Path:
        """Its file in a tree."""
        below = root if self.file.startswith(("src/", "tests/")) else root / "src" / "ostinato"
        return below / self.file

    def text(self, root: Path = ROOT) -> str:
        """Return the whole file as the mutant has it, or raise `Rotten`."""
        try:
            text = self.path(root).read_text("utf-8")
        except FileNotFoundError:
            raise Rotten(f"{self.rule}: there is no {self.file}") from None
        count = text.count(self.old)
        if count != 1:
            raise Rotten(f"{self.rule} ({self.breaks}): {self.file} has {count} times: {self.old!r}")
        return text.replace(self.old, self.new)


@dataclass(frozen=True)
class Listed:
    """The mutants of one application."""

    app: str
    mutants: tuple[Mutant, ...]
    exempt: Mapping[str, str]

    def test_ids(self, mutant: Mutant) -> list[str]:
        """The tests of a mutant, as pytest takes them from the root."""
        own = f"tests/apps/{self.app}/"
        return [name if name.startswith("tests/") else own + name for name in mutant.tests]


def listed() -> dict[str, Listed]:
    """The lists that there are, by application."""
    names = sorted(
        path.stem for path in HERE.glob("*.py") if path.stem not in FRAME and not path.stem.startswith("test_")
    )
    found = {}
    for name in names:
        module = importlib.import_module(f"tests.mutants.{name}")
        found[name] = Listed(name, tuple(module.MUTANTS), dict(module.EXEMPT))
    return found
