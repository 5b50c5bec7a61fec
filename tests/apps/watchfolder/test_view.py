"""What `ostinato watch` says when it does nothing: why."""

import hashlib
import io
import json
import os
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from ostinato._faces.cli.frame.output import Output
from ostinato._faces.cli.main import app
from ostinato.apps.watchfolder.commands import decide, held
from ostinato.apps.watchfolder.terminal import View
from ostinato.apps.watchfolder.tick import duplicates
from ostinato.apps.watchfolder.tick.orchestrator import Orchestrator
from ostinato.commands import Cli
from ostinato.errors import NotFound
from tests.apps.watchfolder.place import Place, Services

pytestmark = pytest.mark.usefixtures("logs")  # what is logged is no part of what the view says


def test_what_keeps_a_tick_from_its_work_is_said_once_and_when_it_is_over(
    place: Place, services: Services, capsys: pytest.CaptureFixture[str]
) -> None:
    view = View(Output(json=True), place.folders)
    place.start(min_free_bytes=1 << 60)
    place.drop("a.pdf", b"a")
    for _ in range(3):
        view.trouble(place.tick())
    place.change(min_free_bytes=0)
    services.away = {"prep"}
    for _ in range(3):
        view.trouble(place.tick())
    services.away = set()
    view.trouble(place.tick(2))

    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    said = [each["message"] for each in told if each["event"] == "problem"]
    assert said[0].startswith("The disk is nearly full")
    assert said[1].startswith("service_unreachable PREP")
    assert said[2:] == [None]


def seen_by(place: Place, *, once: bool = False, ticks: int = 1) -> View:
    """The view of a place, as `ostinato watch --json` drives it."""
    with View(Output(json=True), place.folders) as view:
        place.orchestrator.hooks.on_event = view.hear
        for _ in range(ticks):
            view.trouble(place.tick())
            view.look(place.orchestrator.memory, alone=once and not place.in_flight)
    return view


