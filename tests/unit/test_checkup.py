"""What applications need on this machine: asked one by one."""

from ostinato._core.base.settings import Settings
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.observe.checkup import Checkup, Trouble, examine
from ostinato._faces.cli.operate import checks

HERE = "tests.unit.test_checkup"


def stumble(_: Settings) -> list[Trouble]:
    raise OSError("password=hunter2 was in the way")


FINE = Checkup(lambda _: [])
LACKING = Checkup(lambda _: [Trouble("there is no till", "Buy one.")])
BROKEN = Checkup(stumble)


async def test_an_application_that_cannot_be_examined_is_a_trouble_and_hides_no_others() -> None:
    apps = [
        App("broken", doctor=f"{HERE}:BROKEN"),
        App("unnamed", doctor=f"{HERE}:NOTHING"),
        App("silent"),
        App("till", doctor=f"{HERE}:LACKING"),
        App("fine", doctor=f"{HERE}:FINE"),
    ]

    found = await examine(apps, Settings())

    assert list(found) == ["broken", "unnamed", "till", "fine"]
    assert found["till"] == [Trouble("there is no till", "Buy one.")]
    assert found["fine"] == []
    ((problem, hint),) = found["broken"]
    assert problem.startswith("it could not be examined: OSError")
    assert "hunter2" not in problem
    assert hint == f"Fix {HERE}:BROKEN."
    assert found["unnamed"][0].problem.startswith("it could not be examined: InvalidInput")


def test_what_an_application_lacks_is_a_warning_and_no_failure() -> None:
    (fine,) = checks.application("till", [])
    (lacking,) = checks.application("till", [Trouble("there is no till", "Buy one.")])

    assert (fine.check, fine.level) == ("till", "ok")
    assert (lacking.level, lacking.message, lacking.hint) == ("warn", "there is no till", "Buy one.")
