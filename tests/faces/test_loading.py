"""Finding an app by its name."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostinato._core.base.errors import NotConfigured
from ostinato._faces.cli.frame.loading import load_app, load_apps


@pytest.fixture(autouse=True)
def _modules_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(sys, "path", sys.path[:])
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A package with an app in the working directory."""
    package = tmp_path / "shop"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "jobs.py").write_text('from ostinato import App\napp = App("shop")\nother = App("other")\nnumber = 7\n')
    (package / "broken.py").write_text("import shop.jobs\n\nraise RuntimeError('boom')\n")
    (package / "missing.py").write_text("import not_installed_anywhere\n")
    (package / "empty.py").touch()
    return package


@pytest.mark.usefixtures("shop")
def test_an_app_is_found_in_the_working_directory() -> None:
    assert load_app("shop.jobs:app").name == "shop"
    assert load_app("shop.jobs").name == "shop"
    assert load_app("shop.jobs:other").name == "other"


@pytest.mark.usefixtures("shop")
def test_an_app_that_is_named_twice_is_loaded_once() -> None:
    assert [app.name for app in load_apps(["shop.jobs", "shop.jobs:app"])] == ["shop"]


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("path", "said", "hint"),
    [
        ("shop.job:app", "there is no module shop.job;", "Did you mean shop.jobs?"),
        ("shp.jobs:app", "there is no module shp;", "Did you mean shop?"),
        ("zzz:app", "and in the installed packages", "Run it in the folder"),
        ("shop.jobs.app:app", "shop.jobs is no package", "Run it in the folder"),
        ("shop.jobs:ap", "ap is not there", "It has: shop.jobs:app, shop.jobs:other."),
        ("shop.jobs:number", "number is of type int, not an App", "It has: shop.jobs:app"),
        ("shop.empty", "app is not there", 'app = App("empty")'),
        ("shop/jobs.py", "does not name an app", "--app shop.jobs:app"),
        ("./shop/jobs.py:other", "does not name an app", "--app shop.jobs:other"),
        ("shop.jobs:a b", "does not name an app", "package.module:name"),
        (":app", "does not name an app", "package.module:name"),
        ("shop.broken", "RuntimeError: boom", "--debug"),
        ("shop.missing", "No module named 'not_installed_anywhere'", "--debug"),
    ],
)
def test_an_app_that_cannot_be_found_is_an_error_that_helps(path: str, said: str, hint: str) -> None:
    with pytest.raises(NotConfigured) as caught:
        load_app(path)

    assert path in caught.value.message
    assert said in caught.value.message
    assert hint in (caught.value.hint or "")


@pytest.mark.usefixtures("shop")
def test_an_error_in_the_module_names_the_line() -> None:
    with pytest.raises(NotConfigured, match=r"broken\.py, line 3"):
        load_app("shop.broken")
