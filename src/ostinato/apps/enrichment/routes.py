"""Joins the routes of enrichment: those of the specification, lists, batches."""

from ostinato.apps.enrichment import batch_http, http, lists
from ostinato.web import Router

router = Router()
for _part in (http, lists, batch_http):
    router.routes.extend(_part.router.routes)
