"""Settings of an application: declared like those of Ostinato, under the application's own name.

    @section("enrichment")
    class EnrichmentSettings(Section):
        search_url: str = setting("https://…", "Where companies are looked up.")

    EnrichmentSettings.load().search_url

A value comes from the environment (OSTINATO_ENRICHMENT_SEARCH_URL), else from the table
`[enrichment]` of the settings file, else it is the default. Names that nobody knows are refused.

Whoever needs a setting loads it then and there, also for every request: what was loaded last is
kept until a variable of the section or the file is another.
"""

import dataclasses
import difflib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform, get_type_hints

from ostinato._core.base.errors import InvalidInput, SettingsError
from ostinato._core.base.redact import redact_value
from ostinato._core.base.setting import checked, parsed, setting, shown
from ostinato._core.base.settings import CONFIG, ENV_PREFIX, FILE_NAME, SECTIONS, read_file

__all__ = ["Section", "section", "setting"]

S = TypeVar("S", bound="Section")
Source = tuple[str | None, bytes | None, list[tuple[str, str]]]
"""The file's name and what is in it, and the variables of a section."""


class Section:
    """The settings of one application. Checked when made: an instance is always usable."""

    name: ClassVar[str]
    _last: ClassVar["tuple[Source, Section] | None"] = None
    """What was loaded last, and from what."""

    def __post_init__(self) -> None:
        types = get_type_hints(type(self))
        for field in dataclasses.fields(self):  # type: ignore[arg-type]  # `section` makes it one
            place = f"{self.name}.{field.name}"
            value = checked(field, types[field.name], getattr(self, field.name), place)
            object.__setattr__(self, field.name, value)

    def __repr__(self) -> str:
        values = ", ".join(
            f"{field.name}={shown(redact_value(field.name, getattr(self, field.name)))}"
            for field in dataclasses.fields(self)  # type: ignore[arg-type]  # as above
            if getattr(self, field.name) != field.default
        )
        return f"{type(self).__name__}({values})"

    @classmethod
    def load(cls, *, environ: Mapping[str, str] | None = None, file: Path | None = None) -> Self:
        """The settings of this process."""
        if environ is not None or file is not None:
            return cls._read(os.environ if environ is None else environ, file)
        source = cls._source()
        last = cls.__dict__.get("_last")  # its own, not that of a class that it comes from
        if last is not None and last[0] == source:
            return last[1]  # type: ignore[no-any-return]  # as it was put there
        made = cls._read(os.environ, None)
        cls._last = (source, made)
        return made

    @classmethod
    def _source(cls) -> "Source":
        """All that `load` looks at, unread: a tenth of what reading costs."""
        prefix = f"{ENV_PREFIX}{cls.name.upper()}_"
        around = [(name, os.environ[name]) for name in os.environ if name.startswith(prefix)]
        path = os.environ.get(CONFIG)
        try:
            with open(path or FILE_NAME, "rb") as file:  # noqa: PTH123 - twice as fast as a Path
                return path, file.read(), around
        except OSError:
            return path, None, around

    @classmethod
    def _read(cls, around: Mapping[str, str], file: Path | None) -> Self:
        path, values = read_file(file, around)
        table = values.get(cls.name, {})
        if not isinstance(table, dict):
            raise SettingsError(f"{cls.name} in {path} must be a table, [{cls.name}]")
        types = get_type_hints(cls)
        found: dict[str, object] = {}
        for name, value in table.items():
            cls._known(name, f"{cls.name}.{name} in {path}")
            found[name] = value
        prefix = f"{ENV_PREFIX}{cls.name.upper()}_"
        for variable, text in around.items():
            if variable.startswith(prefix) and text:
                name = variable.removeprefix(prefix).lower()
                cls._known(name, f"environment variable {variable}")
                found[name] = parsed(types[name], text)
        return cls(**found)

    @classmethod
    def _known(cls, name: str, what: str) -> None:
        names = [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]  # as above
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
            raise SettingsError(
                f"unknown setting: {what}",
                hint=f"Did you mean {near[0]}?" if near else f"Known: {', '.join(names)}.",
                name=name,
            )


@dataclass_transform(kw_only_default=True, frozen_default=True)
def section(name: str) -> Callable[[type[S]], type[S]]:
    """Make a class the settings of the application of that name."""
    if name not in SECTIONS:
        raise InvalidInput(
            f"there is no section {name!r}",
            hint=f"Known: {', '.join(SECTIONS)} (base/settings.py).",
        )

    def decorate(cls: type[S]) -> type[S]:
        made: Any = dataclasses.dataclass(frozen=True, kw_only=True, repr=False)(cls)
        made.name = name
        return made  # type: ignore[no-any-return]

    return decorate
