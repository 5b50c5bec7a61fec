"""Defines the documents that the routes of rounds take and answer."""

from datetime import date, datetime, time
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StringConstraints, WithJsonSchema

from ostinato.apps.rounds.model import PromptType, Status

MOST_TAGS = 20
MOST_METADATA = 50


def _visible(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


WALL = {"description": "A time on the wall clock of the zone.", "examples": ["14:30:00"]}
# Without the format "time" of JSON Schema, which asks for an offset.
WallTime = Annotated[time, WithJsonSchema({"type": "string", **WALL})]
DropTime = Annotated[
    str,
    StringConstraints(pattern=r"^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$"),
    Field(description="A time on the wall clock of the zone.", examples=["14:30"]),
]
Zone = Annotated[str, Field(min_length=1, max_length=100, description="IANA name.", examples=["Europe/Paris"])]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_visible)]
Tags = Annotated[list[Annotated[str, Field(min_length=1, max_length=50)]], Field(max_length=MOST_TAGS)]
Metadata = Annotated[dict[str, Any], Field(max_length=MOST_METADATA)]
Text = Annotated[str, Field(min_length=1, max_length=4000), AfterValidator(_visible)]


class Strict(BaseModel):
    """A request: what it does not know is refused."""

    model_config = ConfigDict(extra="forbid")


class View(BaseModel):
    """An answer, made from a value of a service."""

    model_config = ConfigDict(from_attributes=True)


class NewGroup(Strict):
    """A group to be made. Without a time or zone it follows the installation."""

    name: Name
    drop_time: DropTime | None = None
    zone: Zone | None = None
    notifications_enabled: StrictBool = True


class GroupChange(Strict):
    """What is not given stays."""

    name: Name | None = None
    is_active: StrictBool | None = None


class SettingsChange(Strict):
    """What is not given stays; null as time or zone means the installation's default."""

    drop_time: DropTime | None = None
    zone: Zone | None = None
    notifications_enabled: StrictBool = True


class Preferences(Strict):
    """What a member wants to be notified of; what is not given stays."""

    mute: StrictBool | None = None
    push: StrictBool | None = None


class NewPrompt(Strict):
    """A prompt to be added."""

    type: PromptType = PromptType.QUESTION
    title: Name
    body: str = Field("", max_length=4000)
    metadata: Metadata = Field(default_factory=dict)
    tags: Tags = Field(default_factory=list)


class PromptChange(Strict):
    """What is not given stays."""

    type: PromptType | None = None
    title: Name | None = None
    body: str | None = Field(None, max_length=4000)
    metadata: Metadata | None = None
    tags: Tags | None = None
    is_active: StrictBool | None = None


class NewSubmission(Strict):
    """What a member submits."""

    body: Annotated[str, Field(min_length=1, max_length=8000), AfterValidator(_visible)]


class NewComment(Strict):
    """What somebody says, about the round or about a submission."""

    body: Text
    submission_id: int | None = Field(None, ge=1, le=2**53 - 1, strict=True)


class Vote(Strict):
    """For a submission, or for a member."""

    submission_id: int | None = Field(None, ge=1, le=2**53 - 1, strict=True)
    member_id: str | None = Field(None, min_length=1, max_length=100)


class GroupView(View):
    """A group with its settings; null means the installation's default."""

    id: int
    name: str
    is_active: bool
    created_at: datetime
    drop_time: WallTime | None
    zone: str | None
    notifications_enabled: bool | None
    members: int
    is_member: bool = Field(exclude=True)
    """Whether the person who asks is one."""


class SettingsView(View):
    """The settings of a group.

    null means the installation's default; `effective_*` holds the resolved value.
    """

    drop_time: WallTime | None
    zone: str | None
    notifications_enabled: bool
    effective_drop_time: WallTime
    effective_zone: str


class MemberView(View):
    """A member and its preferences."""

    user_id: str
    mute: bool
    push: bool
    joined_at: datetime


class PromptView(View):
    """A prompt."""

    id: int
    type: PromptType
    title: str
    body: str
    metadata: dict[str, Any]
    tags: list[str]
    is_active: bool
    created_at: datetime


class RoundView(View):
    """A round. Its prompt shows from its opening on, as it was then."""

    id: int
    group_id: int
    scheduled_for_local_date: date
    status: Status
    drop_time: WallTime
    zone: str
    open_at: datetime
    close_at: datetime
    missed: bool
    opened_at: datetime | None
    closed_at: datetime | None
    resolved_type: PromptType | None
    resolved_title: str | None
    resolved_body: str | None
    resolved_metadata: dict[str, Any] | None
    resolved_tags: list[str] | None


class SubmissionView(View):
    """A submission."""

    id: int
    user_id: str
    body: str
    created_at: datetime
    updated_at: datetime


class CommentView(View):
    """A comment."""

    id: int
    submission_id: int | None
    user_id: str
    body: str
    created_at: datetime


class TallyView(View):
    """How many votes something has."""

    submission_id: int | None
    member_id: str | None
    votes: int


class FiguresView(View):
    """What a job did in the last hour."""

    job: str
    runs: int
    groups: int
    failed: int
    seconds: float
    worst_seconds: float
    worst_lateness: float
    groups_per_minute: float
    last_ended_at: datetime | None
