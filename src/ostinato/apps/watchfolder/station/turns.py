"""Decides whose turn it is at a service: short documents pass long ones, and no long one waits for ever."""

LONG_PAGES = 20
"""A document with more pages is a long one."""
PAGE_SECONDS = 2.0
"""A document stands behind those that come so much later, for each of its pages."""


def turn(since: float, pages: int | None) -> float:
    """Return when a document that waits since then has its turn: the lowest comes first."""
    return since + PAGE_SECONDS * (pages or 1)


def is_long(pages: int | None) -> bool:
    """Return whether a document is a long one."""
    return (pages or 1) > LONG_PAGES


def long_slots(slots: int) -> int:
    """Return how many of the slots long documents may have: one is left for short ones, where there are two."""
    return max(1, slots - 1)
