"""At most 120 columns a line of SQL, so that two files stand side by side on one screen."""

from pathlib import Path

from tests.house.source import PACKAGE, ROOT, findings, shown, text_of

COLUMNS = 120
# Released before this rule, or before it held for files of tables. The list gets no longer.
WIDE = {
    "src/ostinato/_core/engine/sql/tables/0001_engine.sql",
    "src/ostinato/_core/engine/sql/tables/0002_access.sql",
    "src/ostinato/_core/engine/sql/tables/0004_outbox.sql",
    "src/ostinato/_core/engine/sql/tables/0005_idempotency.sql",
    "src/ostinato/_core/engine/sql/tables/0006_leases.sql",
    "src/ostinato/_core/engine/sql/tables/0007_machines.sql",
    "src/ostinato/_core/engine/sql/tables/0008_schedules.sql",
    "src/ostinato/_core/engine/sql/tables/0009_webhooks.sql",
    "src/ostinato/_core/engine/sql/tables/0011_waits.sql",
    "src/ostinato/_core/engine/sql/tables/0012_trail.sql",
    "src/ostinato/_core/engine/sql/tables/0013_keys.sql",
    "src/ostinato/_core/engine/sql/tables/0014_alerts.sql",
    "src/ostinato/_core/engine/sql/tables/0016_key_turns.sql",
    "src/ostinato/_core/engine/sql/tables/0017_unique_states.sql",
    "src/ostinato/_core/engine/sql/tables/0027_closed_doors.sql",
    "src/ostinato/_core/engine/sql/tables/0028_keys.sql",
    "src/ostinato/_core/engine/sql/tables/0029_audit.sql",
    "src/ostinato/_core/engine/sql/tables/0034_sessions.sql",
    "src/ostinato/_core/engine/sql/tables/0035_series.sql",
    "src/ostinato/_core/engine/sql/tables/0036_own_rows.sql",
    "src/ostinato/_core/engine/sql/tables/0040_deaths.sql",
    "src/ostinato/_core/engine/sql/tables/0042_alerts.sql",
    "src/ostinato/_core/engine/sql/tables/0082_archive.sql",
    "src/ostinato/_core/engine/sql/tables/0095_worker_release.sql",
    "src/ostinato/apps/capture/sql/tables/0001_captures.sql",
    "src/ostinato/apps/capture/sql/tables/0003_conflicts.sql",
    "src/ostinato/apps/enrichment/sql/tables/0001_enrichment.sql",
    "src/ostinato/apps/enrichment/sql/tables/0002_runs.sql",
    "src/ostinato/apps/outbound/sql/tables/0001_outbound.sql",
    "src/ostinato/apps/outbound/sql/tables/0002_answers_and_suppressions.sql",
    "src/ostinato/apps/outbound/sql/tables/0003_erasure.sql",
    "src/ostinato/apps/outbound/sql/tables/0005_refusals_and_outages.sql",
    "src/ostinato/apps/outbound/sql/tables/0006_senders.sql",
    "src/ostinato/apps/outbound/sql/tables/0007_choices.sql",
    "src/ostinato/apps/outbound/sql/tables/0009_in_doubt.sql",
    "src/ostinato/apps/rounds/sql/tables/0001_rounds.sql",
    "src/ostinato/apps/rounds/sql/tables/0002_watching.sql",
    "src/ostinato/apps/rounds/sql/tables/0003_closed.sql",
    "src/ostinato/apps/watchfolder/sql/tables/0001_watchfolder.sql",
    "src/ostinato/apps/watchfolder/sql/tables/0004_readings.sql",
}


def sql_files() -> list[Path]:
    """The SQL that may still change: a file of tables that is in `WIDE` is released, and never edited."""
    return sorted(path for path in PACKAGE.rglob("*.sql") if shown(path) not in WIDE)


def long_lines(path: Path) -> list[int]:
    return [number for number, line in enumerate(text_of(path).splitlines(), 1) if len(line) > COLUMNS]


def test_a_line_of_sql_fits_on_half_a_screen() -> None:
    assert findings(sql_files(), long_lines) == {}, "wrap these lines"


def test_every_file_that_may_be_wide_is_there_and_is_wide() -> None:
    assert sorted(path for path in WIDE if not long_lines(ROOT / path)) == []
