"""Which kinds a tenant may start: a decision about each, written down here."""

from ostinato._core.runtime.installed import installed_apps
from ostinato.lab.tour import app as tour

# Kinds of the applications that are open to tenants, each with why that harms nobody: none yet.
# Their routes start what a tenant may have, by functions that check whose it is (docs/tenants.md).
OPEN: dict[str, str] = {}


def test_the_kinds_of_the_applications_are_closed_but_for_those_listed() -> None:
    kinds = {name: kind for app in installed_apps() for name, kind in app.kinds.items()}

    assert len(kinds) > 15
    assert {name for name, kind in kinds.items() if kind.open} == set(OPEN)


def test_the_tour_is_open_to_play_with() -> None:
    assert all(kind.open for kind in tour.kinds.values())
