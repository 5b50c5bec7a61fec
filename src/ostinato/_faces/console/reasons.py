"""Says the answers of `why` in the reader's language, by their codes and values.

    explain(words, clock, job, reasons)[0].message      "Queue mail is paused: nothing is claimed from it."

The engine's own sentence is English and in UTC; here times are in the reader's zone, and numbers as
its language writes them. A code that this release does not know keeps the engine's sentence.
"""

from collections.abc import Callable, Mapping, Sequence

from ostinato._core.engine.inspect import JobDetails, Reason
from ostinato._faces.console import damage
from ostinato._faces.console.saying import Said, Saying, Values, summary
from ostinato._faces.console.text import Clock, Language


def explain(words: Language, clock: Clock, job: JobDetails, reasons: Sequence[Reason]) -> list[Said]:
    """Explain a job by all answers about it, in the reader's language."""
    saying = Saying(words, clock, job, alone=len(reasons) == 1)
    return [answer(saying, reason) for reason in reasons]


def answer(saying: Saying, reason: Reason) -> Said:
    """Return one answer in the reader's language."""
    found = ANSWERS.get(reason.code)
    return Said(reason.message, reason.hint) if found is None else found(saying, reason.detail)


def _done(say: Saying, of: Values) -> Said:
    told = say.gettext("It is done: attempt %(n)s ended at %(time)s.", n=of["attempt"], time=say.at(of["finished_at"]))
    return Said(told, "")


def _cancelled(say: Saying, of: Values) -> Said:
    if heir := of.get("replaced_by"):
        told = say.gettext("It was replaced by job %(heir)s at %(time)s.", heir=heir, time=say.at(of["finished_at"]))
        return Said(told, say.gettext("Look at that job."))
    told = say.gettext("It was cancelled at %(time)s.", time=say.at(of["finished_at"]))
    if given := of.get("reason"):
        because = say.gettext("Reason: %(reason)s", reason=given)
        told = f"{told} {because}"
    return Said(told, say.gettext("Run it again with the button above, if it is still needed."))


def _dead(say: Saying, of: Values) -> Said:
    error = summary(of.get("error")) or say.gettext("no error was recorded")
    told = say.gettext(
        "It gave up after attempt %(n)s at %(time)s (%(reason)s): %(error)s",
        n=of["attempt"],
        time=say.at(of["died_at"]),
        reason=say.states((of["reason"],)),
        error=error,
    )
    lost = of["reason"] == "worker_lost"
    first = (
        say.gettext("Each time it ran, its process died: look for a crash or too little memory.")
        if lost
        else say.gettext("Fix the cause.")
    )
    then = say.gettext("Then run it again; the page Dead letters runs all of this cause.")
    return Said(told, f"{first} {then}")


def _erased(say: Saying, of: Values) -> Said:
    told = say.gettext(
        "It was erased at %(time)s with the person that it was about: arguments, results and errors are blank.",
        time=say.at(of["erased_at"]),
    )
    return Said(told, say.gettext("The page Access says who did it."))


def _running(say: Saying, of: Values) -> Said:
    told = say.gettext(
        "Worker %(worker)s holds it: attempt %(n)s, for %(span)s. Its lease lasts until %(time)s.",
        worker=of["worker"],
        n=of["attempt"],
        span=say.ago(of["since"]),
        time=say.at(of["lease_until"]),
    )
    if of.get("done") is not None:
        total = say.words.number(of["total"]) if of.get("total") is not None else "?"
        progress = say.gettext("Progress: %(done)s of %(total)s.", done=say.words.number(of["done"]), total=total)
        told = " ".join(part for part in (told, progress, of.get("note")) if part)
    return Said(told, "")


