"""The wheel in empty environments: alone, and with all extras.

Nothing is fetched. An environment gets the wheel, and of what is installed here exactly the
packages that the wheel's metadata asks for: whatever else it needed would be missing there.
"""

import json
import os
import re
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import httpx
import pytest

from ostinato._core.db.embedded import Server, Urls
from tests.conftest import copy_of_engine
from tests.slow import first_only
from tests.wheels import build_wheel, closure, link, pip

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
APPS = ("capture", "enrichment", "outbound", "rounds", "watchfolder")
SURFACE = sorted(file.stem for file in (ROOT / "src" / "ostinato").glob("*.py") if not file.stem.startswith("_"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


class Environment:
    """An interpreter of its own, with the wheel and what it asks for."""

    def __init__(self, folder: Path, wheel: Path, extra: str = "") -> None:
        self.folder = folder
        self.bin = folder / "env" / "bin"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True)
        python = str(self.bin / "python")
        pip("--python", python, "install", "--quiet", "--no-index", "--no-deps", str(wheel))
        (site,) = (folder / "env" / "lib").glob("python*/site-packages")
        (info,) = site.glob("ostinato-*.dist-info")
        link(closure(metadata.PathDistribution(info).requires or [], extra), site)

    def doctor(self, **env: str) -> dict[str, dict[str, Any]]:
        """What the doctor finds, by check; the server of the tests is in a hurry."""
        found = self.run("doctor", code=1, env=env)["findings"]
        assert [each["check"] for each in found if each["level"] == "fail"] == ["durability"]
        return {each["check"]: each for each in found}

    def run(self, *words: str, code: int = 0, env: dict[str, str]) -> Any:  # noqa: ANN401 - the document
        """Type a command, which must end with this exit code; what it answers with --json."""
        ran = subprocess.run(
            [self.bin / "ostinato", *words, "--json"],
            cwd=self.folder,
            env=self.around(env),
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == code, f"{words}: {ran.stdout}\n{ran.stderr}"
        return json.loads(ran.stdout)

    def serve(self, *words: str, **env: str) -> tuple[dict[str, Any], str]:
        """Run a command until it is ready, then stop it; what it said of itself, and on stderr."""
        return self.visit(words, lambda _: None, env)

    def visit(
        self, words: Sequence[str], look: Callable[[dict[str, Any]], None], env: dict[str, str]
    ) -> tuple[dict[str, Any], str]:
        """The same, and look at it while it runs."""
        with (self.folder / "stderr").open("w+") as errors:
            process = subprocess.Popen(
                [self.bin / "ostinato", *words, "--json"],
                cwd=self.folder,
                env=self.around(env),
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
            with process:
                assert process.stdout is not None
                told: dict[str, Any] = next((json.loads(line) for line in process.stdout), {})
                try:
                    if told:
                        look(told)
                finally:
                    process.send_signal(signal.SIGTERM)
                    process.stdout.read()  # that it stopped
            errors.seek(0)
            said = errors.read()
        assert (process.returncode, told.get("event")) == (0, "ready"), said
        return told, said

    def around(self, env: dict[str, str]) -> dict[str, str]:
        """The environment without anything that leads back here."""
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME")}
        return kept | {"OSTINATO_API_PORT": "0"} | env


@pytest.fixture(scope="module")
def plain(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    return Environment(tmp_path_factory.mktemp("plain"), wheel)


@pytest.fixture
def urls(shared_server: Server) -> Iterator[Urls]:
    yield copy_of_engine(shared_server, "wheel")
    shared_server.drop_database("wheel")


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    """Templates, styles, scripts, catalogues, fonts: whatever is no module has to be named to be packed."""
    source = ROOT / "src"
    wanted = {
        str(file.relative_to(source))
        for file in (source / "ostinato").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }

    assert {Path(name).suffix for name in wanted} >= {".sql", ".html", ".css", ".js", ".svg", ".po", ".typed"}
    assert sorted(wanted - set(zipfile.ZipFile(wheel).namelist())) == []


def test_the_plain_install_runs_jobs_on_a_database_that_is_there(plain: Environment, urls: Urls) -> None:
    env = {"OSTINATO_DATABASE_URL": urls.worker, "OSTINATO_ADMIN_URL": urls.admin}

    ready, said = plain.serve("up", **env)
    assert (ready["url"], ready["sandbox"], len(ready["workers"])) == (None, None, 1)
    assert "pip install 'ostinato[api]'" in said
    worker, _ = plain.serve("worker", "--app", "ostinato.lab.tour:app", **env)
    assert "tour.greet" in worker["kinds"]
    found = plain.doctor(**env)
    for app in APPS:
        assert found[app]["message"].startswith("not installed: ")
        assert found[app]["hint"] == f"pip install 'ostinato[{app}]'"


def test_the_plain_install_lists_the_commands_of_all_and_complains_of_none(plain: Environment) -> None:
    ran = subprocess.run(
        [plain.bin / "ostinato", "--help"],
        cwd=plain.folder,
        env=plain.around({}),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ran.returncode, ran.stderr) == (0, "")
    for name in ("worker", "sandbox", "capture", "rounds", "watch"):
        assert f" {name} " in ran.stdout


def test_everything_public_but_the_web_can_be_imported_there(plain: Environment) -> None:
    imports = "\n".join(f"import ostinato.{name}" for name in SURFACE if name != "web")
    refused = "try:\n import ostinato.web\nexcept ostinato.OstinatoError as error:\n print(error)"

    ran = subprocess.run(
        [plain.bin / "python", "-c", f"import ostinato\n{imports}\n{refused}"],
        env=plain.around({}),
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    assert "pip install 'ostinato[api]'" in ran.stdout


@pytest.mark.parametrize(
    ("words", "extra"),
    first_only(
        [
            (("up",), "embedded"),
            (("up", "--demo"), "lab"),
            (("up", "--only", "api"), "api"),
            (("api",), "api"),
            (("sandbox",), "lab"),
            (("demo",), "lab"),
            (("capture", "new-kek", "k"), "capture"),
            (("rounds", "next", "1"), "rounds"),
            (("watch", "scans"), "watchfolder"),
            (("worker", "--app", "ostinato.apps.outbound:APP"), "outbound"),
        ]
    ),
)
def test_a_part_that_is_not_installed_says_which_command_installs_it(
    plain: Environment, words: tuple[str, ...], extra: str
) -> None:
    ran = subprocess.run(
        [plain.bin / "ostinato", *words],
        cwd=plain.folder,
        env=plain.around({}),
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode != 0, ran.stdout + ran.stderr
    assert f"pip install 'ostinato[{extra}]'" in ran.stderr
    assert "Traceback" not in ran.stderr


def see_the_console(ready: dict[str, Any]) -> None:
    """Open the page that asks for a key, and what it draws itself with; each comes from the wheel."""
    with httpx.Client(base_url=ready["url"], trust_env=False, timeout=60, headers={"Accept": "text/html"}) as http:
        page = http.get("/console/sign-in")
        assert page.status_code == 200, page.text
        drawn_with = re.findall(r'(?:href|src)="(/console/static/[^"]+)"', page.text)
        assert {path.rpartition(".")[2] for path in drawn_with} == {"css", "js", "svg"}
        for path in drawn_with:
            found = http.get(path)
            assert (found.status_code, len(found.content) > 100) == (200, True), path
        french = http.get("/console/sign-in", headers={"Accept-Language": "fr"})
        assert "Se connecter" in french.text


@pytest.mark.proof
def test_with_all_extras_everything_starts_from_nothing(wheel: Path, tmp_path: Path, urls: Urls) -> None:
    whole = Environment(tmp_path, wheel, "all")
    env = {"OSTINATO_DATABASE_URL": urls.worker, "OSTINATO_ADMIN_URL": urls.admin}

    ready, _ = whole.visit(["up"], see_the_console, {})
    assert ready["url"].startswith("http://127.0.0.1:")
    assert ready["sandbox"].startswith("http://127.0.0.1:")
    whole.run("db", "migrate", env=env)
    worker, _ = whole.serve("worker", "--app", "installed", **env)
    assert {kind.partition(".")[0] for kind in worker["kinds"]} >= set(APPS)
    found = whole.doctor(**env)
    assert not any("not installed" in found[app]["message"] for app in APPS if app in found)
