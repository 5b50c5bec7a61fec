"""Shows `ostinato watch`: every file, how far it is, and where its result is."""

from typing import TYPE_CHECKING, Any, Self

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from ostinato.commands import Output, counted, table

if TYPE_CHECKING:
    from ostinato.apps.watchfolder.folders import Folders
    from ostinato.apps.watchfolder.tick.memory import Memory

MOST_SHOWN = 25
COLOURS = {"DONE": "green", "ERROR": "red", "DUPLICATE_PENDING": "yellow", "REFUSED": "red"}


class View:
    """The files of this run, on a terminal as a table that changes, else line by line."""

    def __init__(self, out: Output, folders: "Folders") -> None:
        self._out = out
        self._folders = folders
        self._rows: dict[str, dict[str, Any]] = {}
        self._live: Live | None = None
        self._trouble: str | None = None

    def __enter__(self) -> Self:
        self._out.event({"event": "watching", "in": str(self._folders.incoming)})
        self._out.note(f"Watching {self._folders.incoming}; results go to {self._folders.out}. Ctrl-C stops it.")
        console = Console(stderr=True)
        if self._out.for_people and console.is_terminal:
            self._live = Live(self._table(), console=console, refresh_per_second=4)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def hear(self, event: dict[str, Any]) -> None:
        """Take in what a tick reports."""
        kind = event["kind"]
        key = str(event.get("jobKey") or event.get("fileName"))
        if kind == "duplicate":
            key = f"{key} duplicate"
        row = self._rows.setdefault(key, {"name": key[:12], "state": "", "note": ""})
        match kind:
            case "job":
                row |= {"name": event.get("fileName") or row["name"], "state": event["state"]}
                row["note"] = _note(event)
            case "progress":
                row["note"] = f"page {event['page']} of {event['pages']}" if event["pages"] else ""
            case "duplicate":
                came = event.get("incoming") or {}
                row |= {"name": came.get("fileName") or row["name"], "state": event["state"]}
                waits = f"decide: ostinato held {self._root}"
                row["note"] = event.get("message") or event.get("action") or waits
            case _:
                row |= {"name": event["fileName"], "state": "REFUSED"}
                row["note"] = event["cause"]["message"]
        shown = {"event": kind, **{name: event[name] for name in SAID if name in event}}
        self._out.event(shown)
        if self._live is None and kind != "progress":
            self._out.note(f"{row['name']}: {row['state']} {row['note']}".rstrip())

    def trouble(self, done: dict[str, Any]) -> None:
        """Say what keeps a tick from its work, once, and when it is over."""
        said = _trouble(done)
        if said == self._trouble:
            return
        self._trouble = said
        self._out.event({"event": "problem", "message": said})
        if self._live is None:
            self._out.note(said or "It goes on.")

    def refresh(self) -> None:
        """Show how things stand."""
        if self._live is not None:
            self._live.update(self._table())

    def is_idle(self, memory: "Memory", in_flight: dict[str, Any]) -> bool:
        """Whether no job is in flight, and `in/` is empty."""
        return not (in_flight or memory.staged or memory.sights or memory.finished)

    def sum_up(self) -> None:
        """Say what became of it all."""
        states = [row["state"] for row in self._rows.values()]
        parts = {
            "done": states.count("DONE"),
            "failed": states.count("ERROR") + states.count("REFUSED"),
            "held": states.count("DUPLICATE_PENDING"),
        }
        said = f"{counted(parts['done'], 'file')} done"
        if parts["failed"]:
            said += f", {parts['failed']} failed: see {self._folders.error}"
        if parts["held"]:
            said += f", {parts['held']} held: `ostinato held {self._root}`"
        self._out.note(f"{said}. Results: {self._folders.out}")
        self._out.event({"event": "stopped", **parts})

    @property
    def _root(self) -> str:
        return str(self._folders.incoming.parent)

    def _table(self) -> Group:
        shown = table("file", "state", "")
        for row in list(self._rows.values())[-MOST_SHOWN:]:
            colour = COLOURS.get(row["state"], "cyan")
            shown.add_row(Text(row["name"]), Text(row["state"], colour), Text(row["note"]))
        return Group(shown, Text(self._trouble or "", "yellow"))


SAID = ("jobKey", "fileName", "state", "step", "page", "pages", "outPath", "message", "action")


def _trouble(done: dict[str, Any]) -> str | None:
    """The one thing that a person should know; the numbers in it are not news by themselves."""
    problems = done["problems"]
    match done.get("degraded"):
        case "services":
            return "PREP or OCR does not answer: nothing new is taken."
        case "disk":
            return "The disk is nearly full (--min-free): nothing new is taken."
        case "in":
            return "The folder in/ cannot be read."
    if not problems:
        return None
    last = problems[-1]
    where = last.get("file") or last.get("job_key", "")[:12] or last.get("service", "")
    return f"{last['what']} {where}: {last['error']}".replace(" :", ":")


def _note(event: dict[str, Any]) -> str:
    if event["state"] == "DONE":
        return f"→ {event.get('outPath')}"
    if event["state"] in {"ERROR", "PREP_ERROR", "OCR_ERROR"}:
        cause = event.get("cause") or {}
        return f"{cause.get('code', '')}: {cause.get('message', '')}"
    return ""
