"""What a warden decides about a worker that is silent, from plain values."""

from ostinato._core.runtime.worker.board import Running
from ostinato._core.runtime.worker.silence import Silence, Stack, blamed, ending

CARD = {"grace_seconds": 10, "drain_seconds": 30}
KINDS = [
    {"file": "/app/jobs.py", "function": "count", "first": 10, "last": 20},
    {"file": "/app/jobs.py", "function": "wait", "first": 30, "last": 40},
]
STACK = Stack('Thread 0x1:\n  File "/app/jobs.py", line 12 in count\n  File "/x.py", line 1 in run\n')


def job(job_id: int, kind: int = 0, deadline: float = 0.0) -> Running:
    return Running(job_id, 1, 7, kind, 0, 0, started=100.0, deadline=deadline)


def test_only_a_pulse_that_stands_still_is_silence() -> None:
    silence = Silence()
    for pulse, now, counts, seconds in [
        (1, 100, True, 0),
        (1, 103, True, 3),
        (2, 104, True, 0),
        (2, 109, False, 0),  # it was stopped
        (2, 111, True, 2),
    ]:
        silence.feel(pulse, now, counts=counts)
        assert silence.seconds == seconds


def test_the_heart_says_who_is_to_blame() -> None:
    running = [job(1), job(2)]

    assert blamed(running, 2, Stack(""), KINDS, 200) == running[1]
    assert blamed(running, 0, Stack(""), KINDS, 200) is None


def test_while_the_gil_is_held_it_is_the_only_job_or_the_one_on_a_stack() -> None:
    waits, counts = job(1, kind=1, deadline=101), job(2, kind=0, deadline=150)

    assert blamed([waits], None, Stack(""), KINDS, 200) == waits
    assert blamed([waits, counts], None, Stack(""), KINDS, 200) is None
    assert blamed([waits, counts], None, STACK, KINDS, 200) == counts


def test_a_handler_is_ended_after_its_timeout_and_grace() -> None:
    late = job(1, deadline=103)

    assert ending(late, CARD, 112.9, asked=[], cancels={}) is None
    ended = ending(late, CARD, 113, asked=[], cancels={})
    assert ended is not None
    assert (ended.reason, ended.job, ended.at_once) == ("timeout", late, False)
    assert ending(job(1), CARD, 1e9, asked=[], cancels={}) is None


def test_a_cancel_counts_for_the_job_that_blocks_only() -> None:
    assert ending(job(1), CARD, 120, asked=[], cancels={2: 100}) is None
    assert ending(job(1), CARD, 109, asked=[], cancels={1: 100}) is None
    ended = ending(job(1), CARD, 110, asked=[], cancels={1: 100})
    assert ended is not None
    assert ended.reason == "cancel"


def test_a_signal_gives_the_time_to_drain_and_a_second_one_none() -> None:
    assert ending(None, CARD, 139, asked=[100], cancels={}) is None
    first = ending(None, CARD, 140, asked=[100], cancels={})
    second = ending(None, CARD, 101, asked=[100, 101], cancels={})
    assert first is not None
    assert second is not None
    assert (first.reason, first.at_once) == ("stop", False)
    assert second.at_once
