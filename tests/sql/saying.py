"""Every answer of `why` that a test meets is said as the console says it, in both languages.

So the values that the engine gives with a code are those that its sentence needs, in every case.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast
from zoneinfo import ZoneInfo

from ostinato._core.engine.inspect import JobDetails, Reason
from ostinato._faces.console.reasons import explain
from ostinato._faces.console.text import Clock, language

JOB = cast("JobDetails", SimpleNamespace(id=7, tenant_id="acme", queue="mail", priority=100))


def check_said(job_id: int, rows: Iterable[dict[str, Any]]) -> None:
    """Refuse an answer that a page could not say, or would say in English to French readers."""
    reasons = [Reason(**row) for row in rows]
    said = {}
    for code in ("en", "fr"):
        words = language(code)
        said[code] = explain(
            words, Clock(words, ZoneInfo("Europe/Paris"), datetime(2026, 3, 2, tzinfo=UTC)), JOB, reasons
        )
    for reason, english, french in zip(reasons, said["en"], said["fr"], strict=True):
        assert english.message != french.message, (job_id, reason.code)
        assert french.message != reason.message, (job_id, reason.code)
        assert not english.hint or english.hint != french.hint, (job_id, reason.code)
        assert "%(" not in french.message + french.hint, (job_id, reason.code)
