"""The applications that are installed: each names itself as an entry point of `ostinato.apps`.

    [project.entry-points."ostinato.apps"]
    billing = "acme.billing:APP"

Ours come the same way (`pyproject.toml`). An application that is not installed is run with `--app`.
"""

from functools import cache
from importlib.metadata import entry_points

from ostinato._core.base.errors import NotConfigured
from ostinato._core.runtime.handlers.app import App

__all__ = ["GROUP", "installed_apps"]

GROUP = "ostinato.apps"


@cache
def installed_apps() -> tuple[App, ...]:
    """The installed applications by name; importing them takes a moment."""
    found = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    return tuple(_loaded(point.name, point.load()) for point in found)


def _loaded(name: str, found: object) -> App:
    if not isinstance(found, App) or found.name != name:
        raise NotConfigured(
            f"the entry point {name!r} of {GROUP} is not an App of that name, but {found!r}",
            hint=f'Write it as {name} = "package.module:APP" with APP = App("{name}").',
        )
    return found
