"""What the bodies of requests and answers are made of."""

from typing import Annotated

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, StringConstraints
from pydantic.alias_generators import to_camel


def _number(value: object) -> object:
    """Refuse a text, and a yes or no, in place of a number; 7.0 is an integer, as JSON has it."""
    if isinstance(value, str | bool):
        raise ValueError("this is not a number")  # noqa: TRY004 - what Pydantic tells the caller of
    return value


def _written(value: object) -> object:
    """Refuse a number for a time: pydantic would count seconds from 1970."""
    if isinstance(value, int | float):
        raise ValueError("a time is a text, such as 2026-11-18T10:00:00+01:00")  # noqa: TRY004 - pydantic's own
    return value


NUMBER = BeforeValidator(_number)
"""Stands behind the bounds of a type: before them, the document would not have them."""
Whole = Annotated[int, NUMBER]
Instant = Annotated[AwareDatetime, BeforeValidator(_written)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00]+$")]
Text = Annotated[str, StringConstraints(max_length=100_000, pattern=r"^[^\x00]*$")]
Short = Annotated[str, StringConstraints(max_length=254, pattern=r"^[^\x00]*$")]
Code = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,119}$")]
Language = Annotated[str, StringConstraints(pattern=r"^[a-z]{2,3}(_[A-Z]{2})?$")]


class View(BaseModel):
    """A body. Its names are in camel case, as the contracts have them; no others are taken."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", from_attributes=True)
