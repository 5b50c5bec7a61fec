"""Says the answers of `why` that are about damaged rows: see `reasons`."""

from ostinato._faces.console.saying import Said, Saying, Values


def quarantined(say: Saying, of: Values) -> Said:
    """Say that a job was set aside."""
    told = say.gettext("It was set aside at %(time)s: its row is missing or damaged.", time=say.at(of["found_at"]))
    return Said(told, say.gettext("Repair its row, then: select ostinato.restore_job(%(job)s)"))


def nowhere(say: Saying, _: Values) -> Said:
    """Say that a job stands in no place."""
    told = say.gettext("It stands in no place: it neither waits nor runs, and has not ended.")
    return Said(told, say.gettext("This should not happen. Check the database: ostinato doctor"))


def claims_fail(say: Saying, of: Values) -> Said:
    """Say which error keeps workers from claiming from the queue of a job."""
    told = say.ngettext(
        "Workers cannot claim from queue %(queue)s: that failed once, at %(time)s: %(error)s (%(state)s)",
        "Workers cannot claim from queue %(queue)s: that failed %(n)s times, the last time at %(time)s: %(error)s"
        " (%(state)s)",
        of["times"],
        queue=of["queue"],
        time=say.at(of["last_at"]),
        error=of["message"],
        state=of["state"],
    )
    return Said(told, say.gettext("A row that they need may be damaged. Check the database: ostinato doctor"))
