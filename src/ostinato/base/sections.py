"""Settings of an application: declared like those of Ostinato, under the application's own name.

    @section("enrichment")
    class EnrichmentSettings(Section):
        search_url: str = setting("https://…", "Where companies are looked up.")

    EnrichmentSettings.load().search_url

A value comes from the environment (OSTINATO_ENRICHMENT_SEARCH_URL), else from the table
`[enrichment]` of the settings file, else it is the default. Names that nobody knows are refused.
"""

import dataclasses
import difflib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform, get_type_hints

from ostinato.base.errors import InvalidInput, SettingsError
from ostinato.base.redact import redact_value
from ostinato.base.setting import checked, parsed, setting, shown
from ostinato.base.settings import ENV_PREFIX, SECTIONS, read_file

__all__ = ["Section", "section", "setting"]

S = TypeVar("S", bound="Section")


class Section:
    """The settings of one application. Checked when made: an instance is always usable."""

    name: ClassVar[str]

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
        around = os.environ if environ is None else environ
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
