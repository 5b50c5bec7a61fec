"""`python -m bench.failover`: twenty failovers by Patroni under load, and how long nothing was acknowledged.

    python -m bench.failover                  # the death of a machine and a crash of the server, in turn
    python -m bench.failover --times 4

Three nodes with etcd from the files of deploy/patroni, on this machine; it needs what tests/patroni.py needs.
Ends with 1 if an acknowledged job was lost or an effect doubled.
"""

import argparse
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

from bench.stats import percentile
from tests.faults import failovers
from tests.patroni import Fault, trio

KINDS: tuple[Fault, ...] = ("host", "crash")


def main() -> int:
    """Fail over, print the gaps, and say whether the promises were kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    times: int = parser.parse_args().times
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="bench-failover-") as folder, trio() as cluster:
        story = failovers.run(cluster, Path(folder), list(islice(cycle(KINDS), times)))
    sys.stdout.write(f"{story.line()}, in {time.monotonic() - began:.0f} s\n")
    for kind in KINDS:
        gaps = [seconds for fault, seconds in story.gaps if fault == kind]
        if gaps:
            middle, most = percentile(gaps, 50), percentile(gaps, 99)
            sys.stdout.write(f"{kind}: {len(gaps)} times, write gap p50 {middle:.1f} s, p99 {most:.1f} s\n")
    return 1 if story.lost or story.doubled or story.missing else 0


if __name__ == "__main__":
    raise SystemExit(main())
