"""The map of cells: which databases there are. Which tenant lives where is in the databases themselves.

home = "one"                                # asked first where a tenant is

[one]
number = 1                                  # its ids end so: 1 to 99, never changed
database_url = "postgresql://…/ostinato"    # and admin_url, api_database_url … as in ostinato.toml

[two]
number = 2
database_url = "postgresql://…/ostinato"
"""

import dataclasses
import re
import tomllib
from pathlib import Path
from typing import Any, Final

from ostinato._core.base.errors import NotConfigured, SettingsError
from ostinato._core.base.settings import Settings

STEP: Final = 100
"""Ids of a cell are this far apart: so many cells there can be, less one."""
OF_CELL = ("database_url", "admin_url", "api_database_url", "listen_url", "backup_url", "read_url", "pooled")
_NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")


@dataclasses.dataclass(frozen=True, slots=True)
class Cell:
    """One database with its workers."""

    name: str
    number: int
    settings: Settings
    """Those of this process, with the addresses of the cell."""


@dataclasses.dataclass(frozen=True, slots=True)
class CellMap:
    """All cells."""

    home: str
    cells: dict[str, Cell]

    def cell(self, name: str) -> Cell:
        """Return a cell by its name."""
        try:
            return self.cells[name]
        except KeyError:
            known = ", ".join(self.cells)
            raise NotConfigured(f"there is no cell {name!r}", hint=f"The cells are {known}.", cell=name) from None


def read_cells(settings: Settings) -> CellMap:
    """Read the file that the settings name."""
    if settings.cells_file is None:
        raise NotConfigured("no cells are configured", hint="Set OSTINATO_CELLS_FILE: docs/cells.md")
    path = Path(settings.cells_file).expanduser()
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} cannot be read: {error}", hint="docs/cells.md shows one.") from error
    home = table.pop("home", None)
    cells = {name: _cell(name, given, settings, path) for name, given in table.items()}
    if home not in cells:
        raise SettingsError(f"{path} names no home among its cells", hint=f"home = {next(iter(cells), 'one')!r}")
    numbers = [cell.number for cell in cells.values()]
    if len(set(numbers)) < len(numbers):
        raise SettingsError(
            f"two cells of {path} have the same number", hint="Their ids would clash: give each its own."
        )
    return CellMap(home, cells)


def _cell(name: str, given: Any, settings: Settings, path: Path) -> Cell:  # noqa: ANN401 - whatever the file says
    said = f"[{name}] of {path}"
    if not _NAME.fullmatch(name) or not isinstance(given, dict):
        raise SettingsError(f"{said} is no cell", hint="Names are small letters, digits and hyphens; at most 40.")
    unknown = set(given) - {"number", *OF_CELL}
    number = given.get("number")
    if unknown or not isinstance(number, int) or not 1 <= number < STEP or "database_url" not in given:
        raise SettingsError(
            f"{said} needs number (1 to {STEP - 1}) and database_url"
            + f", and knows no {sorted(unknown)}" * bool(unknown),
            hint=f"It may also have {', '.join(OF_CELL[1:])}.",
        )
    own: dict[str, Any] = {"admin_url": None, "api_database_url": None, "listen_url": None, "backup_url": None}
    own |= {"read_url": None, "pooled": False, **{key: value for key, value in given.items() if key != "number"}}
    return Cell(name, number, dataclasses.replace(settings, **own))
