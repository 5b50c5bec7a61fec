"""The minimal cases of the specification for `core`, and the edges beside them."""

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from ostinato.apps.watchfolder.core import (
    canonical_profile,
    is_heartbeat_stale,
    make_empty_metrics,
    make_job_key,
    stable_json,
    update_metrics,
    write_metrics,
)

PREP: dict[str, Any] = {"tools": {"pikepdf": "10.0"}, "params": {"dpi": 300}, "uptime": 12}
OCR: dict[str, Any] = {"tools": {"tesseract": "5.3"}, "engine": "tesseract", "host": "a"}


def key_of(lang: str) -> str:
    return make_job_key("ab" * 32, canonical_profile(PREP, OCR, lang))[1]


def test_the_same_input_has_the_same_hash() -> None:
    assert key_of("fra+eng") == key_of("fra+eng")


def test_the_order_of_languages_does_not_matter() -> None:
    assert canonical_profile(PREP, OCR, "fra+eng") == canonical_profile(PREP, OCR, "eng+fra")
    assert key_of(" fra + eng+fra+") == key_of("eng+fra")
    assert canonical_profile(PREP, OCR, "fra+eng")["ocr"]["lang"] == "eng+fra"


def test_the_profile_has_the_versions_of_the_tools_and_nothing_volatile() -> None:
    profile = canonical_profile(PREP, OCR, "fra")

    assert profile["prep"]["tools"] == {"pikepdf": "10.0"}
    assert profile["ocr"]["tools"] == {"tesseract": "5.3"}
    assert "uptime" not in stable_json(profile)
    assert "host" not in stable_json(profile)


def test_other_options_another_engine_or_model_are_another_job() -> None:
    others: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({**PREP, "params": {"dpi": 200}}, OCR),
        (PREP, {**OCR, "params": {"optimize": 1}}),
        (PREP, {**OCR, "engine": "rapid"}),
        (PREP, {**OCR, "models": {"rec": "sha256:1"}}),
    ]

    keys = {make_job_key("ab" * 32, canonical_profile(*each, "fra"))[1] for each in [(PREP, OCR), *others]}

    assert len(keys) == 1 + len(others)


def test_information_without_tools_is_no_failure() -> None:
    assert canonical_profile({}, {}, "fra")["prep"]["tools"] == {}


def test_no_language_is_refused() -> None:
    with pytest.raises(ValueError, match="no language"):
        canonical_profile(PREP, OCR, " + ")


def test_the_order_of_keys_does_not_change_stable_json() -> None:
    assert stable_json({"b": 1, "a": {"d": 2, "c": "é"}}) == '{"a":{"c":"é","d":2},"b":1}'
    assert stable_json({"a": 1, "b": 2}) == stable_json({"b": 2, "a": 1})


def test_stable_json_refuses_what_is_not_json() -> None:
    with pytest.raises(ValueError, match=r"JSON|nan"):
        stable_json(float("nan"))


def test_the_job_key_changes_with_the_file() -> None:
    profile = canonical_profile(PREP, OCR, "fra")

    assert make_job_key("aa" * 32, profile)[1] != make_job_key("bb" * 32, profile)[1]


def test_the_job_key_changes_with_the_profile() -> None:
    profile = canonical_profile(PREP, OCR, "fra")

    assert make_job_key("aa" * 32, profile) != make_job_key("aa" * 32, {**profile, "force": "1"})


def test_the_job_key_is_hash_and_profile_hash() -> None:
    profile_hash, job_key = make_job_key("aa" * 32, canonical_profile(PREP, OCR, "fra"))

    assert job_key == f"{'aa' * 32}__{profile_hash}"
    assert re.fullmatch(r"[0-9a-f]{64}__[0-9a-f]{16}", job_key)


def test_a_recent_heartbeat_is_not_stale(tmp_path: Path) -> None:
    path = tmp_path / "prep.heartbeat"
    path.touch()

    assert not is_heartbeat_stale(path, 60)


def test_an_old_heartbeat_is_stale(tmp_path: Path) -> None:
    path = tmp_path / "prep.heartbeat"
    path.touch()
    os.utime(path, (time.time() - 100, time.time() - 100))

    assert is_heartbeat_stale(str(path), 60)


def test_a_heartbeat_of_the_future_is_not_stale_by_its_time(tmp_path: Path) -> None:
    path = tmp_path / "prep.heartbeat"
    path.touch()
    os.utime(path, (time.time() + 1000, time.time() + 1000))

    assert not is_heartbeat_stale(path, 60)


@pytest.mark.parametrize(
    ("timeout", "absent", "stale"), [(60, 0, True), (60, 1, False), (60, None, False), (0, None, True), (60, -5, True)]
)
def test_an_absent_heartbeat_is_stale_when_no_grace_is_left(
    tmp_path: Path, timeout: float, absent: float | None, stale: object
) -> None:
    assert is_heartbeat_stale(tmp_path / "none", timeout, absent) is stale


def test_empty_metrics_are_as_specified() -> None:
    assert make_empty_metrics() == {"done": 0, "error": 0, "running": 0, "queued": 0, "updatedAt": ""}


def test_update_metrics_counts_the_right_key() -> None:
    metrics = make_empty_metrics()

    assert update_metrics(metrics, "done") is metrics
    assert (metrics["done"], metrics["error"]) == (1, 0)


@pytest.mark.parametrize("event", ["nothing", "updatedAt"])
def test_an_unknown_event_is_ignored(event: str) -> None:
    assert update_metrics(make_empty_metrics(), event) == make_empty_metrics()


def test_write_metrics_makes_the_folder_and_the_file(tmp_path: Path) -> None:
    path = write_metrics(make_empty_metrics(), str(tmp_path / "deep" / "index"))

    written = json.loads(Path(path).read_text())
    assert Path(path).name == "metrics.json"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", written["updatedAt"])
