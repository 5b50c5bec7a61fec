"""Shows `ostinato watch`: every file, how far it is, and where its result is."""

import shlex
from contextlib import ExitStack
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Self

from rich.console import Group
from rich.text import Text

from ostinato.apps.watchfolder.model import FINAL, STATES
from ostinato.apps.watchfolder.names import one_line, shown_name
from ostinato.apps.watchfolder.tick.decisions import PATIENCE
from ostinato.apps.watchfolder.tick.duplicates import held
from ostinato.apps.watchfolder.tick.sights import blocked_sentence, last_problem
from ostinato.apps.watchfolder.utils import shortened
from ostinato.commands import Output, Screen, counted, table

if TYPE_CHECKING:
    from ostinato.apps.watchfolder.folders import Folders
    from ostinato.apps.watchfolder.tick.memory import Memory

MOST_SHOWN, MOST_WAITING = 20, 10
GIVEN_UP = 3
"""`--once` no longer waits for a file that could not be taken so many times."""
HELD = ("DUPLICATE_PENDING", "DECISION_FAILED", "DECISION_INVALID")
ON_THEIR_WAY = frozenset(STATES) - FINAL
COLOURS = {
    "DONE": "green",
    **dict.fromkeys(("ERROR", "REFUSED", "BLOCKED", "DECISION_FAILED", "DECISION_INVALID"), "red"),
    **dict.fromkeys(("DUPLICATE_PENDING", "NOT TAKEN"), "yellow"),
}


