"""Carries messages: one file for each provider, with all that is particular to it.

A file has what is sent and how an answer is read, the table of its errors, where it calls back and
how that is signed, how callbacks are read, and what plays it in the sandbox. A new provider is a
file that defines a `Provider` (see `protocol`), and a row in `PROVIDERS`. The database lists the
names of providers too (`outbound.sender`), and settings are in `settings.py`.
"""

import re
from types import MappingProxyType
from typing import Final

from ostinato.apps.outbound import policy
from ostinato.apps.outbound.model import Channel
from ostinato.apps.outbound.policy import Ruling
from ostinato.apps.outbound.providers.protocol import Provider
from ostinato.apps.outbound.providers.smtp import SMTP
from ostinato.apps.outbound.providers.twilio import TWILIO
from ostinato.apps.outbound.providers.whatsapp import WHATSAPP

_LISTED: Final[tuple[Provider, ...]] = (WHATSAPP, TWILIO, SMTP)
PROVIDERS: Final = MappingProxyType({each.name: each for each in _LISTED})
_HTTP: Final = re.compile(r"HTTP_([45])\d\d")


def provider_of(channel: Channel) -> Provider:
    """Return who carries messages of a channel: the first in the list that does."""
    return next(each for each in PROVIDERS.values() if each.channel is channel)


def ruling_of(provider: str, code: str) -> Ruling:
    """Rule on an error code by the provider's table and ours; on an unlisted one by its class."""
    who = PROVIDERS[provider]
    found = who.errors.get(code) or policy.OURS.get(code)
    if found is None and (status := _HTTP.fullmatch(code)):
        found = policy.never("invalid_request") if status[1] == "4" else policy.away("upstream")
    return found or who.ruling(code) or policy.UNKNOWN
