"""`ostinato outbound grant`, `revoke` and `owners` on a real database."""

import json

import psycopg
from typer.testing import CliRunner, Result

from ostinato._core.db.embedded import Urls
from ostinato._faces.cli.main import app


def typed(urls: Urls, *args: str, code: int = 0) -> Result:
    env = {"OSTINATO_DATABASE_URL": urls.worker, "COLUMNS": "120"}
    result = CliRunner().invoke(app, ["outbound", *args], env=env)
    assert result.exit_code == code, result.output
    return result


def test_an_administrator_grants_lists_and_takes_away(outbound_urls: Urls) -> None:
    with psycopg.connect(outbound_urls.admin, autocommit=True) as conn:
        conn.execute("delete from outbound.ownership")
        typed(outbound_urls, "grant", "acme", "WHATSAPP", "100200300")

        granted = typed(outbound_urls, "grant", "beta", "EMAIL", "Beta.example.test", "--own-account")
        moved = typed(outbound_urls, "grant", "beta", "WHATSAPP", "100200300")
        listed = typed(outbound_urls, "owners", "--tenant", "beta", "--json")
        revoked = typed(outbound_urls, "revoke", "EMAIL", "beta.example.test")
        shown = typed(outbound_urls, "owners")

        told = conn.execute("select action from outbound.audit_event where tenant_id = 'acme' order by id").fetchall()
    assert "EMAIL beta.example.test is beta's, and sends with an account of its own." in granted.stdout
    assert "sends with the installation's account" in moved.stdout
    assert {(each["key"], each["proof"]) for each in json.loads(listed.stdout)} == {
        ("beta.example.test", "GRANT"),
        ("100200300", "GRANT"),
    }
    assert "is not beta's any more" in revoked.stdout
    assert "beta.example.test" not in shown.stdout
    assert "SENDER_WITHDRAWN" in told[-1], "acme can see that its number was moved"


def test_a_key_that_is_none_is_refused_with_what_it_should_be(outbound_urls: Urls) -> None:
    refused = CliRunner().invoke(
        app,
        ["outbound", "grant", "beta", "WHATSAPP", "x/../100200300"],
        env={"OSTINATO_DATABASE_URL": outbound_urls.worker},
    )

    assert refused.exit_code != 0
    assert "phone_number_id" in refused.output
