"""The pure functions of the specification, under their names: profile, key, heartbeat, metrics."""

import hashlib
import json
import os
import time
from collections.abc import Mapping
from typing import Any

from ostinato.apps.watchfolder.utils import atomic_write_json, now_iso

__all__ = [
    "canonical_profile",
    "is_heartbeat_stale",
    "make_empty_metrics",
    "make_job_key",
    "stable_json",
    "update_metrics",
    "write_metrics",
]

PROFILE_DIGITS = 16  # a jobKey of 82 characters still fits into the paths of Windows


def canonical_profile(prep_info: Mapping[str, Any], ocr_info: Mapping[str, Any], ocr_lang: str) -> dict[str, Any]:
    """Return what a result depends on beside the file: the tools, their options and the languages.

    The order of the languages does not matter: `fra+eng` is `eng+fra`. Nothing volatile of an
    `/info` (uptime, host, limits) gets in.
    """
    tokens = sorted({token.strip() for token in ocr_lang.split("+")} - {""})
    if not tokens:
        raise ValueError(f"no language in {ocr_lang!r}: name at least one, such as fra+eng")
    ocr: dict[str, Any] = {
        "lang": "+".join(tokens),
        "tools": dict(ocr_info.get("tools") or {}),
        "params": dict(ocr_info.get("params") or {}),
    }
    for name in ("engine", "models"):
        if ocr_info.get(name):
            ocr[name] = ocr_info[name]
    return {
        "prep": {"tools": dict(prep_info.get("tools") or {}), "params": dict(prep_info.get("params") or {})},
        "ocr": ocr,
    }


def stable_json(obj: object) -> str:
    """Return JSON that does not depend on the order of keys."""
    return json.dumps(obj, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def make_job_key(file_hash: str, profile: Mapping[str, Any]) -> tuple[str, str]:
    """Return `(profile_hash, job_key)`: the same bytes with the same profile are the same job."""
    text = stable_json(profile).encode("utf-8", "surrogatepass")
    profile_hash = hashlib.sha256(text).hexdigest()[:PROFILE_DIGITS]
    return profile_hash, f"{file_hash}__{profile_hash}"


def is_heartbeat_stale(
    hb_path: str | os.PathLike[str], timeout_s: float, absent_timeout_s: float | None = None
) -> bool:
    """Return whether a heartbeat is too old; one that was never written is stale when no grace is left.

    `absent_timeout_s` is twice `timeout_s` unless given; the caller counts it down to 0.
    """
    grace = 2 * timeout_s if absent_timeout_s is None else absent_timeout_s
    try:
        beaten = os.path.getmtime(hb_path)  # noqa: PTH204 - as the specification says it
    except OSError:
        return grace <= 0
    return time.time() - beaten > timeout_s


def make_empty_metrics() -> dict[str, Any]:
    """Return counters `done` and `error`, gauges `running` and `queued`, and when they were written."""
    return {"done": 0, "error": 0, "running": 0, "queued": 0, "updatedAt": ""}


def update_metrics(metrics: dict[str, Any], event: str) -> dict[str, Any]:
    """Count an event, in place; one that is no counter is ignored."""
    if type(metrics.get(event)) is int:
        metrics[event] += 1
    return metrics


def write_metrics(metrics: dict[str, Any], index_dir: str | os.PathLike[str]) -> str:
    """Write `metrics.json` at once as a whole, and return its path."""
    os.makedirs(index_dir, exist_ok=True)  # noqa: PTH103 - a text or a path
    metrics["updatedAt"] = now_iso()
    path = os.path.join(index_dir, "metrics.json")  # noqa: PTH118 - the path is a text
    atomic_write_json(path, metrics, durable=False)
    return path
