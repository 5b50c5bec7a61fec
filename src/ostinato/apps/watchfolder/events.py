"""Declares the events: every state of every job, and the decisions about duplicates."""

from typing import Final

from pydantic.dataclasses import dataclass

from ostinato.apps.watchfolder import APP


@dataclass(frozen=True)
class JobChanged:
    """A job came to a state, as its state.json has it. The key is the jobKey."""

    folder: str
    job_key: str
    seq: int
    """Counts the states of a job: 1, 2, 3, none left out."""
    state: str
    at: str
    file_name: str
    message: str | None = None
    notes: list[str] | None = None
    """With DONE, what is worth knowing of the result: what was left out, turned, or not read."""


@dataclass(frozen=True)
class DuplicateChanged:
    """A duplicate is held, was decided about, or is gone."""

    folder: str
    job_key: str
    state: str
    files: list[str]
    action: str | None = None
    decided_by: str | None = None
    message: str | None = None


@dataclass(frozen=True)
class FileRefused:
    """A file that could be no job was put into `error/`: it was empty for too long."""

    folder: str
    file_name: str
    code: str
    message: str
    at: str


JOB_CHANGED: Final = APP.event("watchfolder.job_changed", payload=JobChanged)
DUPLICATE_CHANGED: Final = APP.event("watchfolder.duplicate_changed", payload=DuplicateChanged)
FILE_REFUSED: Final = APP.event("watchfolder.file_refused", payload=FileRefused)
