"""How much of the machine does other work take? Ratios from a disturbed run mean little."""

import time
from pathlib import Path

STAT = Path("/proc/stat")
LOOK_SECONDS = 0.5
DISTURBED = 0.15
QUIET_LOOKS = 4


def others_share() -> float:
    """The share of all cores in use while nothing of the benchmark runs; 0 where not known."""
    if not STAT.exists():
        return 0.0
    before = _ticks()
    time.sleep(LOOK_SECONDS)
    after = _ticks()
    total, idle = (now - then for now, then in zip(after, before, strict=True))
    return 1 - idle / total if total else 0.0


def wait_for_quiet(seconds: float) -> float:
    """Wait until other work has rested for a few looks; the share that it takes at the end."""
    deadline = time.monotonic() + seconds
    quiet, share = 0, 1.0
    while quiet < QUIET_LOOKS and time.monotonic() < deadline:
        share = others_share()
        quiet = quiet + 1 if share <= DISTURBED else 0
    return share


def _ticks() -> tuple[int, int]:
    """All ticks so far, and those in which a core had nothing to do."""
    ticks = [int(word) for word in STAT.read_text().split("\n", 1)[0].split()[1:9]]
    return sum(ticks), ticks[3] + ticks[4]


def warning(shares: list[float]) -> str:
    """A sentence when other work was in the way, empty when the machine was quiet."""
    disturbed = [share for share in shares if share > DISTURBED]
    if not disturbed:
        return ""
    return (
        f"Other work took up to {max(disturbed):.0%} of the machine in {len(disturbed)} of"
        f" {len(shares)} measurements: run again when it is quiet before trusting a ratio."
    )
