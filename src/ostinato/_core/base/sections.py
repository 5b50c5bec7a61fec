"""Settings: how one is declared, read and checked; and those of an application.

    @section("billing")
    class Billing(Section):
        bank_url: str = setting("https://bank.example", "Where payments are fetched.")

    settings.section(Billing).bank_url          # read once for a process, then kept

A value comes from the environment (OSTINATO_BILLING_BANK_URL), else from the table `[billing]` of
the settings file, else it is the default. A name that is not declared is refused.
"""

import dataclasses
import difflib
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final, Self, TypeVar, dataclass_transform, get_type_hints

from ostinato._core.base.errors import InvalidInput, SettingsError
from ostinato._core.base.extras import app_names
from ostinato._core.base.redact import redact, redact_value

ENV_PREFIX: Final = "OSTINATO_"
FILE_NAME: Final = "ostinato.toml"
CONFIG: Final = f"{ENV_PREFIX}CONFIG"
"""The environment variable that names the file."""

S = TypeVar("S", bound="Section")
Field = dataclasses.Field[Any]

_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_TRUE = ("1", "true", "yes", "on")
_FALSE = ("0", "false", "no", "off")
_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


class Section:
    """The settings of one application. Checked when made: an instance is always usable."""

    name: ClassVar[str]

    def __post_init__(self) -> None:
        types = get_type_hints(type(self))
        for name, field in fields_of(type(self)).items():
            value = checked(field, types[name], getattr(self, name), f"{self.name}.{name}")
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        values = ", ".join(
            f"{name}={shown(redact_value(name, value))}"
            for name, field in fields_of(type(self)).items()
            if (value := getattr(self, name)) != field.default
        )
        return f"{type(self).__name__}({values})"

    @classmethod
    def load(cls, *, environ: Mapping[str, str] | None = None, file: Path | None = None) -> Self:
        """Read them now, from the environment and the file; `Settings.section` keeps them."""
        around = os.environ if environ is None else environ
        path, values = read_file(file, around)
        table = values.get(cls.name, {})
        if not isinstance(table, dict):
            raise SettingsError(f"{cls.name} in {path} must be a table, [{cls.name}]")
        prefix = f"{ENV_PREFIX}{cls.name.upper()}_"
        found = from_table(cls, table, path, before=f"{cls.name}.")
        return cls(**found | from_environ(cls, around, prefix, others=cls._is_of_another))

    @classmethod
    def _is_of_another(cls, name: str) -> bool:
        """Return whether a variable is that of an application whose name begins with this one's."""
        longer = (other for other in app_names() if other.startswith(f"{cls.name}_"))
        return any(f"{cls.name}_{name}".startswith(f"{other}_") for other in longer)


@dataclass_transform(kw_only_default=True, frozen_default=True)
def section(name: str) -> Callable[[type[S]], type[S]]:
    """Make a class the settings of the application of that name."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(f"settings cannot belong to {name!r}", hint="Use the name of the application.")

    def decorate(cls: type[S]) -> type[S]:
        made: Any = dataclasses.dataclass(frozen=True, kw_only=True, repr=False)(cls)
        made.name = name
        return made  # type: ignore[no-any-return]

    return decorate


def setting(
    default: Any,  # noqa: ANN401 - the field's own annotation says the type
    description: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
) -> Any:  # noqa: ANN401 - as above
    """Declare a field of a frozen dataclass as a setting."""
    metadata = {"description": description, "low": low, "high": high, "choices": choices}
    return dataclasses.field(default=default, metadata=metadata)


def fields_of(cls: type) -> dict[str, Field]:
    """Return the settings that a class declares, by name."""
    return {field.name: field for field in dataclasses.fields(cls) if field.metadata}


def read_file(file: Path | None = None, environ: Mapping[str, str] | None = None) -> tuple[Path, dict[str, Any]]:
    """Return the settings file and what it says: the one named, OSTINATO_CONFIG's, or `ostinato.toml`."""
    named = file or (os.environ if environ is None else environ).get(CONFIG)
    path = Path(named or FILE_NAME)
    if not named and not path.exists():
        return path, {}
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(
            f"cannot read the settings file {path}: {error.strerror}",
            hint="Check the path and its permissions, or leave the option out.",
            path=str(path),
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{path} is not valid TOML: {error}", hint="Each line reads name = value; text is quoted.", path=str(path)
        ) from error
    return path, values


