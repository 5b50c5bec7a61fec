"""`ostinato watch`, `prep`, `ocr`, `held`, `decide` turn scans into searchable PDFs."""

import getpass
import os
import shlex
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostinato import commands
from ostinato.commands import Cli, command

if TYPE_CHECKING:
    from fastapi import FastAPI

    from ostinato.apps.watchfolder.station.processes import ServiceProcess
    from ostinato.apps.watchfolder.terminal import View
    from ostinato.apps.watchfolder.tick.orchestrator import Orchestrator

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder that holds in/ and out/.")]
Work = Annotated[
    Path | None, typer.Option(metavar="DIR", help="The folder work/ of a watched folder. [default: data/work]")
]
Root = Annotated[Path | None, typer.Option(metavar="DIR", help="Serve every watched folder below this one.")]
Port = Annotated[int, typer.Option(metavar="N", min=0, max=65_535, help="0: any free one.")]
Host = Annotated[str, typer.Option(metavar="ADDRESS", help="To listen on.")]
AtOnce = Annotated[int, typer.Option(metavar="N", min=1, max=100, help="Jobs at once.")]
Reader = Annotated[str, typer.Option(metavar="NAME", help="auto, tesseract or rapid.")]
Beats = Annotated[float, typer.Option(metavar="SECONDS", min=0.05, max=60, help="Between two signs of life of a job.")]
Room = Annotated[int, typer.Option(min=0, metavar="BYTES", help="Take nothing new with less free.")]
UntilEof = Annotated[bool, typer.Option("--until-eof", hidden=True)]
LOOPBACK = "127.0.0.1"
DRAIN_SECONDS = 10.0


def prep(
    cli: Cli,
    *,
    work_dir: Work = None,
    root: Root = None,
    host: Host = LOOPBACK,
    port: Port = 8101,
    concurrency: AtOnce = 2,
    beat_seconds: Beats = 5.0,
    until_eof: UntilEof = False,
) -> None:
    """Run PREP: whatever was scanned (PDF, images, ZIP, RAR, 7z of them) becomes a PDF.

    Each job runs in a process of its own, with limits on memory, time, pages and pixels, without
    network, and with its own folder as the only place to write.

    Example: `ostinato prep --work-dir scans/work`
    """
    from ostinato.apps.watchfolder.prep import service

    made = service.plan(concurrency=concurrency, beat_seconds=beat_seconds)
    # Who started it is gone at the end of its input: nobody would fetch what is drained.
    drain = 0.0 if until_eof else DRAIN_SECONDS
    app = service.application(_work_dir(work_dir, root), made, root=root, drain=drain)
    _serve(cli, app, host, port, until_eof=until_eof)


def ocr(
    cli: Cli,
    *,
    work_dir: Work = None,
    root: Root = None,
    host: Host = LOOPBACK,
    port: Port = 8102,
    concurrency: Annotated[int, typer.Option(metavar="N", min=0, max=100, help="Jobs at once; 0: one a core.")] = 0,
    engine: Reader = "auto",
    lang: Annotated[str, typer.Option(help="Languages that must be there.")] = "fra+eng",
    beat_seconds: Beats = 5.0,
    until_eof: UntilEof = False,
) -> None:
    """Run OCR: a PDF of pictures becomes one that can be searched, PDF/A where it can be.

    Reads with Tesseract where it is installed with the languages, and gives pages that it cannot
    read to RapidOCR; without it, RapidOCR reads everything.

    Example: `ostinato ocr --work-dir scans/work --engine rapid`
    """
    from ostinato.apps.watchfolder.ocr import engines, service

    chosen = engines.choose(engine, lang)
    cli.out.note(f"Reading with {chosen.name} {chosen.version}")
    one = None if root is not None else chosen  # with a root, each folder has its languages
    made = service.plan(one, wanted=engine, concurrency=concurrency or None, beat_seconds=beat_seconds)
    drain = 0.0 if until_eof else DRAIN_SECONDS
    app = service.application(_work_dir(work_dir, root), made, root=root, drain=drain)
    _serve(cli, app, host, port, until_eof=until_eof)


