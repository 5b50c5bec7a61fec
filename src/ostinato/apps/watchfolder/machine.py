"""Declares the machines of a job (checked against its file) and of a duplicate.

A job's truth is its `state.json`, so its machine is not attached to a table; the tests walk every
history with it. The machine of a duplicate is enforced by the database: people decide there.
"""

from ostinato.apps.watchfolder.model import STATES
from ostinato.machines import Invariant, Machine, Transition, filled

ENTITY = "watchfolder.duplicate"

_PREP = ("DISCOVERED", "PREP_ERROR", "PREP_TIMEOUT", "PREP_SUBMITTED", "PREP_RUNNING")
_OCR = ("PREP_DONE", "OCR_ERROR", "OCR_TIMEOUT", "OCR_SUBMITTED", "OCR_RUNNING")

JOB = Machine(
    "watchfolder_job",
    about="A file on its way from `in/` to `out/`, as its state.json has it.",
    states=STATES,
    initial="INGESTING",
    terminal=("DONE", "ERROR"),
    transitions=(
        Transition("INGESTING", "arrive", "DISCOVERED", guard="the file is in work/<jobKey>/"),
        Transition(_PREP, "submit_prep", "PREP_SUBMITTED", guard="an attempt is written down"),
        Transition("PREP_SUBMITTED", "accept_prep", "PREP_RUNNING", guard="PREP has the job"),
        Transition(("PREP_SUBMITTED", "PREP_RUNNING"), "fail_prep", "PREP_ERROR"),
        Transition(("PREP_SUBMITTED", "PREP_RUNNING"), "miss_prep", "PREP_TIMEOUT", guard="the heartbeat is stale"),
        Transition(("PREP_SUBMITTED", "PREP_RUNNING"), "prepare", "PREP_DONE", guard="raw.pdf is there"),
        Transition(_OCR, "submit_ocr", "OCR_SUBMITTED", guard="an attempt is written down"),
        Transition("OCR_SUBMITTED", "accept_ocr", "OCR_RUNNING", guard="OCR has the job"),
        Transition(("OCR_SUBMITTED", "OCR_RUNNING"), "fail_ocr", "OCR_ERROR"),
        Transition(("OCR_SUBMITTED", "OCR_RUNNING"), "miss_ocr", "OCR_TIMEOUT", guard="the heartbeat is stale"),
        Transition(
            ("OCR_SUBMITTED", "OCR_RUNNING", "FINALIZING"),
            "finalize",
            "FINALIZING",
            guard="final.pdf is there, and where everything goes is chosen",
        ),
        Transition("FINALIZING", "finish", "DONE", guard="out/ and archive/ have their files"),
        Transition((*_PREP, *_OCR), "give_up", "ERROR", guard="the cause is permanent, or no attempt is left"),
    ),
)

DUPLICATE = Machine(
    "watchfolder_duplicate",
    about="Files that came again, held until a person decides.",
    states=("DUPLICATE_PENDING", "DECIDED", "APPLIED"),
    initial="DUPLICATE_PENDING",
    transitions=(
        Transition("DUPLICATE_PENDING", "decide", "DECIDED", guard="a person chose one of the actions"),
        Transition(("DUPLICATE_PENDING", "DECIDED"), "apply", "APPLIED", guard="decision.json is done"),
        Transition("DECIDED", "refuse", "DUPLICATE_PENDING", guard="the decision cannot be carried out"),
        Transition(("APPLIED", "DECIDED"), "hold", "DUPLICATE_PENDING", guard="the file came once more"),
    ),
    invariants=(
        Invariant(
            "DECIDED",
            (filled("action"), filled("decided_by"), filled("decided_at")),
            why="nothing is decided by nobody",
        ),
    ),
)
