"""Desk: an application that is none of ours and shows one of everything; what waits are its scheduled jobs."""

from ostinato import App

HERE = "tests.console.desk.panels"

APP = App(
    "desk",
    locale="tests.console.desk",
    panels=(f"{HERE}:FRONT", f"{HERE}:PAPERS", f"{HERE}:PAPER", f"{HERE}:PRIVATE", f"{HERE}:WAITING", f"{HERE}:BROKEN"),
    machines=(f"{HERE}:PAPER_MACHINE", f"{HERE}:LOST_MACHINE"),
    standing={"desk_paper": f"{HERE}:standing", "desk_lost": f"{HERE}:break_standing"},
)
