"""What `ostinato watch` says when it does nothing: why."""

import json

import pytest

from ostinato._faces.cli.frame.output import Output
from ostinato.apps.watchfolder.terminal import View
from tests.apps.watchfolder.place import Place, Services


def test_what_keeps_a_tick_from_its_work_is_said_once_and_when_it_is_over(
    place: Place, services: Services, capsys: pytest.CaptureFixture[str]
) -> None:
    view = View(Output(json=True), place.folders)
    place.start(min_free_bytes=1 << 60)
    place.drop("a.pdf", b"a")
    for _ in range(3):
        view.trouble(place.tick())
    place.change(min_free_bytes=0)
    services.away = {"prep"}
    for _ in range(3):
        view.trouble(place.tick())
    services.away = set()
    view.trouble(place.tick(2))

    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    said = [each["message"] for each in told if each["event"] == "problem"]
    assert said[0].startswith("The disk is nearly full")
    assert said[1].startswith("service_unreachable PREP")
    assert said[2:] == [None]
