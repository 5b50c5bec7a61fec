"""`ostinato worker --reload`: for development, a worker that starts anew when a file is saved.

    running   a save is compiled first: one that cannot be read is shown, and the worker that runs stays
    draining  the worker ends what it runs, as after SIGTERM; then the next one starts with the new code
    waiting   a worker that cannot start (an import fails) has said why; the next save is tried

Files are looked at by their times: no library, and it works on every file system.
"""

import asyncio
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ostinato._core.base.settings import Settings
from ostinato._faces.cli.frame import attach
from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.output import Output
from ostinato._faces.cli.serve.process import stop_signals
from ostinato._faces.cli.serve.supervisor import OnReady, Part, Supervisor
from ostinato._faces.cli.serve.up import environ

LOOK_SECONDS = 0.3
SUFFIXES = (".py", ".sql", ".toml")
SKIPPED = frozenset({"node_modules", "__pycache__", "venv", "build", "dist"})

Seen = dict[str, tuple[int, int]]
"""The time and the size of each file."""


async def run(
    cli: Cli, settings: Settings, argv: Callable[[int], Sequence[str]], processes: int, on_ready: OnReady
) -> int:
    """Run workers until a signal, and start them anew at each save; returns the exit code."""
    folder, env = Path.cwd(), environ(settings)
    async with attach.serving(cli, settings, migrated=False, watched=True):
        seen = look(folder)
        while True:
            drain = settings.drain_seconds
            workers = Supervisor(
                [Part("worker", argv, processes)], cli.out, env=env, drain_seconds=drain, on_ready=on_ready
            )
            running = asyncio.create_task(workers.run())
            saved = asyncio.create_task(_saved(folder, seen, cli.out))
            await asyncio.wait({running, saved}, return_when=asyncio.FIRST_COMPLETED)
            if not saved.done():
                saved.cancel()
                if workers.was_signalled or not (code := await running):
                    return await running
                cli.out.note(f"the worker ended with exit code {code}; waiting for the next save")
                if not await _saved_before_signal(folder, seen, cli.out):
                    return 0
                continue
            workers.stop()
            code = await running
            if workers.was_signalled:
                return code


def look(folder: Path) -> Seen:
    """Return the files that a worker may have been made of, as they are now."""
    return dict(_files(folder))


def changes(before: Seen, after: Seen) -> list[str]:
    """Return the files that were saved, made or removed."""
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def mistake(paths: Sequence[str]) -> str | None:
    """Return what keeps the first of these files that cannot be compiled from being compiled."""
    for path in paths:
        if path.endswith(".py") and Path(path).exists():
            try:
                compile(Path(path).read_bytes(), path, "exec")
            except (SyntaxError, ValueError) as error:
                return f"{path}, line {getattr(error, 'lineno', None) or 1}: {getattr(error, 'msg', None) or error}"
    return None


def _files(folder: Path) -> Iterator[tuple[str, tuple[int, int]]]:
    for here, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in SKIPPED and not name.startswith(".")]
        for name in names:
            if name.endswith(SUFFIXES):
                path = str(Path(here, name))
                try:
                    found = Path(path).stat()
                except OSError:
                    continue  # removed meanwhile
                yield path, (found.st_mtime_ns, found.st_size)


async def _saved(folder: Path, seen: Seen, out: Output) -> None:
    """Wait for a save that can be compiled; `seen` is then as the files are."""
    while True:
        await asyncio.sleep(LOOK_SECONDS)
        now = await asyncio.to_thread(look, folder)
        changed = changes(seen, now)
        if not changed:
            continue
        seen.clear()
        seen.update(now)
        wrong = mistake(changed)
        if wrong is None:
            out.note(f"{Path(changed[0]).relative_to(folder)} changed: starting the worker anew")
            return
        out.warn(f"{wrong}; waiting for the next save")


async def _saved_before_signal(folder: Path, seen: Seen, out: Output) -> bool:
    """Wait for a save while no worker runs; False: a signal came first."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in stop_signals():
        loop.add_signal_handler(number, stop.set)
    saved, stopped = asyncio.create_task(_saved(folder, seen, out)), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({saved, stopped}, return_when=asyncio.FIRST_COMPLETED)
        return saved.done()
    finally:
        saved.cancel()
        stopped.cancel()
        for number in stop_signals():
            loop.remove_signal_handler(signal.Signals(number))