def _none(_: str) -> bool:
    return False


def from_table(
    cls: type,
    table: Mapping[str, object],
    path: Path,
    *,
    before: str = "",
    others: Callable[[str], bool] = _none,
    near: Iterable[str] = (),
) -> dict[str, Any]:
    """Return what a table of the file says for the settings of a class; `others` names what is not its."""
    types, fields = get_type_hints(cls), fields_of(cls)
    found = {}
    for name, value in table.items():
        if name in fields:
            place = f"{before}{name} in {path}"
            found[name] = checked(fields[name], types[name], value, place)
        elif not others(name):
            raise unknown(cls, name, f"{before + name!r} in {path}", near=near)
    return found


def from_environ(
    cls: type,
    around: Mapping[str, str],
    prefix: str,
    *,
    others: Callable[[str], bool] = _none,
    near: Iterable[str] = (),
) -> dict[str, Any]:
    """Return what the variables with a prefix say for the settings of a class; `others` as above."""
    types, fields = get_type_hints(cls), fields_of(cls)
    found = {}
    for variable, text in around.items():
        name = variable.removeprefix(prefix).lower()
        # an empty variable is an unset one: shells and compose files have no other way
        if not text or not variable.startswith(prefix):
            continue
        if name in fields:
            value = _parsed(types[name], text)
            found[name] = checked(fields[name], types[name], value, variable)
        elif not others(name):
            what = f"environment variable {variable}"
            raise unknown(cls, name, what, prefix=prefix, near=near)
    return found


def unknown(cls: type, name: str, what: str, *, prefix: str = "", near: Iterable[str] = ()) -> SettingsError:
    """Return a name that is not declared, and the nearest that is; `near`: other names to compare with."""
    fields = list(fields_of(cls))
    matches = difflib.get_close_matches(name, [*fields, *near], n=1, cutoff=0.5)
    nearest = matches[0] if matches else None
    spelled = f"{prefix}{nearest}".upper() if prefix else nearest
    return SettingsError(
        f"unknown setting: {what}",
        hint=f"Did you mean {spelled}?" if nearest else f"Known: {', '.join(fields)}.",
        name=name,
        nearest=nearest,
    )


def _parsed(kind: object, text: str) -> object:
    """Return the text of an environment variable as the type of the field, or as it is."""
    if kind is bool and text.lower() in _TRUE + _FALSE:
        return text.lower() in _TRUE
    try:
        if kind is int:
            return int(text)
        if kind is float:
            return float(text)
    except ValueError:
        pass
    return text


def checked(field: Field, kind: object, value: object, source: str) -> object:
    """Return the value, if it has the type and range of the field."""
    if value is None and kind == str | None:
        return None
    wanted: type = str if kind == str | None else kind  # type: ignore[assignment]
    if wanted is float and type(value) is int:
        value = float(value)
    # `type() is`, because bool is an int to Python, and nobody means concurrency = true
    if type(value) is not wanted:
        raise _invalid(source, value, f"must be {_KINDS[wanted]}")
    choices, low, high = (field.metadata[name] for name in ("choices", "low", "high"))
    if choices and value not in choices:
        raise _invalid(source, value, f"must be one of {', '.join(choices)}")
    if low is not None and not low <= value <= high:
        raise _invalid(source, value, f"must be from {low:,g} to {high:,g}")
    return value


def _invalid(source: str, value: object, rule: str) -> SettingsError:
    spelled = shown(value)
    return SettingsError(f"{source} {rule}, got {spelled}", source=source, value=spelled)


def shown(value: object) -> str:
    """Return a value as a message may show it."""
    return repr(redact(value) if isinstance(value, str) else value)