def _loop_blocked(say: Saying, of: Values) -> Said:
    told = say.gettext(
        "A handler of %(kind)s blocks the event loop of worker %(worker)s: no other job of that process moves.",
        kind=of["kind"],
        worker=of["worker"],
    )
    seconds = of.get("timeout_seconds")
    end = (
        say.gettext("It has no timeout, so nothing ends it.")
        if seconds is None
        else say.gettext(
            "Its process is ended after its timeout of %(span)s and the grace.", span=say.words.span(seconds)
        )
    )
    hint = say.gettext("Make the handler a plain function (it runs in a thread); to stop it now, cancel its job.")
    return Said(f"{told} {end}", hint)


def _silent(say: Saying, of: Values) -> Said:
    if of.get("beat_at") is None:
        told = say.gettext(
            "Worker %(worker)s is gone; the next poll of any worker takes its jobs back.", worker=of["worker"]
        )
    else:
        told = say.gettext(
            "Worker %(worker)s was last heard of %(span)s ago; if it stays silent, others take its jobs back after"
            " %(time)s.",
            worker=of["worker"],
            span=say.ago(of["beat_at"]),
            time=say.at(of["rescued_after"]),
        )
    if not of["other_workers"]:
        return Said(told, say.gettext("No other worker is alive to take them: start one."))
    return Said(told, say.gettext("Nothing to do; if this worker is stuck, end its process."))


def _cancelling(say: Saying, of: Values) -> Said:
    told = say.gettext(
        "Somebody asked to cancel it at %(time)s (%(reason)s). The worker learns of it with its next poll, and ends it"
        " after its grace.",
        time=say.at(of["requested_at"]),
        reason=of["reason"],
    )
    return Said(told, say.gettext("Nothing to do; a handler that checks ctx.cancelled ends sooner."))


def _due(say: Saying, of: Values) -> Said:
    told = say.gettext(
        "Its time came %(span)s ago; the next poll of any worker makes it ready.", span=say.ago(of["run_at"])
    )
    return Said(told, say.gettext("Nothing to do, as long as a worker is alive."))


def _waiting(say: Saying, of: Values) -> Said:
    told = say.gettext(
        "It has waited for the event %(event)s with the key %(key)s since %(time)s.",
        event=of["event"],
        key=of["key"],
        time=say.at(of["since"]),
    )
    end = (
        say.gettext("It goes on without it at %(time)s.", time=say.at(of["deadline"]))
        if of.get("deadline")
        else say.gettext("It has no deadline.")
    )
    return Said(f"{told} {end}", say.gettext("Emit the event for tenant %(tenant)s.", tenant=of["tenant_id"]))


def _behind(say: Saying, of: Values) -> Said:
    if before := of.get("behind"):
        told = say.gettext(
            "It waits behind job %(before)s of its key: events of a key are delivered in order.", before=before
        )
        return Said(told, say.gettext("Look at that job."))
    told = say.gettext("Its subscription %(name)s is paused.", name=of["subscription"])
    return Said(told, say.gettext("Resume the subscription on the page Events."))


def _deferred(say: Saying, of: Values) -> Said:
    told = say.ngettext(
        "The database was in trouble once since %(since)s, of at most %(most)s times. It is tried again at %(time)s,"
        " and no attempt was used up. Last error: %(error)s",
        "The database was in trouble %(n)s times since %(since)s, of at most %(most)s. It is tried again at %(time)s,"
        " and no attempt was used up. Last error: %(error)s",
        of["deferrals"],
        since=say.at(of["since"]),
        most=of["most"],
        time=say.at(of["run_at"]),
        error=summary(of.get("error")),
    )
    return Said(told, say.gettext("Look after the database: ostinato doctor."))


def _shelved(say: Saying, of: Values) -> Said:
    told = say.gettext(
        "It stands aside, out of the way of others, because no worker ran the kind %(kind)s in queue %(queue)s. A"
        " worker that does brings it back.",
        kind=of["kind"],
        queue=of["queue"],
    )
    return Said(told, _declare(say))


