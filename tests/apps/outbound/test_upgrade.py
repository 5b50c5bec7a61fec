"""What an earlier release stored, after the upgrade: fingerprints sealed, senders whose they were."""

import asyncio
import json
from importlib.resources import files
from pathlib import Path

import psycopg

from ostinato._core.db import migrate
from ostinato._core.db.embedded import Server
from ostinato._core.engine.schema import ENGINE
from ostinato.apps.outbound.schema import COMPONENT
from ostinato.database import Component
from tests.conftest import copy_of_engine

BEFORE = ("0001_outbound.sql", "0002_answers_and_suppressions.sql", "0003_erasure.sql")
OLD = """
insert into outbound.sender (tenant_id, channel, provider, provider_key) values
    ('acme', 'WHATSAPP', 'whatsapp', '100200300'), ('beta', 'WHATSAPP', 'whatsapp', '100200300/messages?x='),
    ('beta', 'SMS', 'twilio', 'Beta'), ('beta', 'EMAIL', 'smtp', 'Info@beta.example.test');
insert into outbound.message (tenant_id, id, subject_id, channel, purpose, to_address, language, payload, fingerprint,
    sender_id, idempotency_key, provider_message_id)
select 'acme', gen_random_uuid(), 's', 'WHATSAPP', 'TRANSACTIONAL', v.address, 'fr', '{}',
    '{"to": "abc", "text": "def"}', (select id from outbound.sender where tenant_id = 'acme'), v.key, 'wamid.' || v.key
from (values ('+33639981234', 'kept'), ('', 'erased')) v (address, key);
insert into outbound.audit_event (tenant_id, action, actor, details)
values ('acme', 'NOTIFICATION_SENT', 'x', '{"attempt_no": 1, "provider_message_id": "wamid.kept"}');
insert into outbound.suppression (tenant_id, channel, purpose, address_mac, source, since)
values ('acme', 'WHATSAPP', 'MARKETING', sha256('one'), 'API', '2026-01-01');
insert into outbound.callback (provider, url, body, processed_at) values
    ('whatsapp', '', '+33639981234', now()), ('whatsapp', '', 'waits', null);
"""


def test_what_an_earlier_release_stored_is_sealed_blanked_and_owned(shared_server: Server, tmp_path: Path) -> None:
    tables = tmp_path / "sql" / "tables"
    tables.mkdir(parents=True)
    (tmp_path / "sql" / "functions").mkdir()
    for name in BEFORE:
        source = files("ostinato.apps.outbound").joinpath("sql", "tables", name)
        (tables / name).write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    urls = copy_of_engine(shared_server, "outbound_before")
    asyncio.run(migrate.migrate(urls.admin, [ENGINE, Component("outbound", tmp_path / "sql", ("outbound",))]))
    with psycopg.connect(urls.admin, autocommit=True) as conn:
        conn.execute(OLD)

        asyncio.run(migrate.migrate(urls.admin, [ENGINE, COMPONENT]))

        (sealed,) = conn.execute('select outbound.sealed(\'{"to": "abc", "text": "def"}\')').fetchone() or ({},)
        rows = conn.execute("select idempotency_key, fingerprint, provider_message_id from outbound.message").fetchall()
        found = {key: (json.loads(fingerprint), told) for key, fingerprint, told in rows}
        owned = conn.execute("select provider, key, tenant_id, proof, account from outbound.ownership").fetchall()
        (details,) = conn.execute("select details from outbound.audit_event").fetchone() or ({},)
        refused = conn.execute("select address_mac = outbound.sealed_address(sha256('one')) from outbound.suppression")
        opted_out = refused.fetchall()
        bodies = {bytes(body) for (body,) in conn.execute("select body from outbound.callback")}
    assert found == {"kept": (sealed, "wamid.kept"), "erased": ({}, None)}
    assert sealed["to"] != "abc"
    assert sorted(owned) == [
        ("smtp", "info@beta.example.test", "beta", "BEFORE", True),
        ("twilio", "beta", "beta", "BEFORE", True),
        ("whatsapp", "100200300", "acme", "BEFORE", True),
    ]
    assert details == {"attempt_no": 1}
    assert opted_out == [(True,)]
    assert bodies == {b"", b"waits"}
