import asyncio
import io
import json
import logging
from collections.abc import Callable, Iterator

import pytest

from ostinato._core.base import log
from ostinato._core.base.flow import flow
from ostinato._core.base.log import FIELDS, bound, configure, get_logger


@pytest.fixture(autouse=True)
def _logging_as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)
    log.be_quiet()


@pytest.fixture
def out() -> io.StringIO:
    return io.StringIO()


def lines(out: io.StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_line_is_one_json_object_with_time_level_and_source(out: io.StringIO) -> None:
    configure("json", stream=out)

    get_logger("worker", worker_id="w1").info("claimed", jobs=12)

    [line] = lines(out)
    assert tuple(line)[: len(FIELDS)] == FIELDS
    assert line.pop("timestamp")
    assert {name: value for name, value in line.items() if value is not None} == {
        "event_type": "claimed",
        "level": "info",
        "source": "worker",
        "worker_id": "w1",
        "jobs": 12,
    }


def test_a_line_knows_the_flow_that_it_is_written_in(out: io.StringIO) -> None:
    configure("json", stream=out)
    log = get_logger("api")

    with flow(tenant="acme", correlation="req-7"):
        log.info("asked")
        log.info("other", tenant_id="globex")
        logging.getLogger("a.library").warning("slow")
    log.info("after")

    found = [(line["event_type"], line["tenant_id"], line["correlation_id"]) for line in lines(out)]
    assert found == [
        ("asked", "acme", "req-7"),
        ("other", "globex", "req-7"),
        ("slow", "acme", "req-7"),
        ("after", None, None),
    ]


def test_a_logger_made_before_the_set_up_follows_it(out: io.StringIO) -> None:
    log = get_logger("early")
    configure("json", stream=out)

    log.info("hello")

    assert lines(out)[0]["source"] == "early"


async def test_bound_values_go_with_every_line_of_their_task_and_no_other(out: io.StringIO) -> None:
    configure("json", stream=out)
    log = get_logger("worker")
    both_inside = asyncio.Barrier(2)

    async def run(job_id: int) -> None:
        with bound(job_id=job_id):
            await both_inside.wait()
            log.info("running")
        log.info("after", was=job_id)

    await asyncio.gather(run(1), run(2))

    running = [line for line in lines(out) if line["event_type"] == "running"]
    after = [line for line in lines(out) if line["event_type"] == "after"]
    assert sorted(str(line["job_id"]) for line in running) == ["1", "2"]
    assert all(line["job_id"] is None for line in after)


def test_less_severe_lines_than_asked_for_are_not_written(out: io.StringIO) -> None:
    configure("json", "warning", stream=out)

    get_logger("worker").info("quiet")
    get_logger("worker").warning("loud")

    assert [line["event_type"] for line in lines(out)] == ["loud"]


def test_secrets_are_masked_by_name_and_by_pattern(out: io.StringIO) -> None:
    configure("json", stream=out)

    get_logger("db").info("connecting", url="postgresql://bo:hunter2@db/app", password="hunter2")

    assert "hunter2" not in out.getvalue()


def test_a_traceback_is_written_without_the_secrets_in_it(out: io.StringIO) -> None:
    configure("json", stream=out)

    error = OSError("cannot reach postgresql://bo:hunter2@db/app")
    get_logger("db").error("failed", exc_info=error)

    assert "OSError: cannot reach postgresql://bo:***@db/app" in str(lines(out)[0]["exception"])
    assert "hunter2" not in out.getvalue()


def test_libraries_that_use_logging_come_out_in_the_same_shape(out: io.StringIO) -> None:
    configure("json", stream=out)

    logging.getLogger("a.library").warning("lost %s, password=%s", "conn-1", "hunter2")

    [line] = lines(out)
    assert line["event_type"] == "lost conn-1, password=***"
    assert (line["source"], line["level"]) == ("a.library", "warning")


def test_libraries_only_chatter_when_everything_is_asked_for(out: io.StringIO) -> None:
    configure("json", "info", stream=out)
    logging.getLogger("chatty").info("hidden")
    configure("json", "debug", stream=out)
    logging.getLogger("chatty").info("shown")

    assert [line["event_type"] for line in lines(out)] == ["shown"]


def test_the_console_is_for_people(out: io.StringIO) -> None:
    configure("console", stream=out)

    get_logger("worker").info("claimed", jobs=12)

    assert "claimed" in out.getvalue()
    assert "jobs=12" in out.getvalue()


def test_auto_writes_json_where_nobody_looks(out: io.StringIO) -> None:
    configure("auto", stream=out)

    get_logger("worker").info("claimed")

    assert lines(out)[0]["event_type"] == "claimed"


def test_what_json_does_not_have_is_written_all_the_same(out: io.StringIO) -> None:
    configure("json", stream=out)

    get_logger("worker").info("odd", value=object(), raw=b"\xff", text="\ud800")

    assert lines(out)[0]["event_type"] == "odd"


@pytest.mark.parametrize("set_up", [log.be_quiet, configure], ids=["quiet", "configured"])
def test_a_line_goes_to_what_stderr_is_then(set_up: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Who runs a command in its own process puts another stream in its place, and closes that afterwards."""
    mine = get_logger("worker")
    before, after = io.StringIO(), io.StringIO()
    monkeypatch.setattr("sys.stderr", before)
    set_up()
    mine.warning("first")
    before.close()

    monkeypatch.setattr("sys.stderr", after)
    mine.warning("second")

    assert "second" in after.getvalue()


def test_a_field_that_a_caller_made_long_is_written_by_its_ends(out: io.StringIO) -> None:
    """What a line costs does not depend on what a caller sent, and what broke stands at the end."""
    configure("json", stream=out)

    get_logger("worker").error("failed", error="start " + "x " * 10**6 + "ValueError: bad", given={"text": "y" * 10**6})

    [line] = lines(out)
    assert len(out.getvalue()) < 3 * log.LONGEST_TEXT
    assert str(line["error"]).startswith("start x")
    assert str(line["error"]).endswith("ValueError: bad")
