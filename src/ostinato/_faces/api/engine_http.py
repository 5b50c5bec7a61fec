"""Collects the engine's routes, under `/api/v1/engine`, for the operators of one tenant.

The modules that it collects have the whole paths themselves, so that a log line, a metric and an
idempotency key name a route as the document does.
"""

from ostinato._core.web.routes import Router
from ostinato._faces.api import (
    alerts_http,
    audit_http,
    bulk_http,
    children_http,
    dead_letters_http,
    erasures_http,
    events_http,
    idempotency_http,
    installation_http,
    job_actions_http,
    jobs_http,
    panels_http,
    portals_http,
    queues_http,
    records_http,
    schedule_actions_http,
    schedules_http,
    sends_http,
    series_http,
    silences_http,
    workers_http,
)

router = Router()
for module in (
    *(
        jobs_http,
        job_actions_http,
        children_http,
        bulk_http,
        events_http,
        queues_http,
        workers_http,
        schedule_actions_http,
    ),
    *(schedules_http, series_http, installation_http, portals_http, records_http, sends_http, idempotency_http),
    *(dead_letters_http, silences_http, alerts_http, audit_http, erasures_http, panels_http),
):
    # One flat list, for tests that go through the routes; the order is the order of matching.
    router.routes.extend(module.router.routes)