def _work_dir(work_dir: Path | None, root: Path | None) -> Path | None:
    """Return the one folder that a service serves; none when it serves a root."""
    from ostinato.errors import InvalidInput

    if work_dir is not None and root is not None:
        raise InvalidInput("--work-dir and --root exclude each other", hint="Name one folder, or one above all.")
    return work_dir if work_dir is not None or root is not None else Path("data/work")


def watch(
    cli: Cli,
    folder: Folder,
    *,
    prep_url: Annotated[str | None, typer.Option(metavar="URL", help="Else one is started.")] = None,
    ocr_url: Annotated[str | None, typer.Option(metavar="URL", help="Else one is started.")] = None,
    lang: Annotated[str, typer.Option(help="Languages of what is scanned.")] = "fra+eng",
    engine: Reader = "auto",
    stable_seconds: Annotated[float, typer.Option(min=0, help="A file unchanged for this long is finished.")] = 5.0,
    min_free: Room = 1 << 30,
    ocr_concurrency: Annotated[
        int, typer.Option(metavar="N", envvar="OCR_CONCURRENCY", min=0, max=100, help="Read at once; 0: one a core.")
    ] = 0,
    once: Annotated[bool, typer.Option("--once", help="Stop when nothing is left to do.")] = False,
) -> None:
    """Watch a folder: what is put into in/ comes out of out/ as a PDF that can be searched.

    Makes the folders, starts PREP and OCR unless their URLs are given, and shows how far each file
    is. Needs no database. Originals go to archive/, what fails to error/ with a report; a file that
    came before is held until you decide (`ostinato held`, `ostinato decide`). Ctrl-C stops it; what
    was begun goes on at the next start.

    Example: `ostinato watch scans`
    """
    from ostinato import observe
    from ostinato.apps.watchfolder.folders import Folders
    from ostinato.apps.watchfolder.ocr.engines import check_languages
    from ostinato.apps.watchfolder.station.processes import ServiceProcess, running
    from ostinato.apps.watchfolder.terminal import View
    from ostinato.apps.watchfolder.tick.context import Hooks
    from ostinato.apps.watchfolder.tick.options import Options
    from ostinato.apps.watchfolder.tick.orchestrator import Orchestrator

    folders = Folders.below(folder)
    observe.configure(level="error" if cli.out.for_people else "warning")
    folders.make()
    ours = []
    if prep_url is None:
        ours.append(ServiceProcess("prep", folders.work))
    if ocr_url is None:
        check_languages(lang)
        reading = [f"--engine={engine}", f"--lang={lang}", f"--concurrency={ocr_concurrency}"]
        ours.append(ServiceProcess("ocr", folders.work, reading))
    with ExitStack() as stack:
        with cli.out.working("Starting PREP and OCR"):
            stack.enter_context(running(*ours))
        urls = {service.name: service.url for service in ours}
        view = stack.enter_context(View(cli.out, folders))
        options = Options(
            prep_url=prep_url or urls["prep"],
            ocr_url=ocr_url or urls["ocr"],
            ocr_lang=lang,
            stable_s=stable_seconds,
            min_free_bytes=min_free,
            **({"ocr_concurrency": ocr_concurrency} if ocr_concurrency else {}),
            tick_s=min(1.0, max(0.05, stable_seconds / 2)),
        )
        orchestrator = Orchestrator(folders, options, Hooks(on_event=view.hear))
        _loop(orchestrator, view, ours, once=once)
    view.sum_up()


def _loop(orchestrator: "Orchestrator", view: "View", ours: "list[ServiceProcess]", *, once: bool) -> None:
    """Tick until a signal stops it, or, with `once`, until nothing is left to do."""
    stop = threading.Event()

    def ticked(summary: dict[str, Any]) -> None:
        view.trouble(summary)
        busy = orchestrator.in_flight or orchestrator.memory.staged
        view.look(orchestrator.memory, alone=once and not busy)
        view.refresh()
        for service in ours:
            service.restart_if_dead()
        if once and view.is_idle(orchestrator.memory, orchestrator.in_flight):
            stop.set()

    orchestrator.loop(_stopped_by_signals(stop), ticked)


