"""Runs the tests of mutants in a copy of the tree: the working tree is never touched."""

import contextlib
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.mutant import ROOT, Listed, Mutant

LONGEST_SECONDS = 600.0
ENDING_SECONDS = 60.0
"""How long tests that are ended have for what they started: PostgreSQL, workers, their files."""
PASSED, FAILED = 0, 1
LEFT_OUT = shutil.ignore_patterns(".*", "build", "dist", "node_modules", "*.egg-info")


@dataclass(frozen=True)
class Outcome:
    """What the tests of a mutant said."""

    listed: Listed
    mutant: Mutant
    verdict: str
    """killed, SURVIVED, TIMEOUT when the tests wait instead of failing, which anything slow would do, too, or ERROR when
    no test could run: one that breaks its own set-up notices nothing."""
    seconds: float
    said: str = ""


class Tree:
    """A copy of the repository in which one file at a time is replaced."""

    def __init__(self, root: Path) -> None:
        self.root = root / "tree"
        self._temporary = root / "tmp"
        self._temporary.mkdir()
        shutil.copytree(ROOT, self.root, ignore=LEFT_OUT, symlinks=True)
        self._changes = 0
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._ended = False

    @contextlib.contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[None]:
        """Put the mutant's text into the copy, and take it out again."""
        path, text = mutant.path(self.root), mutant.text(self.root)
        original, before = path.read_bytes(), path.stat()
        self._changes += 1
        path.write_text(text, "utf-8")
        # Byte code is known by the second of the source's change and its length: no two of ours are alike.
        moment = before.st_mtime_ns + self._changes * 1_000_000_000
        os.utime(path, ns=(moment, moment))
        try:
            yield
        finally:
            path.write_bytes(original)
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    def pytest(self, tests: Sequence[str]) -> tuple[int | None, str]:
        """Run tests in the copy; its exit code (None: it had to be ended), and what it said."""
        environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        environ |= {
            "PYTHONPATH": str(self.root / "src"),
            "PYTEST_DEBUG_TEMPROOT": str(self._temporary),
            "OSTINATO_TEST_CALLS": str(self._temporary / "calls"),
        }
        environ.pop("PYTHONDONTWRITEBYTECODE", None)
        with self._lock:
            if self._ended:
                return None, "ended before it began"
            process = self._process = subprocess.Popen(
                [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests],
                cwd=self.root,
                env=environ,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        try:
            said, _ = process.communicate(timeout=LONGEST_SECONDS)
        except subprocess.TimeoutExpired:
            _end(process)
            return None, f"not over after {LONGEST_SECONDS:g} s"
        return process.returncode, said

    def end(self) -> None:
        """End the tests that run, and let none begin."""
        with self._lock:
            self._ended = True
            process = self._process
        if process is not None and process.poll() is None:
            _end(process)


def _end(process: "subprocess.Popen[str]") -> None:
    """Interrupt pytest, so that it ends what it started and removes its files; else kill it."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
    try:
        process.wait(ENDING_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run(chosen: Sequence[tuple[Listed, Mutant]], *, at_once: int) -> Generator[Outcome]:
    """Run each mutant's tests, once they have passed where nothing is broken: else any fault would count as a kill.

    Every text is looked for before anything runs: a mutant that no longer fits raises `Rotten`.
    """
    for _, mutant in chosen:
        mutant.text()
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(at_once) as pool:
        trees: queue.SimpleQueue[Tree] = queue.SimpleQueue()
        made: list[Tree] = []
        try:
            for number in range(min(at_once, len(chosen))):
                place = Path(folder) / str(number)
                place.mkdir()
                made.append(Tree(place))
                trees.put(made[-1])
            _check(pool, trees, chosen)
            waiting = [pool.submit(_run_one, trees, listed, mutant) for listed, mutant in chosen]
            for each in waiting:
                yield each.result()
        finally:  # also when a signal ends the run: nothing of it goes on, and no copy stays
            pool.shutdown(wait=False, cancel_futures=True)
            for tree in made:
                tree.end()


def _check(pool: ThreadPoolExecutor, trees: "queue.SimpleQueue[Tree]", chosen: Sequence[tuple[Listed, Mutant]]) -> None:
    tests: dict[str, dict[str, None]] = {}
    for listed, mutant in chosen:
        tests.setdefault(listed.app, {}).update(dict.fromkeys(listed.test_ids(mutant)))
    for code, said in pool.map(lambda names: _passed(trees, list(names)), tests.values()):
        if code != PASSED:
            raise RuntimeError(f"the tests do not pass although nothing is broken:\n{said[-4000:]}")


def _passed(trees: "queue.SimpleQueue[Tree]", tests: Sequence[str]) -> tuple[int | None, str]:
    tree = trees.get()
    try:
        return tree.pytest(tests)
    finally:
        trees.put(tree)


def _run_one(trees: "queue.SimpleQueue[Tree]", listed: Listed, mutant: Mutant) -> Outcome:
    tree = trees.get()
    started = time.monotonic()
    try:
        with tree.mutated(mutant):
            code, said = tree.pytest(listed.test_ids(mutant))
    finally:
        trees.put(tree)
    verdict = {PASSED: "SURVIVED", FAILED: "killed", None: "TIMEOUT"}.get(code, "ERROR")
    if code == FAILED and "\nFAILED " not in said:  # a fixture, or what it installs, is broken
        verdict = "ERROR"
    return Outcome(listed, mutant, verdict, time.monotonic() - started, said)
