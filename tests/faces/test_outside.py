"""An application outside the package works like ours: installed by an entry point, or by --app.

`tests.faces.laundry` brings one of everything; each test looks at one part of it, on a system that
`ostinato up --demo` runs.
"""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from ostinato._core.db.embedded import Server, Urls
from ostinato._faces.cli.brought import bring
from tests.conftest import copy_of_engine
from tests.faces.processes import Running, running
from tests.slow import first_only

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
APP = "tests.faces.laundry:APP"
DOCTOR = 1  # the server of the tests is not durable, which it says


def install(folder: Path, entry_point: str = APP, *, requires: str = "") -> str:
    """Make a folder in which the laundry is installed; what PYTHONPATH has to be."""
    info = folder / "laundry-1.0.dist-info"
    info.mkdir(parents=True)
    about = ["Metadata-Version: 2.1", "Name: laundry", "Version: 1.0"]
    if requires:
        about += ["Provides-Extra: laundry", f'Requires-Dist: {requires}; extra == "laundry"']
    (info / "METADATA").write_text("\n".join(about) + "\n")
    (info / "entry_points.txt").write_text(f"[ostinato.apps]\nlaundry = {entry_point}\n")
    return f"{folder}{os.pathsep}{ROOT}"


@dataclass
class Outside:
    """A database, a folder to work in, and how the application is found."""

    urls: Urls
    folder: Path
    path: str
    flags: tuple[str, ...] = ()
    up: Running | None = None
    ready: dict[str, Any] = field(default_factory=dict)

    @property
    def env(self) -> dict[str, str]:
        return {
            "OSTINATO_DATABASE_URL": self.urls.worker,
            "OSTINATO_ADMIN_URL": self.urls.admin,
            "OSTINATO_API_DATABASE_URL": self.urls.api,
            "PYTHONPATH": self.path,
        }

    def run(self, *args: str, code: int = 0, **env: str) -> "subprocess.CompletedProcess[str]":
        """Type a command, which must end with this exit code."""
        ran = subprocess.run(
            [sys.executable, "-m", "ostinato", *args, *self.flags],
            cwd=self.folder,
            env=os.environ | self.env | env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == code, f"{args}: {ran.stdout}\n{ran.stderr}"
        return ran

    def json(self, *args: str, code: int = 0, **env: str) -> Any:  # noqa: ANN401 - the document
        return json.loads(self.run(*args, "--json", code=code, **env).stdout)

    @property
    def key(self) -> str:
        return (self.folder / ".ostinato" / "demo-key").read_text().strip()

    def get(self, path: str) -> httpx.Response:
        return httpx.get(
            f"{self.ready['url']}{path}", headers={"Authorization": f"Bearer {self.key}"}, trust_env=False, timeout=60
        )

    def signed_in(self) -> httpx.Client:
        """A browser without scripts, in which somebody has signed in to the console."""
        browser = httpx.Client(base_url=self.ready["url"], trust_env=False, timeout=60, headers={"Accept": "text/html"})
        entered = browser.post("/console/sign-in", data={"key": self.key})
        assert entered.status_code == 303, entered.text
        return browser


@pytest.fixture(scope="module", params=first_only(["by its entry point", "by --app"]))
def outside(
    request: pytest.FixtureRequest, shared_server: Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Outside]:
    """The application, migrated and running with everything."""
    is_named = request.param == "by --app"
    folder = tmp_path_factory.mktemp("outside")
    (folder / "ostinato.toml").write_text("[laundry]\nspeed = 700\n")
    path = str(ROOT) if is_named else install(folder / "site")
    flags = ("--app", APP) if is_named else ()
    name = "outside_named" if is_named else "outside_installed"
    made = Outside(copy_of_engine(shared_server, name), folder, path, flags)
    with running(folder, made.env, "up", "--demo", "--json", *flags) as up:
        made.ready = up.event("ready")
        yield made
        up.signal(signal.SIGINT)
        assert up.ended() == 0


@pytest.fixture
def idle(shared_server: Server, tmp_path: Path) -> Iterator[Outside]:
    """Nothing runs; how the application is found is for the test to say."""
    urls = copy_of_engine(shared_server, "outside_idle")
    yield Outside(urls, tmp_path, str(ROOT))
    shared_server.drop_database("outside_idle")


def test_its_table_is_migrated(outside: Outside) -> None:
    with psycopg.connect(outside.urls.admin) as conn:
        found = conn.execute("select to_regclass('laundry.basket')::text").fetchone()

    assert found == ("laundry.basket",)
    parts = outside.json("db", "status")["components"]
    assert "laundry" in [part["name"] for part in parts]


def test_its_command_is_listed_and_runs(outside: Outside) -> None:
    assert "Look at what was washed." in outside.run("--help").stdout
    assert outside.run("laundry", "baskets").stdout.endswith("700 turns\n")


def test_its_setting_comes_from_the_file_or_the_environment(outside: Outside) -> None:
    assert outside.json("laundry", "baskets")["speed"] == 700
    assert outside.json("laundry", "baskets", OSTINATO_LAUNDRY_SPEED="900")["speed"] == 900
    refused = outside.json("laundry", "baskets", code=2, OSTINATO_LAUNDRY_SPED="900")["error"]
    assert refused["hint"] == "Did you mean OSTINATO_LAUNDRY_SPEED?"


def test_a_worker_refuses_a_misspelt_setting_before_it_runs_anything(outside: Outside) -> None:
    app = () if outside.flags else ("--app", "installed")

    refused = outside.json("worker", *app, code=2, OSTINATO_LAUNDRY_SPED="900")["error"]

    assert "OSTINATO_LAUNDRY_SPED" in refused["message"]


def test_its_route_is_answered_and_its_job_runs_in_the_demo(outside: Outside) -> None:
    told = outside.json("demo", "--scenario", "laundry")

    assert told["holds"], told
    answer = outside.get("/api/v1/laundry/baskets").json()
    assert (answer["washed"] > 0, answer["speed"]) == (True, 700)
    assert "laundry.wash" in {kind for each in outside.ready["workers"] for kind in each["kinds"]}


def test_its_metric_is_on_the_page(outside: Outside) -> None:
    assert "ostinato_laundry_washed " in httpx.get(outside.ready["metrics"], trust_env=False, timeout=60).text
    assert outside.get("/metrics").status_code == 404
    assert "ostinato_laundry_washed " in outside.run("metrics", "--prometheus").stdout


def test_its_panels_are_answered(outside: Outside) -> None:
    panels = outside.get("/api/v1/engine/panels/laundry").json()["panels"]

    assert panels[0]["title"] == "Laundry"


def test_its_pages_are_in_the_console_and_a_button_there_does_what_it_says(outside: Outside) -> None:
    with closing(outside.signed_in()) as browser:
        front = browser.get("/console/apps/laundry")
        assert (front.status_code, "Baskets" in front.text) == (200, True), front.text
        page = browser.get("/console/apps/laundry/baskets", headers={"Accept-Language": "fr"})
        assert "En laver un" in page.text
        assert "Blanchisserie" in page.text
        token = re.findall(r'name="token" value="([0-9a-f]{64})"', page.text)[0]

        done = browser.post("/console/apps/laundry/do/wash", data={"token": token})

        assert done.status_code == 303, done.text
        assert "washes it" in browser.get(done.headers["location"]).text
    (entry,) = [each for each in outside.json("audit")["entries"] if each["verb"] == "wash"]
    assert entry["noun"] == "laundry"


def test_its_alert_is_watched(outside: Outside) -> None:
    watched = outside.json("alerts", "list")["alerts"]

    assert "laundry.heaped" in [each["name"] for each in watched]
    assert "laundry.heaped" in outside.run("alerts", "rules").stdout


def test_doctor_asks_it(outside: Outside) -> None:
    def findings(speed: str) -> list[tuple[str, str]]:
        found = outside.json("doctor", code=DOCTOR, OSTINATO_LAUNDRY_SPEED=speed)["findings"]
        return [(each["level"], each["message"]) for each in found if each["check"] == "laundry"]

    assert findings("900") == [("ok", "has what it needs on this machine")]
    assert findings("100") == [("warn", "the machine is slow")]


def test_its_stand_in_is_in_the_sandbox(outside: Outside) -> None:
    url = outside.ready["sandbox"]
    shown = httpx.get(f"{url}/_sandbox", trust_env=False, timeout=60).json()

    assert "mains" in shown["sandbox"]
    assert httpx.get(f"{url}/mains/pressure", trust_env=False, timeout=60).json() == 3


def test_its_machine_is_on_the_reference_page(idle: Outside) -> None:
    path = install(idle.folder / "site")
    text = "from tools import machines; print(machines.page())"
    ran = subprocess.run(
        [sys.executable, "-c", text], env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=True
    )

    assert "## laundry_basket" in ran.stdout


def test_an_application_that_cannot_be_imported_breaks_only_itself(idle: Outside) -> None:
    idle.path = install(idle.folder / "site", "nowhere.laundry:APP")

    listed = idle.run("--help")
    assert "laundry brings no commands" in listed.stderr
    assert "doctor" in listed.stdout
    assert idle.json("jobs", "list")["jobs"] == []
    found = {each["check"]: each for each in idle.json("doctor", code=DOCTOR)["findings"]}
    assert "nowhere" in found["applications"]["message"]


def test_an_application_whose_extra_is_missing_says_how_to_install_it(idle: Outside) -> None:
    idle.path = install(idle.folder / "site", requires="no-such-soap>=1")
    how = "pip install 'laundry[laundry]'"

    assert "Look at what was washed." in idle.run("--help").stdout
    refused = idle.json("laundry", "baskets", code=2)["error"]
    assert refused["message"] == "laundry is not installed: no-such-soap is missing"
    assert refused["hint"] == how
    assert idle.json("worker", "--app", APP, code=2)["error"]["hint"] == how
    idle.run("db", "migrate")
    found = {each["check"]: each for each in idle.json("doctor", code=DOCTOR)["findings"]}
    assert found["laundry"]["level"] == "ok"
    assert found["laundry"]["message"] == "not installed: no-such-soap is missing"
    assert found["laundry"]["hint"] == how


def test_a_worker_of_another_application_runs_without_it(idle: Outside) -> None:
    idle.path = install(idle.folder / "site", requires="no-such-soap>=1")

    with running(idle.folder, idle.env, "worker", "--app", "ostinato.lab.tour:app", "--json") as worker:
        assert "tour.greet" in worker.event("ready")["kinds"]
        worker.signal()
        assert worker.ended() == 0


def test_two_commands_of_one_name_are_said_and_the_first_stays(idle: Outside) -> None:
    idle.path = install(idle.folder / "site")
    idle.flags = ("--app", APP)

    assert "'laundry', which is there already" in idle.run("--help").stderr


def test_all_that_are_installed_are_no_application_to_look_for(capsys: pytest.CaptureFixture[str]) -> None:
    """`up` names them so to the processes that it starts."""
    bring({}, ["installed"], json=False)

    assert capsys.readouterr().err == ""
