"""What an installation may choose."""

from ostinato.settings import Section, section, setting


@section("laundry")
class LaundrySettings(Section):
    """How clothes are washed."""

    speed: int = setting(800, "Turns a minute.", low=100, high=2000)
    mains_url: str = setting("http://mains.example", "Where water comes from.")
