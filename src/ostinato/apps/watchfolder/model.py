"""Defines the states of a job, its stages, and the codes of its errors: plain values.

A *state* is what `state.json` says; a *stage* is where the scheduler has the job:

    DISCOVERED → PREP_SUBMITTED → PREP_RUNNING → PREP_DONE → OCR_SUBMITTED → OCR_RUNNING → DONE
    errors: PREP_ERROR, OCR_ERROR, PREP_TIMEOUT, OCR_TIMEOUT, ERROR

INGESTING and FINALIZING are intentions, written before files move, so that a crash can be redone.
"""

import re
from typing import Any, Final

Document = dict[str, Any]
"""A JSON object, as the files of a folder hold them."""
Index = dict[str, Any]
"""`{"version": 1, "jobs": {jobKey: …}, "forced": {nonce: …}}`."""
InFlight = dict[str, Document]
"""The jobs in flight: jobKey → `{"stage": …, …}`."""

JOB_KEY: Final = re.compile(r"[0-9a-f]{64}__[0-9a-f]{8,64}")
"""What a jobKey looks like. A folder of another name is somebody else's, and is left alone."""

ACTIONS: Final = ("USE_EXISTING_RESULT", "DISCARD", "FORCE_REPROCESS")

_STAGE_OF: Final = {
    "INGESTING": "DISCOVERED",
    "DISCOVERED": "DISCOVERED",
    "PREP_SUBMITTED": "PREP_RUNNING",
    "PREP_RUNNING": "PREP_RUNNING",
    "PREP_ERROR": "PREP_RETRY",
    "PREP_TIMEOUT": "PREP_RETRY",
    "PREP_DONE": "PREP_DONE",
    "OCR_SUBMITTED": "OCR_RUNNING",
    "OCR_RUNNING": "OCR_RUNNING",
    "OCR_ERROR": "OCR_RETRY",
    "OCR_TIMEOUT": "OCR_RETRY",
    "FINALIZING": "FINALIZING",
    "DONE": "DONE",
    "ERROR": "ERROR",
}
STATES: Final = tuple(_STAGE_OF)
STAGES: Final = tuple(dict.fromkeys(_STAGE_OF.values()))
FINAL: Final = frozenset({"DONE", "ERROR"})

PERMANENT: Final = frozenset(
    {
        "EMPTY",
        "UNSUPPORTED",
        "ENCRYPTED",
        "CORRUPT",
        "NO_PAGES",
        "PAGES",
        "PIXELS",
        "TOO_BIG",
        "BOMB",
        "UNSAFE",
        "INPUT_CHANGED",
        "CANCELLED",
    }
)
"""Causes that a retry cannot fix."""
INFRASTRUCTURE: Final = frozenset({"SERVICE_RESTARTED", "UNREACHABLE", "BUSY", "UNKNOWN_JOB", "DISK_FULL"})
"""Causes that are not the file's fault: tried again without counting an attempt."""


def stage_of(state: str) -> str:
    """Return the stage at which a job with this state is taken up again."""
    return _STAGE_OF[state]


def in_hand(document: Document) -> Document:
    """Return what is kept in memory of a job, from what its state.json says."""
    return {name: document.get(name) for name in _KEPT} | {
        "stage": stage_of(document["state"]),
        "attemptPrep": int(document.get("attemptPrep") or 0),
        "attemptOcr": int(document.get("attemptOcr") or 0),
        "submitPrep": int(document.get("submitPrep") or 0),
        "submitOcr": int(document.get("submitOcr") or 0),
        "infra": int(document.get("infra") or 0),
    }


_KEPT: Final = ("fileName", "fileHash", "sizeBytes", "inputPath", "pages")
