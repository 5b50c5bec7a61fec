"""Every rule of the specifications has a mutant that its named tests must notice, or says why not."""

from pathlib import Path

import pytest

from tests.house.source import ROOT
from tests.mutants.mutant import Listed, listed
from tests.mutants.rows import rows

LISTS = listed().values()
# Specifications without a list of mutants: how much their tests notice is not known.
NOT_YET: set[str] = set()


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "specs").glob("*.md")), ids=lambda page: page.stem)
def test_every_specification_has_mutants_or_is_named_as_one_without(page: Path) -> None:
    has_mutants = page.stem in listed() and bool(listed()[page.stem].mutants)

    assert has_mutants == (page.stem not in NOT_YET)


def test_what_is_named_is_a_specification() -> None:
    assert {*NOT_YET, *listed()} == {page.stem for page in (ROOT / "docs" / "specs").glob("*.md")}


@pytest.mark.parametrize("each", LISTS, ids=lambda each: each.app)
def test_every_rule_has_a_mutant_or_a_reason(each: Listed) -> None:
    named = [*(mutant.rule for mutant in each.mutants), *each.exempt]

    bare = [row.rule for row in rows(each.app) if not any(row.rule.startswith(name) for name in named)]

    assert not bare


@pytest.mark.parametrize("each", LISTS, ids=lambda each: each.app)
def test_a_mutant_names_one_row_and_tests_of_it(each: Listed) -> None:
    wrong = []
    for rule, tests in [
        *((mutant.rule, mutant.tests) for mutant in each.mutants),
        *((name, ()) for name in each.exempt),
    ]:
        fitting = [row for row in rows(each.app) if row.rule.startswith(rule)]
        if len(fitting) != 1:
            wrong.append(f"{rule}: {len(fitting)} rows begin so")
        elif missing := set(tests) - fitting[0].tests:
            wrong.append(f"{rule}: its row does not name {', '.join(sorted(missing))}")

    assert not wrong


@pytest.mark.parametrize("each", LISTS, ids=lambda each: each.app)
def test_the_text_of_every_mutant_is_there_once(each: Listed) -> None:
    for mutant in each.mutants:
        assert mutant.text() != mutant.path().read_text("utf-8")
        assert mutant.tests


@pytest.mark.parametrize("each", LISTS, ids=lambda each: each.app)
def test_a_reason_is_given_for_what_has_no_mutant(each: Listed) -> None:
    broken = {mutant.rule for mutant in each.mutants}

    assert not broken & set(each.exempt)
    assert all(len(reason.split()) > 3 for reason in each.exempt.values())


@pytest.mark.parametrize("each", LISTS, ids=lambda each: each.app)
def test_a_rule_without_a_mutant_says_why_on_its_page(each: Listed) -> None:
    lines = (ROOT / "docs" / "specs" / f"{each.app}.md").read_text("utf-8").splitlines()
    said = {
        line.partition(" No mutant: ")[0]: line.partition(" No mutant: ")[2] for line in lines if "No mutant: " in line
    }

    assert len(said) == len(each.exempt)
    for rule, reason in each.exempt.items():
        assert [why for row, why in said.items() if row.startswith(f"| {rule}") and why.startswith(f"{reason} |")]
