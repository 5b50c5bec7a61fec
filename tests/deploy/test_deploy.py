"""What is in deploy/: units, a container file, compose and a chart, checked by their own programs and schemas."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import kubernetes_validate
import pytest
import yaml  # type: ignore[import-untyped]  # it has no types of its own

from ostinato._core.base.settings import Settings
from tests.house.source import ROOT
from tests.needs import lacking, needs

DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
CHART = DEPLOY / "helm" / "ostinato"
HELM = Path(sys.executable).with_name("helm")
KUBERNETES = ("1.30", "1.33", "1.37")
MOST_EXPOSED = "--threshold=20"  # 2.0 of 10; systemd calls up to 2.5 OK
EVERYTHING = ("autoscaling.enabled=true", "autoscaling.queue=mail", "worker.queues=mail")
systemd = needs("systemd", here=shutil.which("systemd-analyze") is not None, reason="no systemd-analyze here")


def sections(unit: Path) -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for line in unit.read_text().splitlines():
        if line.startswith("["):
            found[line.strip("[]")] = []
        elif "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            found[list(found)[-1]].append((name, value))
    return found


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_a_unit_drains_restarts_and_stops_where_a_restart_cannot_help(unit: Path) -> None:
    service = dict(sections(unit)["Service"])

    assert service["Restart"] == "always"
    assert service["RestartPreventExitStatus"] == "2 78"
    assert int(service["TimeoutStopSec"]) > Settings().drain_seconds + Settings().cancel_grace_seconds
    assert service["DynamicUser"] == "yes"


@systemd
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)
def test_systemd_takes_a_unit_and_finds_it_hardly_exposed(unit: Path, tmp_path: Path) -> None:
    name = unit.name.replace("@.", "@1.")
    here = unit.read_text().replace("/opt/ostinato/bin", str(Path(sys.executable).parent))
    environment = tmp_path / "ostinato.env"
    environment.touch()
    (tmp_path / name).write_text(here.replace("/etc/ostinato/ostinato.env", str(environment)))

    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", tmp_path / name],
        capture_output=True,
        text=True,
        check=False,
    )
    exposed = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--no-pager", MOST_EXPOSED, tmp_path / name],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (verified.returncode, verified.stderr) == (0, "")
    assert exposed.returncode == 0, exposed.stdout[-2000:]


def test_the_container_file_has_two_stages_no_root_and_a_health_check() -> None:
    text = (DEPLOY / "container" / "Containerfile").read_text()
    words = [line.split()[0] for line in text.splitlines() if re.match(r"^[A-Z]+ ", line)]

    assert words.count("FROM") == 2
    assert {"USER", "HEALTHCHECK", "STOPSIGNAL", "ENTRYPOINT"} <= set(words)
    assert re.search(r"^USER [1-9]\d+", text, re.MULTILINE)
    assert "--require-hashes" in text
    copied = [name for line in re.findall(r"^COPY (?!--from)(.+)$", text, re.MULTILINE) for name in line.split()[:-1]]
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_compose_fits_its_specification_and_starts_two_workers() -> None:
    schema = json.loads(
        (resources.files("check_jsonschema") / "builtin_schemas" / "vendor" / "compose-spec.json").read_text()
    )
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())

    jsonschema.validate(compose, schema, format_checker=jsonschema.FormatChecker())

    services = compose["services"]
    assert set(services) == {"database", "migrate", "worker", "api"}
    assert services["worker"]["deploy"]["replicas"] == 2
    for name in ("worker", "api"):
        assert services[name]["init"]
        assert services[name]["read_only"]
        grace = int(services[name]["stop_grace_period"].removesuffix("s"))
        assert grace > Settings().drain_seconds + Settings().cancel_grace_seconds


def test_the_settings_that_deploy_names_are_settings() -> None:
    files = [path for path in DEPLOY.rglob("*") if path.is_file() and path.suffix != ".json"]
    named = {name for path in files for name in re.findall(r"\bOSTINATO_[A-Z_]+\b", path.read_text())}
    known = {f"OSTINATO_{name.upper()}" for name in Settings.__dataclass_fields__}

    assert sorted(named - known) == []


@cache
def rendered(*values: str) -> tuple[dict[str, Any], ...]:
    told = [word for value in values for word in ("--set", value)]
    ran = subprocess.run([HELM, "template", "shop", CHART, *told], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return tuple(each for each in yaml.safe_load_all(ran.stdout) if each)


def of_kind(kind: str, *values: str) -> Iterator[dict[str, Any]]:
    yield from (each for each in rendered(*values) if each["kind"] == kind)


def test_the_how_to_makes_each_secret_that_the_chart_takes_with_what_its_values_ask() -> None:
    """The hook that migrates waits for its secret for ever, so a page that leaves one out describes no installation."""
    values = (CHART / "values.yaml").read_text()
    page = (ROOT / "docs" / "howto" / "kubernetes.md").read_text().replace("\\\n", " ")
    made = {
        name: set(re.findall(r"--from-literal=(\w+)=", rest))
        for name, rest in re.findall(r"kubectl create secret generic (\S+)([^\n]*)", page)
    }

    assert set(made) == set(yaml.safe_load(values)["secrets"].values())
    assert made["ostinato-worker"] == {"OSTINATO_DATABASE_URL", "OSTINATO_SECRET_KEY"}
    assert made["ostinato-api"] == made["ostinato-worker"] | {"OSTINATO_API_DATABASE_URL"}
    assert made["ostinato-migrate"] == {"OSTINATO_DATABASE_URL", "OSTINATO_ADMIN_URL"}
    assert "password ostinato_worker" in page
    assert "password ostinato_api" in page


def test_the_chart_passes_the_linter() -> None:
    ran = subprocess.run([HELM, "lint", "--strict", CHART], capture_output=True, text=True, check=False)

    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("values", [(), EVERYTHING, ("api.enabled=false",)], ids=["default", "everything", "workers"])
def test_what_the_chart_makes_fits_the_schemas_of_kubernetes(values: tuple[str, ...], version: str) -> None:
    for each in rendered(*values):
        kubernetes_validate.validate(each, version, strict=True)


def test_a_pod_of_the_chart_drains_before_it_is_killed() -> None:
    for deployment in of_kind("Deployment"):
        pod = deployment["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        told = next(word for word in container["args"] if word.startswith("--drain-seconds="))
        drain = int(told.partition("=")[2])

        assert pod["terminationGracePeriodSeconds"] > drain + 5
        assert "preStop" in container["lifecycle"]
        assert {"startupProbe", "livenessProbe"} <= set(container)
        assert pod["securityContext"]["runAsNonRoot"]
        assert container["securityContext"]["readOnlyRootFilesystem"]
    (api,) = (each for each in of_kind("Deployment") if each["metadata"]["name"].endswith("-api"))
    assert "readinessProbe" in api["spec"]["template"]["spec"]["containers"][0]


def test_nothing_of_ours_has_a_right_in_its_container_that_it_does_not_need() -> None:
    """Check 24 of docs/security.md: no root, no capability, no way to gain one, nothing to write but its folders."""
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    for name in services.keys() - {"database"}:
        service = services[name]
        assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
        assert service["security_opt"] == ["no-new-privileges:true"]
    pods = [each["spec"]["template"]["spec"] for kind in ("Deployment", "Job") for each in of_kind(kind)]
    assert len(pods) == 3
    for pod in pods:
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in (*pod["containers"], *pod.get("initContainers", ())):
            context = container["securityContext"]
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert (context["allowPrivilegeEscalation"], context["readOnlyRootFilesystem"]) == (False, True)
    for unit in UNITS:
        service = dict(sections(unit)["Service"])
        assert (service["NoNewPrivileges"], service["CapabilityBoundingSet"]) == ("yes", "")
        assert service["ProtectSystem"] == "strict"


def test_every_deployment_has_a_budget_that_selects_its_pods() -> None:
    chosen = [each["spec"]["selector"]["matchLabels"] for each in of_kind("PodDisruptionBudget")]

    for deployment in of_kind("Deployment"):
        labels = deployment["spec"]["template"]["metadata"]["labels"]
        assert any(each.items() <= labels.items() for each in chosen)


def test_workers_are_scaled_by_the_depth_of_their_queue() -> None:
    (scaler,) = of_kind("HorizontalPodAutoscaler", *EVERYTHING)
    (metric,) = scaler["spec"]["metrics"]
    names = (ROOT / "docs" / "reference" / "metrics.md").read_text()

    assert scaler["spec"]["scaleTargetRef"]["name"] in {each["metadata"]["name"] for each in of_kind("Deployment")}
    assert f"`{metric['external']['metric']['name']}`" in names
    assert list(of_kind("HorizontalPodAutoscaler")) == []
    scaled = [each for each in of_kind("Deployment", *EVERYTHING) if each["metadata"]["name"].endswith("-worker")]
    assert "replicas" not in scaled[0]["spec"]


@pytest.mark.proof
def test_the_container_starts_where_there_is_a_runtime(tmp_path: Path) -> None:
    program = shutil.which("podman") or shutil.which("docker")
    if program is None or subprocess.run([program, "info"], capture_output=True, check=False).returncode != 0:
        lacking("containers", "no container runtime answers here")
    file = DEPLOY / "container" / "Containerfile"
    subprocess.run([program, "build", "-q", "-f", file, "-t", "ostinato-test", ROOT], check=True)

    ran = subprocess.run(
        [program, "run", "--rm", "ostinato-test", "--version"], capture_output=True, text=True, check=True
    )

    assert "0.1.0" in ran.stdout
