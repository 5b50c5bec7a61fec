"""What the engine says to people exists in French: the answers of `why`, and the alerts of all who declare some."""

import re
from importlib import resources

import polib

from ostinato._core.base.alerts import Alert
from ostinato._core.runtime.handlers.app import App
from ostinato._core.runtime.installed import installed_apps
from ostinato._faces.console.reasons import ANSWERS
from tests.house.source import function_files, text_of

# A code stands first in the row that a helper of `why` returns: `select 'queue_paused', format(…`.
HELPER = re.compile(r"create function ostinato(?:_internal)?\.why\w*\(.*?\n\$\$;", re.DOTALL)
CODE = re.compile(r"select\s+'(\w+)',")
# Where the code is not a word of the select: the state of a job, its reason to wait, and the limits.
CHOSEN = {
    *("done", "cancelled"),
    *("retrying", "snoozed", "sleeping", "later"),
    *("queue_concurrency", "key_concurrency", "queue_rate", "key_rate"),
}


def codes() -> set[str]:
    bodies = [body for file in function_files() for body in HELPER.findall(text_of(file))]
    return {code for body in bodies for code in CODE.findall(body)} | CHOSEN


def test_every_answer_of_why_is_said_by_the_console() -> None:
    found = codes()

    assert len(found) > 25, "the pattern finds the codes no longer"
    assert sorted(found - ANSWERS.keys()) == []
    assert sorted(ANSWERS.keys() - found) == []


def texts(alert: Alert) -> set[tuple[str, str]]:
    """What an alert says, as a catalogue has it: the text, and its plural."""
    told = (alert.message_one, alert.message) if alert.message_one else (alert.message, "")
    values = {(str(value), "") for name, value in alert.parameters.items() if f"{{{name}}}" in alert.message}
    return {told, (alert.remedy, ""), *(each for each in values if not each[0].isdigit())}


def untranslated(app: App) -> list[str]:
    wanted = {text for alert in app.alerts for text in texts(alert)} | {(app.name.capitalize(), "")}
    if app.locale is None:
        return sorted(text for text, _ in wanted)
    files = [each for each in (resources.files(app.locale) / "locale").iterdir() if each.name.startswith("fr.")]
    known = {
        (entry.msgid, entry.msgid_plural)
        for file in files
        for entry in polib.pofile(file.read_text("utf-8"))
        if entry.translated()
    }
    return sorted(text for text, _ in wanted - known)


def test_every_application_brings_the_french_of_its_alerts_and_of_its_name() -> None:
    ours = [app for app in installed_apps() if app.sql and app.sql.startswith("ostinato.apps.")]

    assert len(ours) == 5
    assert {app.name: missing for app in ours if (missing := untranslated(app))} == {}
