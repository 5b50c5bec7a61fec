"""The shops: small programs with a framework, whose own tests are run as their reader would run them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SHOPS = sorted((Path(__file__).parents[2] / "examples").glob("shop-*"))


@pytest.mark.slow
@pytest.mark.parametrize("shop", SHOPS, ids=lambda shop: shop.name)
def test_the_tests_of_a_shop_pass(shop: Path) -> None:
    mine = {name: value for name, value in os.environ.items() if not name.startswith(("OSTINATO_", "PYTEST_"))}

    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=shop,
        env=mine,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0, ended.stdout
    assert " passed" in ended.stdout


def test_there_is_a_shop_for_each_framework() -> None:
    assert [shop.name for shop in SHOPS] == ["shop-django", "shop-fastapi"]
