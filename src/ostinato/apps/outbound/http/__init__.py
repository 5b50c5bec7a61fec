"""Serves outbound over HTTP: routes, with the bodies that they take and give."""

from ostinato.apps.outbound.coop import http as coop
from ostinato.apps.outbound.http import batch, consents, hooks, messages, records, senders, setup
from ostinato.web import Router

router = Router()
for _part in (messages, batch, records, consents, senders, setup, coop, hooks):
    router.routes.extend(_part.router.routes)
