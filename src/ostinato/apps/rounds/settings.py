"""Declares the settings of rounds."""

from datetime import time

from ostinato.apps.rounds.rules import parse_drop_time, zone_of
from ostinato.settings import Section, section, setting


@section("rounds")
class RoundsSettings(Section):
    """What an installation may choose."""

    drop_time: str = setting("14:30", "When rounds change over in groups that have no time of their own.")
    zone: str = setting("Europe/Paris", "The zone of groups that have none of their own.")
    set_size: int = setting(500, "How many groups one transaction of a job handles.", low=1, high=1000)
    sets_at_once: int = setting(2, "How many of them a job handles at once.", low=1, high=16)
    max_members: int = setting(2000, "How many members a group may have.", low=1, high=2000)
    keep_days: int = setting(30, "How long runs and failures of the jobs are kept, in days.", low=1, high=3650)

    def __post_init__(self) -> None:
        super().__post_init__()
        parse_drop_time(self.drop_time)
        zone_of(self.zone)

    @property
    def default_drop_time(self) -> time:
        """`drop_time` as a time."""
        return parse_drop_time(self.drop_time)
