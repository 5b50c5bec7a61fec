"""What is done to one job beside cancel and run now; and a form that adds a job of an open kind."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Response

from ostinato._core.base.errors import InvalidInput
from ostinato._core.engine import jobs, steps
from ostinato._core.runtime.handlers.kinds import JobKind
from ostinato._faces.api.job_views import EnqueueRequest
from ostinato._faces.api.jobs_http import closed_is_forbidden, described_job
from ostinato._faces.api.permissions import CONSOLE_READ, ENGINE_WRITE
from ostinato._faces.api.views import JobId
from ostinato._faces.console.pages.filters import moment
from ostinato._faces.console.routes import Pages
from ostinato._faces.console.view import Looking, View

pages = Pages()

PREFIX = "arg."
SIMPLE = ("string", "integer", "number", "boolean")
TEXTS = ("string", "secret")


@dataclass(frozen=True, slots=True)
class Field:
    """An argument of a kind, as a form asks for it."""

    name: str
    type: str
    """string, secret, integer, number, boolean, or json for whatever else."""
    required: bool
    hint: str
    """Its default, or what its schema says."""
    choices: tuple[str, ...] = ()


@pages.action("/jobs/{job_id:digits}/restart", needs=ENGINE_WRITE)
async def restart(view: Looking, job_id: JobId) -> Response:
    """Run a job again from one of its steps, or from the start."""
    async with view.acting() as conn:
        await steps.restart(conn, job_id, view.form.get("step") or None)
        jobs.wake_after_commit(jobs.ANY_QUEUE)
    return view.see(f"/jobs/{job_id}", view.words.gettext("The job runs as soon as a worker is free."))


@pages.action("/jobs/{job_id:digits}/move", needs=ENGINE_WRITE)
async def move(view: Looking, job_id: JobId) -> Response:
    """Move a waiting job to another time."""
    at = moment(view, view.form.get("at", ""))
    async with view.acting() as conn:
        await jobs.move(conn, job_id, at)
    said = view.words.gettext("The job runs at %(time)s.") % {"time": view.clock.time(at)}
    return view.see(f"/jobs/{job_id}", said)


@pages.action("/jobs/{job_id:digits}/signal", needs=ENGINE_WRITE)
async def signal(view: Looking, job_id: JobId) -> Response:
    """End the wait of a job, as if its event had come."""
    payload = view.form.get("payload", "").strip() or "null"
    json_of(payload)
    async with view.acting() as conn:
        await steps.signal_own(conn, job_id, payload)
    return view.see(f"/jobs/{job_id}", view.words.gettext("The job goes on."))


@pages.page("/enqueue", needs=CONSOLE_READ)
async def choose_kind(view: Looking) -> Response:
    """Show the kinds of jobs that people may add."""
    ENGINE_WRITE.check(view.roles)
    return view.page("enqueue.html", kinds=open_kinds(view), kind=None, fields=())


@pages.page("/enqueue/{name:named}", needs=CONSOLE_READ)
async def describe_job(view: Looking, name: str) -> Response:
    """Show a form for a job of one kind."""
    ENGINE_WRITE.check(view.roles)
    kind = kind_of(view, name)
    return view.page("enqueue.html", kinds=open_kinds(view), kind=kind, fields=fields_of(kind))


@pages.action("/enqueue/{name:named}", needs=ENGINE_WRITE)
async def add_job(view: Looking, name: str) -> Response:
    """Add a job."""
    kind = kind_of(view, name)
    tenant = view.tenant or view.form.get("tenant", "").strip()
    if not tenant:
        raise InvalidInput("a job belongs to a tenant", hint="Name the tenant.")
    at = view.form.get("at", "").strip()
    args = args_of(fields_of(kind), view.form)
    body = EnqueueRequest(kind=kind.name, args=args, run_at=moment(view, at).isoformat() if at else None)  # type: ignore[arg-type]
    caller = view.caller(tenant)
    job = described_job(caller, view.parts, body)
    with closed_is_forbidden():
        ((answer, *_),) = await caller.call("enqueue_job_as", place="/jobs/", reason=view.reason, _read=False, **job)
    ((_, place),) = answer["headers"]
    return view.see(place, view.words.gettext("The job is added."))


def open_kinds(view: View) -> list[JobKind[Any]]:
    """Return the kinds that tenants may start, by name."""
    found = [kind for app in view.parts.apps for kind in app.kinds.values() if kind.open]
    return sorted(found, key=lambda kind: kind.name)


def kind_of(view: View, name: str) -> JobKind[Any]:
    """Return an open kind."""
    for kind in open_kinds(view):
        if kind.name == name:
            return kind
    raise InvalidInput(f"no open kind is named {name[:100]!r}", hint="The page Add a job lists them.")


def fields_of(kind: JobKind[Any]) -> tuple[Field, ...]:
    """Return the arguments of a kind, from its JSON schema."""
    schema = json.loads(kind.arguments.schema())
    needed = set(schema.get("required", ()))
    return tuple(_field(name, each, required=name in needed) for name, each in schema.get("properties", {}).items())


def _field(name: str, schema: Mapping[str, Any], *, required: bool) -> Field:
    given = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    if len(given) == 1:  # it may also be null, which is what an empty field means
        schema = {**given[0], **schema}
    default = schema.get("default")
    if schema.get("format") == "password":
        return Field(name, "secret", required, "")
    hint = str(schema.get("format", "")) if default is None else json.dumps(default, ensure_ascii=False)
    choices = tuple(each for each in schema.get("enum", ()) if isinstance(each, str))
    type_ = schema.get("type", "")
    return Field(name, type_ if type_ in SIMPLE else "json", required, hint, choices)


def args_of(fields: tuple[Field, ...], form: Mapping[str, str]) -> dict[str, Any]:
    """Read the arguments that somebody typed; an empty field that is not needed is left out."""
    found: dict[str, Any] = {}
    for field in fields:
        given = form.get(f"{PREFIX}{field.name}", "")
        if not given and not (field.required and field.type in TEXTS):
            if field.required:
                raise InvalidInput(f"{field.name} is missing", hint=f"It is of the type {field.type}.")
            continue
        found[field.name] = given if field.type in TEXTS else json_of(given)
    return found


def json_of(text: str) -> Any:  # noqa: ANN401 - whatever it says
    """Parse a JSON value that somebody typed."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidInput(f"{text[:100]!r} is no JSON", hint='Write 7, true, "text", [1, 2] or {"a": 1}.') from None
