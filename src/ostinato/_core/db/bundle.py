"""The SQL files that a component brings to the database.

    sql/tables/NNNN_name.sql   applied once, in order, never changed afterwards
    sql/functions/*.sql        functions, replaced whenever they change
    sql/views.sql              views, replaced together with the functions
    sql/grants.sql             grants, given again after each replacement

The checksum of a file does not depend on its line ends.
"""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable

from ostinato._core.base.errors import MigrationError
from ostinato._core.db.sqlfile import split

FILE_NAME = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")
CREATE = re.compile(
    r"\A(?P<head>(?>\s+|--[^\n]*\n|/\*.*?\*/)*+)"
    r"create\s+(?:or\s+replace\s+)?(?P<kind>function|procedure)\s+(?P<name>[\w.\"]+)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Migration:
    """One migration of the tables."""

    version: int
    name: str
    text: str

    @property
    def file(self) -> str:
        """The file's name."""
        return f"{self.version:04}_{self.name}.sql"

    @property
    def checksum(self) -> str:
        """SHA-256 of the text."""
        return _sha256([self.text])


@dataclass(frozen=True)
class Component:
    """A part of Ostinato with tables and functions of its own."""

    name: str
    folder: Traversable
    """Its folder `sql`."""
    schemas: tuple[str, ...] = field(default=("ostinato",))
    """Where its functions and views live; the schemas of an application are created."""

    @classmethod
    def of(cls, name: str, package: str, *schemas: str) -> "Component":
        """Return the component whose files are in the folder `sql` of a package."""
        return cls(name, files(package).joinpath("sql"), schemas or ("ostinato",))

    @cached_property
    def tables(self) -> tuple[Migration, ...]:
        """The migrations of its tables, in order."""
        found: dict[int, Migration] = {}
        for file in self._listed("tables"):
            match = FILE_NAME.fullmatch(file.name)
            if match is None:
                raise MigrationError(
                    f"{self.name}: {file.name} is not named like 0001_some_words.sql.",
                    hint="Rename the file.",
                    file=file.name,
                )
            version = int(match[1])
            if version in found or version == 0:
                raise MigrationError(
                    f"{self.name}: {file.name} has a number that is taken.",
                    hint="Give it the next free number, from 0001 on.",
                    file=file.name,
                )
            found[version] = Migration(version, match[2], _text(file))
        return tuple(found[version] for version in sorted(found))

    @cached_property
    def functions(self) -> str:
        """Its functions, all files in one."""
        return "\n".join(_text(file) for file in self._listed("functions"))

    @cached_property
    def views(self) -> str:
        """Its views."""
        return self._optional("views.sql")

    @cached_property
    def grants(self) -> str:
        """Its grants."""
        return self._optional("grants.sql")

    @cached_property
    def checksum(self) -> str:
        """SHA-256 of functions, views and grants: what decides whether the code is current."""
        return _sha256([self.functions, self.views, self.grants])

    def statements(self) -> list[str]:
        """Return the statements that create the functions, each as `create or replace`."""
        return [replacing(text) for text in split(self.functions)]

    def script(self) -> str:
        """Return the same statements as one text."""
        return ";\n".join(self.statements())

    def _listed(self, folder: str) -> list[Traversable]:
        place = self.folder.joinpath(folder)
        if not place.is_dir():
            return []
        found = (file for file in place.iterdir() if file.name.endswith(".sql"))
        return sorted(found, key=lambda file: file.name)

    def _optional(self, name: str) -> str:
        file = self.folder.joinpath(name)
        return _text(file) if file.is_file() else ""


def replacing(text: str) -> str:
    """Return a `create function` as `create or replace function`.

    A replaced function keeps its identity, so a caller that has just planned its call finds it.
    """
    return CREATE.sub(r"\g<head>create or replace \g<kind> \g<name>", text, count=1)


def function_name(text: str) -> str | None:
    """Return the name of the function that a statement creates, None when it creates none."""
    match = CREATE.match(text)
    return match["name"] if match else None


def _text(file: Traversable) -> str:
    return file.read_text("utf-8").replace("\r\n", "\n")


def _sha256(texts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()
