"""Breaks the rules one by one, and says which of their tests noticed."""

import argparse
import contextlib
import os
import random
import signal
import sys

from tests.mutants.mutant import Listed, Mutant, Rotten, listed
from tests.mutants.runner import Outcome, run

RULE_WIDTH, BREAKS_WIDTH = 22, 60
LAST_LINES = 25


def main() -> int:
    """Run what was asked for; 1 when a mutant survives or can no longer be made."""
    lists = listed()
    asked = _arguments(sorted(lists))
    chosen = [(each, mutant) for name, each in lists.items() if name in asked.app for mutant in each.mutants]
    chosen = [(each, mutant) for each, mutant in chosen if mutant.rule.startswith(asked.rule)]
    chosen = [pair for pair in chosen if not (asked.fast and pair[1].slow)]
    chosen = sample(part(chosen, *asked.part), asked.sample, asked.seed)
    if not chosen:
        print("no mutant fits")
        return 1
    signal.signal(signal.SIGTERM, _interrupted)
    signal.signal(signal.SIGHUP, _interrupted)
    signal.signal(signal.SIGINT, _interrupted)
    bad = 0
    try:
        with contextlib.closing(run(chosen, at_once=asked.jobs)) as outcomes:
            bad = sum(_told(outcome) for outcome in outcomes)
    except (Rotten, RuntimeError) as error:
        print(f"ERROR: {error}", file=sys.stderr)
        return 1
    print(f"{len(chosen) - bad} of {len(chosen)} killed")
    return 1 if bad else 0


def _interrupted(number: int, _frame: object) -> None:
    """End the run as if it were over: what runs is ended, and the copies of the tree are removed."""
    for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(each, signal.SIG_IGN)
    raise SystemExit(128 + number)


def _told(outcome: Outcome) -> bool:
    """Print a line, and for one that was not killed what to look at; return whether it is such a one."""
    mutant = outcome.mutant
    print(
        f"{outcome.verdict:<8} {outcome.listed.app:<12} {mutant.rule[:RULE_WIDTH]:<{RULE_WIDTH}} "
        f"{mutant.breaks[:BREAKS_WIDTH]:<{BREAKS_WIDTH}} {outcome.seconds:5.1f} s",
        flush=True,
    )
    if outcome.verdict == "killed":
        return False
    print(f"         {mutant.file}: {mutant.old!r} → {mutant.new!r}\n         {' '.join(mutant.tests)}")
    if outcome.verdict == "ERROR":
        print("\n".join(outcome.said.splitlines()[-LAST_LINES:]))
    return True


def part(pairs: list[tuple[Listed, Mutant]], number: int, parts: int) -> list[tuple[Listed, Mutant]]:
    """Take every so many-th of them, beginning with one: some of each application, and in all parts together each once."""
    return pairs[number % parts :: parts]


def sample(pairs: list[tuple[Listed, Mutant]], count: int | None, seed: int) -> list[tuple[Listed, Mutant]]:
    """Take so many of them, always the same for a seed; all of them without a number."""
    if count is None or count >= len(pairs):
        return pairs
    return random.Random(seed).sample(pairs, count)


def _arguments(apps: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("--app", action="append", choices=apps, help="only this application; may be repeated")
    parser.add_argument("--rule", default="", help="only rules that begin so")
    parser.add_argument("--part", type=_part, default=(0, 1), metavar="I/N", help="only the I-th of N equal parts")
    parser.add_argument("--sample", type=int, metavar="N", help="only so many of them")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="which ones a sample takes")
    parser.add_argument("--fast", action="store_true", help="only those whose tests take seconds")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="so many at once")
    found = parser.parse_args()
    found.app = found.app or apps
    return found


def _part(text: str) -> tuple[int, int]:
    number, parts = (int(word) for word in text.split("/"))
    return number, parts


if __name__ == "__main__":
    sys.exit(main())