class View:
    """The files of this run, on a terminal as a table that changes, else line by line."""

    def __init__(self, out: Output, folders: "Folders") -> None:
        self._out = out
        self._folders = folders
        self._rows: dict[str, dict[str, Any]] = {}
        self._waiting: dict[str, tuple[str, str]] = {}
        """What lies in `in/`: its name, with how it stands and why."""
        self._said: dict[str, tuple[str, str]] = {}
        self._open = ExitStack()
        self._screen: Screen | None = None
        self._trouble: str | None = None

    def __enter__(self) -> Self:
        self._out.event({"event": "watching", "in": str(self._folders.incoming)})
        self._out.note(f"Watching {self._folders.incoming}; results go to {self._folders.out}. Ctrl-C stops it.")
        self._screen = self._open.enter_context(self._out.screen())
        self._show_held()
        self.refresh()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def hear(self, event: dict[str, Any]) -> None:
        """Show an event that a tick reports."""
        kind = event["kind"]
        self._out.event({"event": kind, **{name: event[name] for name in SAID if name in event}})
        match kind:
            case "job":
                row = self._row(event["jobKey"])
                row |= {"name": event.get("fileName") or row["name"], "state": event["state"]}
                row["note"] = _note(event, self._root)
                self._say(row)
            case "progress":
                row = self._row(event["jobKey"])
                row["note"] = f"page {event['page']} of {event['pages']}" if event["pages"] else ""
            case "duplicate":
                self._hear_of_twins(event)
            case "discarded":
                # A line that stays, also with --quiet and while the table changes.
                self._out.warn(f"{one_line(event['fileName'])} was deleted (DISCARD): sha256 {event['sha256']}")
            case _:
                row = self._row(event["fileName"])
                row |= {"name": event["fileName"], "state": "REFUSED", "note": event["cause"]["message"]}
                self._say(row)

    def _show_held(self) -> None:
        """Show what a run before this one has held: it still waits for a person."""
        for each in held(self._folders):
            for name in each.files:
                row = self._row(f"{each.job_key} {name}")
                row |= {"name": name.partition("__")[2] or name, "state": each.state}
                row["note"] = each.message or self._how_to_decide
                self._say(row)

    def _hear_of_twins(self, event: dict[str, Any]) -> None:
        """Show each file that is held in a row of its own; a decision is about some of a jobKey, or all."""
        prefix = f"{event['jobKey']} "
        came = event.get("incoming")
        if came is not None:
            row = self._row(prefix + PurePath(came["path"]).name)
            row |= {"name": came["fileName"], "state": event["state"], "note": self._how_to_decide}
            self._say(row)
            return
        decided = event.get("files")
        for key, row in self._rows.items():
            if key.startswith(prefix) and (decided is None or key.removeprefix(prefix) in decided):
                row |= {"state": event["state"], "note": event.get("message") or event.get("action") or ""}
                self._say(row)

    def _row(self, key: str) -> dict[str, Any]:
        return self._rows.setdefault(key, {"name": key[:12], "state": "", "note": ""})

    def _say(self, row: dict[str, Any]) -> None:
        if self._screen is None:
            self._out.note(f"{one_line(row['name'])}: {row['state']} {row['note']}".rstrip())

    def look(self, memory: "Memory", *, alone: bool) -> None:
        """Take in what lies in `in/`; each reason is said once, passing ones only with `alone`.

        `alone` says that nothing else is left to do, so that a person wonders what is waited for.
        """
        now = {name: ("NOT TAKEN", why) for name, why in memory.passed.items()}
        now |= {name: ("BLOCKED" if sight.failed else "WAITS", sight.why) for name, sight in memory.sights.items()}
        for name, (state, why) in now.items():
            if self._said.get(name) == (state, why) or (state == "WAITS" and not alone):
                continue
            self._said[name] = (state, why)
            self._out.event({"event": "waiting", "fileName": shown_name(name), "state": state, "message": why})
            self._say({"name": name, "state": state, "note": why})
        self._said = {name: each for name, each in self._said.items() if name in now}
        self._waiting = now

    def trouble(self, done: dict[str, Any]) -> None:
        """Say what keeps a tick from its work, once, and when it is over."""
        said = _trouble(done)
        if said == self._trouble:
            return
        self._trouble = said
        self._out.event({"event": "problem", "message": said})
        if self._screen is None:
            self._out.note(said or "It goes on.")

    def refresh(self) -> None:
        """Show how things stand: on a small terminal, the last files only."""
        if self._screen is None:
            return
        most = MOST_SHOWN
        while most > 1 and not self._screen.fits(self._table(most)):
            most = most * 3 // 4
        self._screen.show(self._table(most))

    def is_idle(self, memory: "Memory", in_flight: dict[str, Any]) -> bool:
        """Return whether no job is in flight, `in/` has nothing that can be taken, and no decision is half written."""
        if in_flight or memory.staged or memory.finished:
            return False
        if any(count < PATIENCE for count in memory.bad_decisions.values()):
            return False
        return all(sight.failed >= GIVEN_UP for sight in memory.sights.values())

    def sum_up(self) -> None:
        """Say what became of it all."""
        states = [row["state"] for row in self._rows.values()]
        parts = {
            "done": states.count("DONE"),
            "failed": states.count("ERROR") + states.count("REFUSED"),
            "held": sum(states.count(state) for state in HELD),
            "left": sum(state != "WAITS" for state, _ in self._waiting.values()),
            "waiting": sum(state in ON_THEIR_WAY for state in states)
            + sum(state == "WAITS" for state, _ in self._waiting.values()),
        }
        said = f"{counted(parts['done'], 'file')} done"
        if parts["failed"]:
            said += f", {parts['failed']} failed: see {self._folders.error}"
        if parts["held"]:
            said += f", {parts['held']} held: `{self._how_to_decide}`"
        if parts["left"]:
            said += f", {parts['left']} not taken: see {self._folders.incoming}"
        if parts["waiting"]:
            said += f", {parts['waiting']} not done yet: they go on at the next start"
        self._out.note(f"{said}. Results: {self._folders.out}")
        self._out.event({"event": "stopped", **parts})

    @property
    def _how_to_decide(self) -> str:
        return f"ostinato held {shlex.quote(self._root)}"

    @property
    def _root(self) -> str:
        return str(self._folders.incoming.parent)

    def _table(self, most: int = MOST_SHOWN) -> Group:
        shown = table("file", "state", "")
        shown.columns[1].no_wrap = True
        rows = sorted(self._rows.values(), key=lambda row: row["state"] in ON_THEIR_WAY)  # these are never cut off
        for row in rows[-most:]:
            colour = COLOURS.get(row["state"], "cyan")
            shown.add_row(Text(one_line(row["name"])), Text(row["state"], colour), Text(row["note"]))
        waiting = list(self._waiting.items())
        for name, (state, why) in waiting[:MOST_WAITING]:
            shown.add_row(Text(one_line(name)), Text(state, COLOURS.get(state, "dim")), Text(why))
        more = {"earlier": len(rows) - most, "more in in/": len(waiting) - MOST_WAITING}
        said = ", ".join(f"{count} {what}" for what, count in more.items() if count > 0)
        return Group(shown, Text(f"… and {said}" if said else "", "dim"), Text(self._trouble or "", "yellow"))


SAID = (
    *("jobKey", "fileName", "state", "step", "page", "pages", "outPath", "message", "action"),
    *("incoming", "files", "sha256", "decidedBy", "cause"),
)


def _trouble(done: dict[str, Any]) -> str | None:
    """Return the one thing that a person should know; the numbers in it are not news by themselves."""
    match done.get("degraded"):
        case "services":
            return "PREP or OCR does not answer: nothing new is taken."
        case "disk":
            return "The disk is nearly full (--min-free): nothing new is taken."
        case "in":
            return "The folder in/ cannot be read."
    last = last_problem(done)
    if last is None:
        return blocked_sentence(done["blocked"])
    where = one_line(last.get("file", "")) or last.get("job_key", "")[:12] or last.get("service", "")
    return f"{last['what']} {where}: {last['error']}".replace(" :", ":")


def _note(event: dict[str, Any], root: str) -> str:
    if event["state"] == "DONE":
        notes = shortened((event.get("result") or {}).get("notes") or ())
        where = one_line(str(event.get("outPath")).removeprefix(f"{root}/"))
        return f"→ {where}" + (f" ({notes})" if notes else "")
    if event["state"] in {"ERROR", "PREP_ERROR", "OCR_ERROR"}:
        cause = event.get("cause") or {}
        return f"{cause.get('code', '')}: {cause.get('message', '')}"
    return ""