def _retrying(say: Saying, of: Values) -> Said:
    told = say.ngettext(
        "It failed once and is tried again at %(time)s, in %(span)s. Last error: %(error)s",
        "It failed %(n)s times and is tried again at %(time)s, in %(span)s. Last error: %(error)s",
        of["failures"],
        time=say.at(of["run_at"]),
        span=say.ahead(of["run_at"]),
        error=summary(of.get("error")) or say.gettext("no error was recorded"),
    )
    return Said(told, _now(say))


def _snoozed(say: Saying, of: Values) -> Said:
    told = say.gettext(
        "It asked to be run again at %(time)s, in %(span)s; that counts as no failure.",
        time=say.at(of["run_at"]),
        span=say.ahead(of["run_at"]),
    )
    return Said(told, _now(say))


def _sleeping(say: Saying, of: Values) -> Said:
    told = say.gettext(
        "It sleeps between two steps and goes on at %(time)s, in %(span)s.",
        time=say.at(of["run_at"]),
        span=say.ahead(of["run_at"]),
    )
    return Said(told, "")


def _joining(say: Saying, of: Values) -> Said:
    return Said(say.gettext("It waits for its children: %(done)s of %(total)s are done, %(failed)s failed.", **of), "")


def _later(say: Saying, of: Values) -> Said:
    told = say.gettext(
        "It is to run at %(time)s, in %(span)s.", time=say.at(of["run_at"]), span=say.ahead(of["run_at"])
    )
    return Said(told, _now(say))


def _paused(say: Saying, of: Values) -> Said:
    told = say.gettext("Queue %(queue)s is paused: nothing is claimed from it.", queue=of["queue"])
    return Said(told, say.gettext("Resume it on the page Queues."))


def _no_worker(say: Saying, of: Values) -> Said:
    told = say.gettext("No living worker serves queue %(queue)s.", queue=of["queue"])
    more = [
        say.ngettext("%(n)s worker drains.", "%(n)s workers drain.", of["draining"]) if of["draining"] else "",
        say.ngettext("%(n)s worker is silent.", "%(n)s workers are silent.", of["silent"]) if of["silent"] else "",
    ]
    return Said(
        " ".join(filter(None, (told, *more))), say.gettext("Start one: ostinato worker --app package.module:app")
    )


def _no_kind(say: Saying, of: Values) -> Said:
    told = say.ngettext(
        "%(n)s worker serves queue %(queue)s, but does not know the kind %(kind)s.",
        "%(n)s workers serve queue %(queue)s, but none knows the kind %(kind)s.",
        of["workers"],
        queue=of["queue"],
        kind=of["kind"],
    )
    return Said(told, _declare(say))


def _suspect(say: Saying, of: Values) -> Said:
    told = say.ngettext(
        "It took %(n)s worker process with it: it waits for a worker that runs no other suspect.",
        "It took %(n)s worker processes with it: it waits for a worker that runs no other suspect.",
        of["crashes"],
    )
    if of.get("ahead"):
        ahead = say.ngettext("%(n)s suspect is ahead of it.", "%(n)s suspects are ahead of it.", of["ahead"])
        told = f"{told} {ahead}"
    return Said(told, say.gettext("Look for a crash or too little memory. To give it up, cancel it."))


def _turn(say: Saying, of: Values) -> Said:
    told = _ahead(say, of["ahead"])
    if urgent := of.get("more_urgent"):
        more = say.ngettext(
            "%(count)s job of queue %(queue)s is more urgent.",
            "%(count)s jobs of queue %(queue)s are more urgent.",
            urgent,
            count=say.count(urgent),
            queue=say.job.queue,
        )
        told = f"{told} {more}"
    if say.alone:
        free = say.gettext("Nothing is in its way: it runs when a worker has room.")
        return Said(f"{told} {free}", "")
    return Said(told, "")


def _ahead(say: Saying, ahead: int) -> str:
    values = {"tenant": say.job.tenant_id, "priority": say.job.priority}
    if not ahead:
        return say.gettext(
            "It is ready, and no job of tenant %(tenant)s is ahead of it at priority %(priority)s.", **values
        )
    return say.ngettext(
        "It is ready, with %(count)s job of tenant %(tenant)s ahead of it at priority %(priority)s.",
        "It is ready, with %(count)s jobs of tenant %(tenant)s ahead of it at priority %(priority)s.",
        ahead,
        count=say.count(ahead),
        **values,
    )


