"""`ostinato sandbox` serves the stand-ins for the outside world from one process."""

import os
from typing import Annotated

import typer

from ostinato._faces.cli.frame.command import Cli
from ostinato._faces.cli.frame.loading import INSTALLED, load_apps

LOOPBACK = "127.0.0.1"


def sandbox(
    cli: Cli,
    *,
    app: Annotated[
        list[str], typer.Option("--app", metavar="MODULE:APP", help="Whose stand-ins; may be repeated.")
    ] = [],  # noqa: B006 - Typer copies it
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65_535, help="0: any free one.")] = 0,
    fd: Annotated[int | None, typer.Option(hidden=True)] = None,
    link: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Stand in for the outside world, on this machine only, with faults that you script.

    `POST /_sandbox/faults` sets a script such as 503,503,200 for some paths, `GET /_sandbox/calls`
    shows what came in, `POST /_sandbox/reset` forgets everything. `ostinato up --demo` starts one.

    Example: `ostinato sandbox --port 8090`
    """
    from ostinato._faces.cli.serve import listening, process
    from ostinato.lab.sandbox.running import config
    from ostinato.lab.sandbox.server import Sandbox, stand_ins

    settings = cli.settings
    line = None if link is None else process.Link(link)

    async def work(stop: process.Stop) -> None:
        made = Sandbox(stand_ins(load_apps(list(app) or [INSTALLED])))
        sock = listening.listen(LOOPBACK, port, what="the sandbox") if fd is None else listening.adopted(fd)
        place = {"url": listening.url_of(sock), "pid": os.getpid()}

        def started() -> None:
            cli.out.event({"event": "ready", **place})
            if line is not None:
                line.say({"ready": place})
            elif not cli.out.json:
                cli.out.plain(f"ready {place['url']}")

        await listening.serve(config(made), sock, stop, started)

    process.run(cli, settings, line, work)
