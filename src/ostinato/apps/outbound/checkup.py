"""Tells `ostinato doctor` of settings that leave a provider half set up."""

from ostinato.apps.outbound.providers import PROVIDERS
from ostinato.apps.outbound.settings import OutboundSettings
from ostinato.observe import Checkup, Trouble

PREFIX = "OSTINATO_OUTBOUND_"


def troubles(settings: OutboundSettings) -> list[Trouble]:
    """Find what is missing beside what is set."""
    used = [each for each in PROVIDERS.values() if each.is_set_up(settings)]
    missing = [one for each in used for one in each.missing(settings)]
    if used and settings.public_url.startswith("http://127.0.0.1"):
        problem = "providers cannot call back: nobody else reaches this address"
        missing.append((problem, "PUBLIC_URL"))
    return [Trouble(problem, f"Set {PREFIX}{name}.") for problem, name in missing]


CHECKUP = Checkup(lambda settings: troubles(settings.section(OutboundSettings)))
