"""Holds the parts of an API process; routes find them in the application's state."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from fastapi import Request

from ostinato._core.base.cellmap import CellMap
from ostinato._core.base.metrics import Recorder
from ostinato._core.base.settings import Settings
from ostinato._core.runtime.client import Client
from ostinato._core.runtime.database import Database
from ostinato._core.runtime.handlers.app import App
from ostinato._faces.api.following import Followers
from ostinato._faces.api.trials import Trials

CONNECTIONS = 20


@dataclass
class Parts:
    """The parts of an API process."""

    database: Database
    settings: Settings
    apps: Sequence[App] = ()
    recorder: Recorder = field(default_factory=Recorder)
    watches: bool = False
    """True lets this process evaluate alerts, as workers do."""
    cells: CellMap | None = None
    """The cells that there are, if there are several."""
    cell: str = ""
    """This process is of the cell with this name."""
    client: Client = field(init=False)
    followers: Followers = field(init=False)
    trials: Trials = field(init=False)

    def __post_init__(self) -> None:
        self.trials = Trials(self.settings)
        self.client = Client(self.database.for_api(), self.settings, max_size=CONNECTIONS, role="api", shows=True)
        self.followers = Followers(self.client)


def parts_of(request: Request) -> Parts:
    """Return the parts of the process that serves this request."""
    return cast("Parts", request.app.state.parts)
