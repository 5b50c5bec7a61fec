"""Makes the simple commands of a noun from rows of a table: one engine call, one sentence, one document.

    QUEUE = Noun("queue", Name)

    register = commands(
        list_,
        QUEUE.verb(
            "pause",
            engine_queues.pause,
            "Stop claims from a queue; jobs that run go on.",
            example="ostinato queues pause mail",
            said="queue {name} is paused",
            answer={"paused": True},
        ),
    )

A verb that needs more than that is a function among them, with its own parameters.
"""

from collections.abc import Awaitable, Callable, Mapping
from inspect import Parameter, Signature
from types import MappingProxyType
from typing import Any, NamedTuple

import typer
from psycopg import AsyncConnection

from ostinato._core.engine import queues
from ostinato._faces.cli.frame import attach
from ostinato._faces.cli.frame.command import Cli, command

Function = Callable[..., None]
Options = Mapping[str, tuple[Any, object]]
NONE: Options = MappingProxyType({})


class Noun(NamedTuple):
    """What the commands of a group act on."""

    word: str
    """The field of documents with its name."""
    name: Any
    """The annotated argument."""
    takes: Options = NONE
    """Options of each verb, by the name that the engine has for them: annotation and default."""
    called: str | None = None
    """How the argument is called in the reference, if not as the word."""

    def verb(
        self,
        verb: str,
        act: Callable[..., Awaitable[Any]],
        about: str,
        *,
        example: str,
        said: str | Callable[[Any], str],
        answer: Mapping[str, object],
        result: str | None = None,
        rings: str | None = None,
        takes: Options = NONE,
        doubt: Callable[..., Awaitable[str | None]] | None = None,
    ) -> Function:
        """Return a command that does `act(conn, name, …)`, and then shows its sentence and document.

        `said` is the sentence, or makes it of what `act` returned; `result` names the field of the
        document for that. `rings` is the queue whose idle workers look at once. `doubt(conn, name)`
        is asked first: a sentence that it returns is a warning, because the name may be misspelt.
        """
        argument = self.called or self.word

        async def acted(conn: AsyncConnection[Any], name: str, values: dict[str, Any]) -> tuple[object, str | None]:
            warning = None if doubt is None else await doubt(conn, name)
            returned = await act(conn, name, **values)
            if rings is not None:
                await queues.ring(conn, rings.replace("{name}", name))
            return returned, warning

        def run(cli: Cli, **values: Any) -> None:  # noqa: ANN401 - as Typer read them
            name = values.pop(argument)
            returned, warning = attach.ask(cli, acted, name, values)
            sentence = said if isinstance(said, str) else said(returned)
            document = {self.word: name, **answer, **({result: returned} if result else {})}
            document |= {"warning": warning} if warning else {}
            cli.out.show(document, sentence.replace("{name}", name))
            if warning:
                cli.out.warn(warning)

        own = {"cli": (Cli, Parameter.empty), argument: (self.name, Parameter.empty)}
        run.__signature__ = Signature(  # type: ignore[attr-defined]  # what Typer reads
            [
                Parameter(name, Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
                for name, (annotation, default) in {**own, **takes, **self.takes}.items()
            ]
        )
        run.__name__, run.__doc__ = verb, f"{about}\n\nExample: `{example}`\n"
        return run


def commands(*functions: Function | tuple[str, Function]) -> Callable[[typer.Typer], None]:
    """Return what adds commands to a group: each called as its function, or as the word before it."""

    def register(app: typer.Typer) -> None:
        for each in functions:
            name, function = each if isinstance(each, tuple) else (each.__name__, each)
            command(app, name.rstrip("_"))(function)  # `list_` becomes `list`

    return register