def held(cli: Cli, folder: Folder) -> None:
    """List the duplicates of a folder that wait for a decision.

    Example: `ostinato held scans`
    """
    from dataclasses import asdict

    from ostinato.apps.watchfolder.folders import Folders
    from ostinato.apps.watchfolder.names import one_line
    from ostinato.apps.watchfolder.tick import duplicates
    from ostinato.commands import table

    folders = Folders.below(folder)
    found = duplicates.held(folders)
    jobs = duplicates.known_jobs(folders) if found else {}
    shown = table("job", "files", "is the same as", "state")
    for each in found:
        failed = each.state != duplicates.PENDING["state"]
        state = f"{each.state}: {each.message}" if failed else "decided" if each.decided else each.state
        if each.fault and not failed:
            state = f"DECISION_INVALID: {each.fault}"
        now = jobs.get(each.job_key, {}).get("state") or each.existing_state  # the report says how it was then
        known = f"{one_line(each.existing_name or '?')} ({now or '?'})"
        shown.add_row(each.job_key, "\n".join(each.files), known, state)
    cli.out.show({"held": [asdict(each) for each in found]}, shown)
    if found:
        following = cli.try_("decide", shlex.quote(str(folder)), found[0].job_key[:8], "use")
        cli.out.note(f"→ {following}, or discard (deletes the files), or force")


def decide(
    cli: Cli,
    folder: Folder,
    job: Annotated[str, typer.Argument(metavar="JOBKEY", help="Its beginning is enough.")],
    action: Annotated[
        str, typer.Argument(metavar="ACTION", help="use (the result there is), discard (delete), or force.")
    ],
    *,
    file: Annotated[list[str], typer.Option(metavar="NAME", help="Only this one; may be repeated.")] = [],  # noqa: B006 - Typer copies it
) -> None:
    """Decide about a duplicate: use the result that there is, delete the file, or process it again.

    Without `--file` it is about all files that are held for this job.

    Example: `ostinato decide scans 3f6c use`
    """
    from ostinato.apps.watchfolder.folders import Folders
    from ostinato.apps.watchfolder.model import ACTIONS
    from ostinato.apps.watchfolder.tick import duplicates
    from ostinato.errors import InvalidInput, NotFound

    folders = Folders.below(folder)
    fits = [each for each in duplicates.held(folders) if each.job_key.startswith(job)]
    if len(fits) != 1:
        said = "no duplicate is" if not fits else f"{len(fits)} duplicates are"
        raise NotFound(f"{said} held under {job!r}", hint="`ostinato held` lists them.")
    wanted = [name for name in ACTIONS if name.lower().startswith(action.lower())]
    if len(wanted) != 1:
        raise InvalidInput(f"there is no action {action!r}", hint="Say use, discard or force.")
    duplicates.decide(folders, fits[0].job_key, wanted[0], getpass.getuser(), file or None)
    about = file or fits[0].files
    decided = {"jobKey": fits[0].job_key, "action": wanted[0], "files": about}
    cli.out.show(decided, f"{wanted[0]}, done by the process that watches the folder:", *about)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for function in (watch, held, decide, prep, ocr):
        command(app)(function)


def _serve(cli: Cli, app: "FastAPI", host: str, port: int, *, until_eof: bool) -> None:
    import asyncio

    import uvicorn

    async def work(stop: commands.Stop) -> None:
        await asyncio.to_thread(app.state.station.claim)  # refused clearly, and before any port is open
        sock = commands.listen(host, port, what="the service")
        url = commands.url_of(sock)
        if until_eof:
            _on_eof(stop.asked.set)
        config = uvicorn.Config(
            app,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=3,
        )

        def started() -> None:
            cli.out.event({"event": "ready", "url": url, "pid": os.getpid()})
            if not cli.out.json:
                cli.out.plain(f"ready {url}")

        await commands.serve(config, sock, stop, started)

    commands.run(cli, cli.settings, None, work)


def _on_eof(ended: Callable[[], None]) -> None:
    """Call something when the process that started this one is gone."""
    import asyncio

    loop = asyncio.get_running_loop()

    def read() -> None:
        while sys.stdin.buffer.read(4096):
            pass
        loop.call_soon_threadsafe(ended)

    threading.Thread(target=read, name="until-eof", daemon=True).start()


def _stopped_by_signals(stop: threading.Event) -> threading.Event:
    import signal

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop
