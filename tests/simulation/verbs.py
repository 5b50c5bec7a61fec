"""The verbs with which a worker gives jobs back, as calls that the model follows."""

import json

from tests.simulation.model import Model, Token
from tests.simulation.steps import Answer, Call, shorten

FUNCTIONS = {
    "done_many": "complete_jobs",
    "fail": "fail_jobs",
    "bury": "fail_jobs",
    "snooze": "snooze_jobs",
    "release": "release_jobs",
    "cancel": "cancel_jobs",
    "progress": "note_progress",
}
ERROR = json.dumps({"type": "Oops", "message": "it broke"})


def settle_call(model: Model, verb: str, tokens: list[Token], delays: list[float]) -> Call:
    """A verb for some jobs at once. Whatever is not refused must have been held."""

    def check(answer: Answer) -> None:
        refused = {row[0] for row in answer.rows}
        for token in tokens:
            if token.job_id in refused:
                model.check_refused(verb, token)

    def commit(answer: Answer) -> None:
        refused = {row[0] for row in answer.rows}
        for n, token in enumerate(tokens):
            if token.job_id in refused:
                continue
            if verb == "progress":
                model.noted(token)
            else:
                name = "done" if verb == "done_many" else verb
                model.settled(name, token, answer, delays[n] if verb in ("fail", "snooze") else None)

    return Call(FUNCTIONS[verb], _params(verb, tokens, delays), check=check, commit=commit)


def _params(verb: str, tokens: list[Token], delays: list[float]) -> dict[str, object]:
    job_ids, attempts, claim_ids = (list(column) for column in zip(*tokens, strict=True))
    params: dict[str, object] = {"claim_ids": claim_ids, "job_ids": job_ids, "attempts": attempts}
    each = [None] * len(tokens)
    match verb:
        case "done_many":
            params |= {"durations": [5 for _ in tokens], "results": each}
        case "fail" | "bury":
            params |= {
                "delays": delays if verb == "fail" else each,
                "errors": [ERROR for _ in tokens],
                "signatures": ["Oops" for _ in tokens],
            }
        case "snooze":
            params |= {"delays": delays}
        case "cancel":
            params |= {"reasons": [shorten(job_id) for job_id in job_ids]}
        case "progress":
            params |= {"done": [0.5 for _ in tokens], "totals": each, "notes": each}
    return params
