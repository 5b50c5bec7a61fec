"""Shows that the tests which `docs/specs/` names for a rule fail when that rule is broken.

    python -m tests.mutants                      every application
    python -m tests.mutants --app watchfolder    one of them
    python -m tests.mutants --part 3/25          a share of them; all shares together are every one
    python -m tests.mutants --sample 3 --seed 1  a few, always the same ones for a seed

There is one module per application (`watchfolder.py`, …) with two names:

    MUTANTS  a list of `Mutant`: one piece of source replaced by another, and the tests that must fail
    EXEMPT   {beginning of a row: why no mutation can break that rule}; the row says so, too

A rule is named by the beginning of its row's first cell, long enough to fit one row only. The tests
of a mutant are some of those that the row names: a row is true only if they notice.
"""
