"""`ostinato mcp`, asked by the real client of the protocol over stdio."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp import Client, StdioServerParameters

from tests.faces.conftest import Place, Shell

READERS = {"dead_letters", "queues", "schedules", "trail", "why"}
TOLD = "4242-4242"


@asynccontextmanager
async def agent(shell: Shell, *options: str) -> AsyncIterator[Client]:
    """An agent that has started the server."""
    words = ["-m", "ostinato", "mcp", *options]
    async with Client(StdioServerParameters(command=sys.executable, args=words, env=os.environ | shell.env)) as client:
        yield client


async def asked(client: Client, tool: str, **args: object) -> Any:  # noqa: ANN401 - the answer of the tool
    answer = await client.call_tool(tool, args)
    assert not answer.is_error, answer.content
    return answer.structured_content


def furnish(place: Place) -> dict[str, int]:
    """A job of each of two tenants, with something in it that is nobody's business."""
    return {
        tenant: place.enqueue("billing.pay", f'{{"card": "{TOLD}"}}', tenant_id=tenant, correlation_id=f"req-{tenant}")
        for tenant in ("acme", "bold")
    }


async def test_an_agent_reads_and_arguments_stay_hidden(shell: Shell, place: Place) -> None:
    jobs = furnish(place)

    async with agent(shell) as client:
        tools = (await client.list_tools()).tools
        why = await asked(client, "why", job_id=jobs["acme"])
        trail = await asked(client, "trail", correlation_id="req-acme")
        answers = [why, trail, *[await asked(client, name) for name in ("queues", "dead_letters", "schedules")]]

    assert {tool.name for tool in tools} == READERS
    assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in tools)
    assert why["job"]["args"] == "hidden"
    assert why["reasons"][0]["code"] == "no_worker_for_queue"
    assert [line["what"] for line in trail["trail"]] == ["billing.pay"]
    assert TOLD not in str(answers)


async def test_arguments_are_shown_when_whoever_starts_it_says_so(shell: Shell, place: Place) -> None:
    jobs = furnish(place)

    async with agent(shell, "--show-arguments") as client:
        assert (await asked(client, "why", job_id=jobs["acme"]))["job"]["args"] == {"card": TOLD}


async def test_for_a_tenant_there_is_nothing_of_another(shell: Shell, place: Place) -> None:
    jobs = furnish(place)

    async with agent(shell, "--tenant", "acme") as client:
        own = await asked(client, "why", job_id=jobs["acme"])
        other = await client.call_tool("why", {"job_id": jobs["bold"]})
        foreign = await asked(client, "trail", correlation_id="req-bold")

    assert own["job"]["tenant_id"] == "acme"
    assert other.is_error
    assert foreign["trail"] == []


async def test_an_answer_is_bounded(shell: Shell, place: Place) -> None:
    for _ in range(60):
        place.enqueue("billing.pay", tenant_id="acme", correlation_id="req-many")

    async with agent(shell) as client:
        trail = await asked(client, "trail", correlation_id="req-many")

    assert len(trail["trail"]) == 50
    assert trail["more"]


def test_only_with_the_flag_dead_letters_are_run_again_as_a_canary(shell: Shell, place: Place) -> None:
    async def ask() -> tuple[bool, Any]:
        async with agent(shell) as client:
            refused = await client.call_tool("redrive", {"signature": "s", "kind": "k", "reason": "r"})
        which = {"signature": "none", "kind": "billing.pay", "reason": "the endpoint is back"}
        async with agent(shell, "--allow-redrive") as client:
            return bool(refused.is_error), await asked(client, "redrive", **which)

    is_refused, started = asyncio.run(ask())

    assert is_refused
    assert started["matching"] == 0
    audit = shell.json("audit")
    (entry,) = [each for each in audit["entries"] if each["actor"].endswith("(mcp)")]
    assert entry["reason"] == "the endpoint is back"