def _limited(say: Saying, of: Values) -> Said:
    queue, most, seconds = of["queue"], of["limit"], of.get("seconds")
    key = of.get("limit_key")
    of_whom = (
        say.gettext("Queue %(queue)s", queue=queue)
        if key is None
        else say.gettext("Queue %(queue)s, for all tenants together and the key %(key)s,", queue=queue, key=key)
        if of.get("shared")
        else say.gettext("Queue %(queue)s, for the key %(key)s,", queue=queue, key=key)
    )
    if seconds is not None:
        told = say.ngettext(
            "%(whom)s starts at most %(n)s job in %(span)s; the next may start at %(time)s.",
            "%(whom)s starts at most %(n)s jobs in %(span)s; the next may start at %(time)s.",
            most,
            whom=of_whom,
            span=say.words.span(seconds),
            time=say.at(of["frees_at"]),
        )
    else:
        told = say.ngettext(
            "%(whom)s runs at most %(n)s job at once, and as many run.",
            "%(whom)s runs at most %(n)s jobs at once, and as many run.",
            most,
            whom=of_whom,
        )
        if holders := of.get("holders"):
            who = ", ".join(f"{each['job_id']} ({each['worker']})" for each in holders)
            held = say.gettext("Who holds the places (worker): %(who)s.", who=who)
            told = f"{told} {held}"
    return Said(told, say.gettext("Wait, or raise the limit of the queue."))


def _conflict(say: Saying, of: Values) -> Said:
    told = say.gettext(
        "Job %(holder)s holds its unique key %(key)s: it cannot run again until that one leaves the states %(states)s.",
        key=of["unique_key"],
        holder=of["held_by"],
        states=say.states(of["states"]),
    )
    return Said(told, say.gettext("Wait for that job, or cancel it."))


def _holds(say: Saying, of: Values) -> Said:
    told = say.gettext(
        "It holds the unique key %(key)s as long as it is %(states)s: no other job with that key is added meanwhile.",
        key=of["unique_key"],
        states=say.states(of["states"]),
    )
    if kept := of.get("keeps_out"):
        who = ", ".join(map(str, kept))
        out = say.gettext("It keeps these jobs from running again: %(who)s.", who=who)
        told = f"{told} {out}"
    return Said(told, "")


def _declare(say: Saying) -> str:
    return say.gettext("Start a worker whose app declares this kind, or check how it is spelled.")


def _now(say: Saying) -> str:
    return say.gettext("Run it now, if the cause is gone.")


ANSWERS: Mapping[str, Callable[[Saying, Values], Said]] = {
    "done": _done,
    "cancelled": _cancelled,
    "dead": _dead,
    "erased": _erased,
    "running": _running,
    "loop_blocked": _loop_blocked,
    "worker_silent": _silent,
    "cancel_requested": _cancelling,
    "due": _due,
    "waiting": _waiting,
    "behind": _behind,
    "deferred": _deferred,
    "shelved": _shelved,
    "retrying": _retrying,
    "snoozed": _snoozed,
    "sleeping": _sleeping,
    "joining": _joining,
    "later": _later,
    "queue_paused": _paused,
    "no_worker_for_queue": _no_worker,
    "no_worker_for_kind": _no_kind,
    "claims_fail": damage.claims_fail,
    "suspect": _suspect,
    "waiting_turn": _turn,
    "queue_concurrency": _limited,
    "key_concurrency": _limited,
    "queue_rate": _limited,
    "key_rate": _limited,
    "unique_conflict": _conflict,
    "holds_unique_key": _holds,
    "quarantined": damage.quarantined,
    "nowhere": damage.nowhere,
}
"""Who says each answer, by its code."""
