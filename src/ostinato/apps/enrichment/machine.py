"""Declares the states of a company's enrichment, and what holds in each.

Two transitions are not in the specification's table: `refresh` (a manual refresh of a fresh
SUCCESS, M3C-gap-1) and `take_over` (a lock that expired, attempt + 1; M3C-gap-2). What no plain
comparison can say stands in triggers of the table: RUNNING has a live lease, STALE is past its time
to live, and only a manual refresh leads out of a SUCCESS.
"""

from ostinato.machines import Check, Invariant, Machine, Transition, above, equals, filled

ENTITY = "enrichment.company"

COMPANY = Machine(
    "company_enrichment",
    about="What is known about a company, and how it was found out.",
    states=("PENDING", "RUNNING", "SUCCESS", "PARTIAL", "FAILED", "STALE"),
    initial="PENDING",
    transitions=(
        Transition(
            ("PENDING", "STALE", "FAILED", "PARTIAL"), "start", "RUNNING", guard="a job has started and has the lock"
        ),
        Transition("SUCCESS", "refresh", "RUNNING", guard="somebody asked for it by hand"),
        Transition("RUNNING", "take_over", "RUNNING", guard="the lock had expired; attempt + 1"),
        Transition(
            "RUNNING", "succeed", "SUCCESS", guard="core identity, and neither a required nor an optional source failed"
        ),
        Transition("RUNNING", "end_partly", "PARTIAL", guard="core identity, and only optional sources failed"),
        Transition("RUNNING", "fail", "FAILED", guard="a required source failed, or no core identity"),
        Transition(("SUCCESS", "PARTIAL"), "expire", "STALE", guard="the snapshot is past its time to live"),
    ),
    invariants=(
        Invariant("RUNNING", (filled("lock_token"), filled("job_id")), why="M3C-invariant-1: a lock"),
        Invariant("SUCCESS", (equals("core_identity_present", value=True),), why="M3C-invariant-2"),
        Invariant(
            "SUCCESS",
            (equals("required_sources_failed_count", 0), equals("optional_sources_failed_count", 0)),
            why="M3C-invariant-3",
        ),
        Invariant(
            "PARTIAL",
            (
                equals("required_sources_failed_count", 0),
                above("optional_sources_failed_count", 0),
                equals("core_identity_present", value=True),
            ),
            why="M3C-invariant-4",
        ),
        Invariant(
            "FAILED",
            (above("required_sources_failed_count", 0), equals("core_identity_present", value=False)),
            any=True,
            why="M3C-invariant-5",
        ),
        Invariant("FAILED", (filled("enrichment_error"),), why="M3C-invariant-6"),
        Invariant(
            "STALE",
            (Check("updated_at", ">", "-infinity"),),
            why="M3C-invariant-7: a snapshot; its age is looked at by a trigger",
        ),
    ),
)
