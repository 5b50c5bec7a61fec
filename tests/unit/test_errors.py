import pickle
import re

import pytest

from ostinato._core.base import errors
from ostinato._core.base.errors import (
    Conflict,
    ContractMismatch,
    DatabaseUnavailable,
    InvalidInput,
    LeaseLost,
    OstinatoError,
    RetryAfter,
    UniqueConflict,
)
from ostinato._core.base.errortree import by_sqlstate, tree


def test_an_error_says_what_happened_and_then_what_to_do() -> None:
    error = InvalidInput("queue is empty", hint="Name a queue.", queue="")

    assert str(error) == "queue is empty\n→ Name a queue."
    assert error.values == {"queue": ""}


def test_an_error_without_its_own_hint_uses_the_one_of_its_class() -> None:
    error = LeaseLost("job 7 attempt 2 is stale", job_id=7, attempt=2)

    assert error.hint == LeaseLost.hint
    assert str(error).startswith("job 7 attempt 2 is stale\n→ Stop working")


def test_the_root_has_no_hint_and_prints_the_message_alone() -> None:
    assert str(OstinatoError("plain")) == "plain"


def test_values_may_have_any_name() -> None:
    error = InvalidInput("bad", message="m", self="s")

    assert error.values == {"message": "m", "self": "s"}


def test_every_code_and_every_sqlstate_is_used_once() -> None:
    codes = [cls.code for cls in tree()]
    sqlstates = [cls.__dict__["sqlstate"] for cls in tree() if cls.__dict__.get("sqlstate")]

    assert len(set(codes)) == len(codes)
    assert len(set(sqlstates)) == len(sqlstates)


@pytest.mark.parametrize("cls", tree())
def test_every_class_declares_itself_completely(cls: type[OstinatoError]) -> None:
    assert re.fullmatch(r"[a-z_]+", cls.code)
    assert "code" in cls.__dict__
    assert cls.__doc__
    assert cls is OstinatoError or cls.hint


def test_the_tree_in_the_docstring_is_the_tree_of_the_code() -> None:
    drawn = re.findall(r"^    (?:[│├└─ ]+)?(\w+)(?: +(OS\d{3}))?", errors.__doc__ or "", re.MULTILINE)

    own = [cls for cls in tree() if cls.__module__ == "ostinato.errors"]  # not of an application
    assert drawn == [(cls.__name__, cls.__dict__.get("sqlstate") or "") for cls in own]


def test_a_sqlstate_finds_its_class() -> None:
    assert by_sqlstate("OS409") is Conflict
    assert by_sqlstate("OS411") is UniqueConflict


def test_a_foreign_sqlstate_finds_nothing() -> None:
    assert by_sqlstate("23505") is None
    assert by_sqlstate(None) is None


def test_a_subclass_made_by_an_application_does_not_take_a_sqlstate_over() -> None:
    class Stale(LeaseLost):
        pass

    assert by_sqlstate("OS410") is LeaseLost
    assert Stale not in tree()


def test_supervisors_can_tell_by_the_exit_code_what_went_wrong() -> None:
    assert ContractMismatch.exit_code == 78
    assert DatabaseUnavailable.exit_code == 69


def test_an_error_survives_being_sent_to_another_process() -> None:
    error = InvalidInput("bad", hint="mend it", value=3)

    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes

    assert str(copy) == str(error)
    assert copy.values == {"value": 3}


def test_retry_after_is_a_signal_and_not_an_error() -> None:
    signal = RetryAfter(30, "rate limited")

    assert not isinstance(signal, OstinatoError)
    assert (signal.seconds, str(signal)) == (30, "rate limited")
    assert str(RetryAfter(1.5)) == "retry after 1.5 s"
