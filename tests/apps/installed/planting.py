"""Rows of one tenant in every application, and the values by which routes find them."""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from tests.api.conftest import Api
from tests.apps.capture.vault import SEED

ROLES = ("ops", "admin")
MARK = "their-own-words"
"""Stands in what the tenant wrote: no answer to another one may hold it."""
JOB_KEY = "a" * 64 + "__0badcafe"
OUTBOUND, ROUNDS, WATCHFOLDER = "/api/v1/outbound", "/api/v1/rounds", "/api/v1/watchfolder"
TEMPLATE = {
    "category": "UTILITY",
    "providerName": MARK,
    "body": f"{MARK} {{{{name}}}}",
    "variables": [{"name": "name"}],
}
SENDER = {"channel": "SMS", "providerKey": "+33639981000", "display": MARK}
MEMBER = {"groupId": "g", "subjectId": "s", "address": "+33639980001", "name": MARK}
CONTRIBUTION = {"memberId": "m-1", "planId": "p", "planVersion": 1, "dueDate": "2030-01-01", "amountDue": "10.00"}

# What only workers, or people over days, bring about. Neither triggers nor keys are checked: it is only there.
STATES = """
set session_replication_role = replica;
insert into rounds.daily_rounds (tenant_id, group_id, scheduled_for_local_date, status, drop_time, zone, open_at,
    close_at, resolved_type, resolved_title, resolved_body, resolved_metadata)
values (%(tenant)s, %(group)s, current_date, 'open', '08:00', 'UTC', now(), now() + interval '1 day', 'question',
    'their-own-words', '', '{}');
insert into rounds.submissions (tenant_id, round_id, user_id, body)
select tenant_id, id, 'ana', 'their-own-words' from rounds.daily_rounds where tenant_id = %(tenant)s;
insert into outbound.message (tenant_id, id, subject_id, channel, purpose, to_address, template_code, language,
    payload, fingerprint, status, sender_id, idempotency_key, error_code, error_class, failed_at, not_after)
select %(tenant)s, gen_random_uuid(), 's-1', 'SMS', 'TRANSACTIONAL', '+33639980001', 'welcome', 'fr',
    '{"body": "their-own-words", "variables": {"name": "their-own-words"}}', 'x', status, %(sender)s, status,
    case when status = 'FAILED' then 'X' end, case when status = 'FAILED' then 'PERMANENT' end,
    case when status = 'FAILED' then now() end, now() + interval '1 day'
from unnest('{QUEUED,FAILED}'::text[]) status;
insert into watchfolder.job (tenant_id, folder_id, job_key, seq, state, file_name, created_at, changed_at)
select tenant_id, id, %(job_key)s, 9, 'DONE', 'their-own-words.pdf', now(), now() from watchfolder.folder
where tenant_id = %(tenant)s;
insert into watchfolder.duplicate (tenant_id, folder_id, job_key, files, existing, detected_at)
select tenant_id, id, %(job_key)s, '{their-own-words.pdf}', 'their-own-words.pdf', now() from watchfolder.folder
where tenant_id = %(tenant)s;
set session_replication_role = origin
"""


@dataclass(frozen=True)
class Planted:
    """A tenant, and the values of the parameters of routes that lead to its rows."""

    tenant: str
    values: dict[str, str]
    failed_message: str


async def plant(api: Api, tenant: str) -> Planted:
    """Make the rows: by the API where it can."""

    async def made(method: str, path: str, body: dict[str, Any]) -> Any:  # noqa: ANN401 - whatever it answers
        answer = await api.call(method, path, tenant=tenant, roles=ROLES, json=body)
        assert answer.status_code < 300, (path, answer.text)
        return answer.json()

    group = (await made("POST", f"{ROUNDS}/groups", {"name": MARK}))["id"]
    prompt = (await made("POST", f"{ROUNDS}/groups/{group}/prompts", {"title": MARK}))["id"]
    await made("PUT", f"{ROUNDS}/groups/{group}/members/ana", {})
    await made("PUT", f"{OUTBOUND}/templates/welcome/fr", TEMPLATE)
    sender = (await made("PUT", f"{OUTBOUND}/senders", SENDER))["id"]
    await made("PUT", f"{OUTBOUND}/coop/members/m-1", MEMBER)
    await made("PUT", f"{OUTBOUND}/coop/contributions/c-1", CONTRIBUTION)
    await made("POST", f"{WATCHFOLDER}/folders", {"name": "theirs"})
    asked = await made("POST", "/v1/requests", {"siren": "999000003"})
    await made("POST", "/documents/capture", capture())
    given = {"tenant": tenant, "group": group, "sender": sender, "job_key": JOB_KEY}
    for statement in STATES.split(";\n"):
        await api.admin.execute(statement.encode(), given if "%(" in statement else None)
    rounds = await api.admin.execute("select id from rounds.daily_rounds where tenant_id = %s", [tenant])
    messages = await api.admin.execute("select status, id from outbound.message where tenant_id = %s", [tenant])
    ids = {str(status): str(id_) for status, id_ in await messages.fetchall()}
    ((round_id,),) = await rounds.fetchall()
    values = {
        "capture_id": SEED.capture_id,
        "request_id": asked["request"]["id"],
        "message_id": ids["QUEUED"],
        "sender_id": str(sender),
        "template_code": "welcome",
        "language": "fr",
        "member_id": "m-1",
        "contribution_id": "c-1",
        "group_id": str(group),
        "user_id": "ana",
        "prompt_id": str(prompt),
        "round_id": str(round_id),
        "name": "theirs",
        "job_key": JOB_KEY,
        "token": "none",
    }
    return Planted(tenant, values, ids["FAILED"])


def capture() -> dict[str, Any]:
    """A capture as a device sends it."""
    fields = asdict(SEED)
    fields["hash_sha3_256"] = fields.pop("content_hash")
    return fields | {"timestamp_device": datetime.now(UTC).isoformat()}
