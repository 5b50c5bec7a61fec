import select
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ostinato._core.db.hostbell import POLL_NOW, HostBell, database_identity, runtime_folder

Join = Callable[..., HostBell]


@pytest.fixture
def join() -> Iterator[Join]:
    """Makes members of one host; the first one listens."""
    bells = []
    with tempfile.TemporaryDirectory(prefix="bell") as folder:

        def make(names: list[str] | None = None, sort: str = "") -> HostBell:
            bell = HostBell("test", names=names, sort=sort, folder=Path(folder))
            bells.append(bell)
            bell.tend()
            for other in bells:
                pump(other)
            return bell

        yield make
        for bell in bells:
            bell.close()


def pump(bell: HostBell) -> list[str]:
    """Deal with all that has arrived."""
    rings: list[str] = []
    while True:
        poll = select.poll()
        for fd in bell.filenos():
            poll.register(fd, select.POLLIN)
        ready = poll.poll(0)
        if not ready:
            return rings
        for fd, _ in ready:
            rings += bell.handle(fd)


def heard(leader: HostBell, others: list[HostBell], name: str) -> int:
    """The number of the process that a ring wakes: 0 is the leader, -1 nobody."""
    if leader.ring(name):
        return 0
    found = [n for n, other in enumerate(others, 1) if pump(other) == [name]]
    assert len(found) <= 1
    return found[0] if found else -1


def test_the_first_process_listens_and_the_others_follow(join: Join) -> None:
    first, second = join(), join()

    assert first.leading
    assert not second.leading
    assert not second.alone


def test_each_ring_wakes_one_process_in_turn(join: Join) -> None:
    leader, *others = join(), join(), join()

    woken = [heard(leader, others, "q") for _ in range(6)]

    assert sorted(woken[:3]) == [0, 1, 2]
    assert woken[3:] == woken[:3]


def test_a_ring_wakes_one_process_of_each_sort(join: Join) -> None:
    """Two apps share a queue: who cannot run the job must not have the only ring."""
    leader, like, other, same = join(["q"], "a"), join(["q"], "a"), join(["q"], "b"), join([], "b")

    woken = [
        (leader.ring("q"), pump(like), pump(other), pump(same)),
        (leader.ring("q"), pump(like), pump(other), pump(same)),
    ]

    assert sorted(woken) == [(False, ["q"], ["q"], []), (True, [], ["q"], [])]


def test_a_ring_goes_to_whom_it_concerns(join: Join) -> None:
    leader, *others = join(["a"]), join(["b"]), join(["b", "c"])

    assert [heard(leader, others, "a") for _ in range(2)] == [0, 0]
    assert sorted(heard(leader, others, "b") for _ in range(2)) == [1, 2]
    assert heard(leader, others, "c") == 2
    assert heard(leader, others, "unknown") == -1


def test_busy_processes_are_rung_only_when_all_are_busy(join: Join) -> None:
    leader, *others = join(), join()

    leader.set_waiting(False)
    assert [heard(leader, others, "q") for _ in range(2)] == [1, 1]
    others[0].set_waiting(False)
    pump(leader)
    assert sorted(heard(leader, others, "q") for _ in range(2)) == [0, 1]


def test_when_rings_may_have_been_missed_all_are_woken(join: Join) -> None:
    leader, *others = join(), join(), join()

    leader.ring_all()

    assert [pump(other) for other in others] == [[POLL_NOW], [POLL_NOW]]


def test_when_the_listener_leaves_another_takes_its_place(join: Join) -> None:
    leader, second, third = join(), join(), join()

    leader.close()
    for other in (second, third):
        pump(other)
        assert other.alone
        assert other.tend() == [POLL_NOW]

    assert second.leading
    assert not third.leading
    pump(second)
    assert sorted(heard(second, [third], "q") for _ in range(2)) == [0, 1]


def test_a_follower_that_is_gone_is_passed_over(join: Join) -> None:
    leader, second, third = join(), join(), join()

    second.close()

    assert sorted(heard(leader, [third], "q") for _ in range(2)) == [0, 1]


def test_a_stranger_that_talks_nonsense_is_dropped(join: Join) -> None:
    leader, second = join(), join()
    assert second._leader is not None
    assert second._leader.sock is not None

    second._leader.sock.sendall(b"nonsense\n")
    pump(leader)

    assert len(leader._members) == 1


def test_the_same_database_has_the_same_name_in_every_process() -> None:
    url = "postgresql://worker@db.example:5433/jobs?application_name="

    assert database_identity(f"{url}a", "x") == database_identity(f"{url}b", "x")
    assert database_identity(url, "x") != database_identity(url, "y")
    assert database_identity(url, "x") != database_identity(url.replace("jobs", "other"), "x")


def test_the_folder_is_closed_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))

    folder = runtime_folder()
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o755)

    with pytest.raises(PermissionError):
        runtime_folder()