def told(capsys: pytest.CaptureFixture[str], event: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return [each for each in lines if each["event"] == event]


def shown(view: View) -> str:
    """The table of the view on a terminal of 80 columns."""
    console = Console(width=80, file=io.StringIO(), color_system=None)
    console.print(view._table())
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert max(map(len, text.splitlines())) <= 80
    return str(text)


def test_what_is_never_taken_is_said_once(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    (place.folders.incoming / "sub").mkdir()
    (place.folders.incoming / "link.pdf").symlink_to("/etc/hostname")

    view = seen_by(place, ticks=3)

    said = {each["fileName"]: each["message"] for each in told(capsys, "waiting")}
    assert said == {
        "sub": "a folder: only what lies in in/ itself is taken",
        "link.pdf": "a link: only plain files are taken",
    }
    assert "NOT TAKEN" in shown(view)


def test_once_says_what_it_waits_for(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.drop("leer.pdf", b"")

    view = seen_by(place, once=True, ticks=3)

    (said,) = told(capsys, "waiting")
    assert said["fileName"] == "leer.pdf"
    assert said["message"].startswith("it is empty; refused when it stays so for 600 s")
    assert not view.is_idle(place.orchestrator.memory, place.in_flight)


def test_the_table_shows_what_waits_in_the_folder(place: Place) -> None:
    place.start(stable_s=60.0)
    for number in range(12):
        place.drop(f"{number:02}.pdf", b"x")

    text = shown(seen_by(place))

    assert text.count("it may still be written to") == 10
    assert "… and 2 more in in/" in text


def test_each_twin_has_its_row_and_a_failed_decision_shows_as_failed(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    place.drop("a.pdf", b"a")
    place.tick(2)
    place.drop("b.pdf", b"a")
    place.drop("c.pdf", b"a")
    view = seen_by(place, ticks=2)
    view.sum_up()
    assert (told(capsys, "stopped")[0]["held"], shown(view).count("DUPLICATE_PENDING")) == (2, 2)
    for path in (*place.folders.results.iterdir(), *place.folders.out.iterdir()):
        path.unlink()
    place.decide(place.only_key(), "USE_EXISTING_RESULT")

    view.trouble(place.tick())
    held(Cli(Output()), place.root)

    assert shown(view).count("DECISION_FAILED") == 2
    listed = capsys.readouterr().out
    assert "DECISION_FAILED: the existing result is gone: use FORCE_REPROCESS" in listed
    assert "decided" not in listed


def test_twins_that_an_earlier_run_has_held_are_shown_and_counted(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.pdf", "b.pdf", "c.pdf"):
        place.drop(name, b"a")
        place.tick(2)
    place.tick(4)
    held(Cli(Output()), place.root)
    listed = capsys.readouterr().out

    view = seen_by(place)
    view.sum_up()

    assert (told(capsys, "stopped")[0]["held"], shown(view).count("DUPLICATE_PENDING")) == (2, 2)
    assert "b.pdf" in shown(view)
    assert "a.pdf (DONE)" in listed


def test_a_decision_that_decides_nothing_shows_as_such_and_once_waits_until_it_is_told(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a file that an earlier run has held, too."""
    for name in ("a.pdf", "b.pdf"):
        place.drop(name, b"a")
        place.tick(2)
    job_key = place.only_key()
    (place.folders.hold / job_key / "decision.json").write_text('{"action": "DISCARD", "files": []}')
    held(Cli(Output()), place.root)
    listed = " ".join(capsys.readouterr().out.split())

    view = seen_by(place, ticks=9)
    early = view.is_idle(place.orchestrator.memory, place.in_flight)
    view = seen_by(place)
    view.sum_up()

    assert "DECISION_INVALID: files in decision.json must be a list of names, at least one" in listed
    assert "decided" not in listed
    assert (early, view.is_idle(place.orchestrator.memory, place.in_flight)) == (False, True)
    assert "DECISION_INVALID" in shown(view)
    assert told(capsys, "stopped")[0]["held"] == 1


def terminal(width: int, height: int) -> Output:
    """A command whose streams are terminals of this size."""
    out = Output()
    for name in ("_out", "_err"):
        made = Console(file=io.StringIO(), force_terminal=True, width=width, height=height, color_system=None)
        setattr(out, name, made)
    return out


def drawn(out: Output) -> str:
    """All that was written to the terminal of a view."""
    return out._err.file.getvalue()  # type: ignore[attr-defined, no-any-return]


HOSTILE = "a\nb.pdf: DONE \x1b]0;title \x1b[2J\r\u202efdp.exe"


def test_a_name_begins_no_line_and_moves_no_cursor(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.drop(HOSTILE, b"a")
    place.drop("waits.pdf", b"")
    out = terminal(200, 24)

    with View(out, place.folders) as table, View(Output(), place.folders) as lines:

        def hear(event: dict[str, Any]) -> None:
            table.hear(event)
            lines.hear(event)

        place.orchestrator.hooks.on_event = hear
        place.tick(2)
        table.look(place.orchestrator.memory, alone=True)
        table.refresh()

    for text in (drawn(out), capsys.readouterr().err):
        assert "a�b.pdf: DONE �]0;title �[2J��fdp.exe" in text
        assert not any(part in text for part in ("\nb.pdf: DONE", "\x1b]0;title", "\x1b[2J", "\u202e"))


def test_on_a_small_terminal_files_on_their_way_are_seen_and_the_rest_is_counted(
    place: Place, services: Services
) -> None:
    services.judge = lambda service, _: {"state": "RUNNING"} if service == "ocr" else None
    out = terminal(80, 12)
    with View(out, place.folders) as view:
        place.orchestrator.hooks.on_event = view.hear
        place.drop("slow.pdf", b"slow")
        place.tick()
        services.judge = lambda _service, _body: None
        for number in range(30):
            place.drop(f"{number:02}.pdf", b"%d" % number)
            place.tick()
        (place.folders.incoming / "sub").mkdir()
        view.look(place.orchestrator.memory, alone=False)
        view.trouble(place.tick())
        view.refresh()

    text = drawn(out)[drawn(out).rindex("file  ") :]  # as it was left
    assert ["slow.pdf" in text, "29.pdf" in text, "→ out/29.pdf" in text, "00.pdf" in text] == [True, True, True, False]
    assert "earlier" in text
    assert text.count("\n") < 12


@pytest.mark.parametrize(("environ", "most"), [({"OCR_CONCURRENCY": "3"}, 3), ({}, os.cpu_count())])
def test_watch_hears_how_many_are_read_at_once(
    place: Place, monkeypatch: pytest.MonkeyPatch, environ: dict[str, str], most: int
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    seen: list[int] = []
    monkeypatch.setattr(Orchestrator, "loop", lambda self, *_: seen.append(self.options.ocr_concurrency))
    urls = ["--prep-url=http://prep:1", "--ocr-url=http://ocr:1"]

    done = CliRunner().invoke(app, ["watch", str(place.root), *urls])

    assert (done.exit_code, seen) == (0, [most]), done.output


def test_what_is_held_is_listed_with_the_next_command_and_a_decision_names_its_files(
    place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.pdf", "b.pdf", "c.pdf"):
        place.drop(name, b"a")
        place.tick(2)
    job_key = place.only_key()
    names = [path.name for path in duplicates.held_files(place.folders.hold / job_key)]
    cli = Cli(Output())

    held(cli, place.root)
    listed = capsys.readouterr()
    with pytest.raises(NotFound) as refused:
        decide(cli, place.root, job_key[:6], "discard", file=["b.pdf"])
    decide(cli, place.root, job_key[:6], "discard")

    assert f"decide {place.root} {job_key[:8]} use, or discard (deletes the files), or force" in listed.err
    assert refused.value.hint == f"Held are: {', '.join(names)}."
    said, *about = capsys.readouterr().out.split("\n")
    assert (said, about[:-1]) == ("DISCARD, done by the process that watches the folder:", names)


def test_what_is_not_done_yet_is_said_at_the_end(
    place: Place, services: Services, capsys: pytest.CaptureFixture[str]
) -> None:
    services.judge = lambda _service, _body: {"state": "RUNNING"}
    place.start(max_jobs_in_flight=1)
    place.drop("a.pdf", b"a")
    place.drop("b.pdf", b"b")

    seen_by(place, ticks=2).sum_up()

    (said,) = told(capsys, "stopped")
    assert said == {"event": "stopped", "done": 0, "failed": 0, "held": 0, "left": 0, "waiting": 2}


@pytest.mark.parametrize("how", [{}, {"quiet": True}, {"json": True}])
def test_the_hash_of_what_is_discarded_is_said_however_little_is_said(
    place: Place, capsys: pytest.CaptureFixture[str], how: dict[str, bool]
) -> None:
    place.drop("a.pdf", b"a")
    place.tick(2)
    place.drop("b.pdf", b"a")
    place.tick()
    place.decide(place.only_key(), "DISCARD")
    place.orchestrator.hooks.on_event = View(Output(**how), place.folders).hear

    place.tick()

    wrote = capsys.readouterr()
    assert hashlib.sha256(b"a").hexdigest() in wrote.out + wrote.err
