"""Blocks: what a panel is made of. An application fills them with values; the console draws them.

Titles, columns, labels and words of states are English, and translated by the catalogue that the
application has beside its panels (`locale/fr.po`); other cells are shown as they are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import ClassVar, Literal, TypeAlias

from ostinato._core.base.errors import InvalidInput

Tone: TypeAlias = Literal["ok", "warn", "bad", "info", "accent", "soft"]
"""A colour of a state; never what says it alone."""
Asked: TypeAlias = Mapping[str, str | int]


def N_(text: str) -> str:  # noqa: N802 - the name that tools look for
    """Mark a text that a panel shows, so that tools that collect messages find it."""
    return text


@dataclass(frozen=True, slots=True)
class Link:
    """A link to a page of the same application, or of the console.

    `to` is the name of a panel, such as "message", or a path of the console, such as "/jobs/7".
    """

    text: str | datetime
    to: str
    asked: Asked = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class State:
    """A word in a pill, such as the state of a message."""

    word: str
    tone: Tone = "soft"


Cell: TypeAlias = str | int | float | bool | date | datetime | Link | State | None
"""A value in a table of a panel."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that a panel has among its files."""

    file: str
    """The name under which `Panel.files` has its reader."""
    asked: Asked
    text: str
    """What is on it, for those who cannot see it; shown above it where pictures stand side by side."""


@dataclass(frozen=True, slots=True)
class Action:
    """A button: a verb of the application, with the values that it gets."""

    text: str
    verb: str
    """The name under which `Panel.verbs` has it."""
    values: Asked = field(default_factory=dict)
    tenant_id: str | None = None
    """Whose row it is about; needed where operators of the installation see all tenants."""
    tone: Literal["", "primary", "danger"] = ""
    sure: str = ""
    """A question that is asked first, where scripts run."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers by name, such as requests by status."""

    kind: ClassVar[str] = "counts"
    title: str
    values: Mapping[str, float]
    capped: bool = False
    """Whether counting stopped somewhere, so that there may be more of each."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows below named columns."""

    kind: ClassVar[str] = "table"
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    more: Link | None = None
    """Where the rows go on."""
    empty: str = ""
    """What stands there instead of no rows: what that means, or how the first one is made."""

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise InvalidInput(
                f"a row of the table {self.title!r} has not {len(self.columns)} cells",
                hint=f"Its columns are: {', '.join(self.columns)}.",
            )


@dataclass(frozen=True, slots=True)
class Facts:
    """Values by name, of one thing."""

    kind: ClassVar[str] = "facts"
    title: str
    values: Mapping[str, Cell]
    names: str = ""
    """What the page is about, such as a person's or a file's name: it stands in its heading, and on its tab."""


@dataclass(frozen=True, slots=True)
class Prose:
    """A text that is shown as it is, with its lines."""

    kind: ClassVar[str] = "prose"
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence that stands out: what is wrong, or that all is well."""

    kind: ClassVar[str] = "note"
    title: str
    text: str
    tone: Literal["info", "ok", "warn", "bad"] = "info"


@dataclass(frozen=True, slots=True)
class Chart:
    """Lines over equal steps of time, at most three."""

    kind: ClassVar[str] = "chart"
    title: str
    lines: Mapping[str, Sequence[float | None]]
    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that happened, in a row of a time line; with an end it is a stretch."""

    at: datetime
    row: str
    note: str = ""
    tone: Tone = "info"
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """What happened, on one axis of time, and below it as a list."""

    kind: ClassVar[str] = "timeline"
    title: str
    moments: Sequence[Moment]


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands on a day of a calendar."""

    text: str
    tone: Literal["", "noted"] = ""
    hint: str = ""
    state: str = ""


@dataclass(frozen=True, slots=True)
class Calendar:
    """A month, in a zone."""

    kind: ClassVar[str] = "calendar"
    month: date
    """Any day of it."""
    zone: str
    days: Mapping[date, Sequence[Entry]]
    before: Link | None = None
    after: Link | None = None


@dataclass(frozen=True, slots=True)
class Card:
    """One thing of a gallery."""

    link: Link
    picture: Picture | None = None
    state: State | None = None
    note: str = ""
    at: datetime | None = None
    """Its time, which a page shows in the zone of its reader."""


@dataclass(frozen=True, slots=True)
class Gallery:
    """Things that are recognised by their pictures."""

    kind: ClassVar[str] = "gallery"
    title: str
    cards: Sequence[Card]
    more: Link | None = None
    empty: str = ""
    """What stands there instead of no cards."""


@dataclass(frozen=True, slots=True)
class Pictures:
    """Pictures side by side, large enough to compare."""

    kind: ClassVar[str] = "pictures"
    title: str
    pictures: Sequence[Picture]


@dataclass(frozen=True, slots=True)
class Download:
    """A file of the panel that is offered, not shown."""

    kind: ClassVar[str] = "download"
    title: str
    file: str
    asked: Asked


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form; with `choices`, one of them."""

    name: str
    label: str
    value: str = ""
    choices: Mapping[str, str] = field(default_factory=dict)
    most: int = 200
    """Characters that it takes."""


@dataclass(frozen=True, slots=True)
class Form:
    """A form that asks a page of the application; with a verb, one that does it."""

    kind: ClassVar[str] = "form"
    button: str
    fields: Sequence[Field]
    page: str = ""
    """The panel that answers."""
    verb: str = ""
    tenant_id: str | None = None
    values: Asked = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Actions:
    """Buttons in a row."""

    kind: ClassVar[str] = "actions"
    actions: Sequence[Action]


Block: TypeAlias = (
    Counts | Table | Facts | Prose | Note | Chart | Timeline | Calendar | Gallery | Pictures | Download | Form | Actions
)
"""A part of a panel."""


@dataclass(frozen=True, slots=True)
class Item:
    """Something that waits for a person: what, why, since when, and what may be decided."""

    key: str
    """What it is known by, among the items of its panel."""
    title: str
    reason: str
    since: datetime
    choices: Sequence[Action]
    """What may be decided; the first nine have the keys 1 to 9."""
    tenant_id: str
    pictures: Sequence[Picture] = ()
    facts: Mapping[str, Cell] = field(default_factory=dict)
    links: Sequence[Link] = ()
