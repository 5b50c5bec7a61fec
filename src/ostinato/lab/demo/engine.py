"""Plays the scenario "engine": what callers and operators can do, over HTTP only."""

from typing import Any

from ostinato._core.runtime.observe.scenario import Scenario, System

API = "/api/v1/engine"


async def run(system: System) -> None:
    """Enqueue, replay, retry, redrive, and read the trail."""
    flow = {"X-Correlation-Id": f"demo-{system.run}"}
    flaky = await _enqueue_once(system, flow)
    await _redrive(system, flow)
    found = await _ended(system, flaky)
    outcomes = [attempt["outcome"] for attempt in found["attempts"]]
    system.check(
        "a job that fails twice is retried by its policy, and succeeds",
        found["state"] == "done" and outcomes == ["failed", "failed", "done"],
        outcomes,
    )
    trail = (await system.call("GET", f"{API}/trail/demo-{system.run}")).json()
    named = [item for item in trail["items"] if str(flaky) in str(item)]
    system.check("its correlation id has the whole story", len(named) >= len(outcomes), trail)


async def _enqueue_once(system: System, flow: dict[str, str]) -> int:
    once = {**flow, "Idempotency-Key": f"demo-{system.run}"}
    job = {"kind": "tour.flaky", "args": {"failures": 2}}
    first = await system.call("POST", f"{API}/jobs", status=202, json=job, headers=once)
    again = await system.call("POST", f"{API}/jobs", status=202, json=job, headers=once)
    system.check(
        "the same request twice has one effect and one answer",
        again.content == first.content and again.headers.get("Idempotency-Replayed") == "true",
        again.text,
    )
    other = job | {"args": {"failures": 3}}
    refused = await system.call("POST", f"{API}/jobs", status=422, json=other, headers=once)
    system.check(
        "another request under the same key is a conflict that names the field", "args" in refused.text, refused.text
    )
    return int(first.json()["job_id"])


async def _redrive(system: System, flow: dict[str, str]) -> None:
    """Find a dead letter by its error, count it, and retry it."""
    reason = f"a demo of poison {system.run}"
    job = {"kind": "tour.poison", "args": {"reason": reason, "cured_by": 2}}
    made = await system.call("POST", f"{API}/jobs", status=202, json=job, headers=flow)
    poison = int(made.json()["job_id"])
    await _in_state(system, poison, "dead")
    groups = (await system.call("GET", f"{API}/dead-letters/groups")).json()["items"]
    mine = next((group for group in groups if group["example_job_id"] == poison), None)
    system.check("a job that no retry can fix is a dead letter with its cause", mine, groups)
    wanted = {"kind": "tour.poison", "signature": (mine or {})["signature"]}
    preview = (await system.call("POST", f"{API}/jobs/redrive", json=wanted)).json()
    system.check(
        "a redrive only counts unless asked to run", (preview["matching"], preview["redriven"]) == (1, 0), preview
    )
    await system.call("POST", f"{API}/jobs/redrive", json=wanted | {"preview": False})
    found = await _in_state(system, poison, "done")
    system.check("a redriven dead letter runs again and ends well", found["attempt"] == 2, found)  # noqa: PLR2004 - the second


async def _ended(system: System, job_id: int) -> dict[str, Any]:
    return await _in_state(system, job_id, "done", "dead", "cancelled")


async def _in_state(system: System, job_id: int, *states: str) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        job: dict[str, Any] = (await system.call("GET", f"{API}/jobs/{job_id}")).json()
        return job if job["state"] in states else None

    return await system.until(f"job {job_id} is {' or '.join(states)}", look)


ENGINE = Scenario("engine", "Jobs over HTTP: one effect, retries, dead letters redriven, one trail.", run)
