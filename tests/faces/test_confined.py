"""Everything runs as a container would run it: no root, no capability, and a file system that cannot be written."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import httpx
import psutil  # type: ignore[import-untyped]
import pytest

from tests.faces.conftest import Shell
from tests.faces.processes import running
from tests.needs import lacking
from tests.waiting import until

# Only the folder can be written, not even /tmp or /dev/shm. Then a user without rights takes the place of the one that
# mounted it.
CONFINE = """
set -e
cd "$1"
mount --bind . .
mount -o remount,bind,ro /
mount -o remount,bind,ro /dev/shm
cd "$1"
shift
exec unshare --user --map-user=1000 --map-group=1000 setpriv --inh-caps=-all --no-new-privs "$@"
"""
NONE = f"{0:016x}"


def confined(folder: Path) -> Sequence[str]:
    """What a command runs under."""
    under = ["unshare", "--user", "--map-root-user", "--mount", "--propagation", "private"]
    under += ["sh", "-c", CONFINE, "sh", str(folder)]
    if shutil.which("unshare") is None or shutil.which("setpriv") is None:
        lacking("namespace", "unshare and setpriv are not here")
    tried = subprocess.run([*under, "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        lacking("namespace", f"no name space of its own can be made here: {tried.stderr.strip()}")
    return under


def facts(pid: int) -> dict[str, str]:
    """What the kernel says of a process."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


@pytest.mark.slow
def test_everything_runs_without_rights_on_a_file_system_that_cannot_be_written(tmp_path: Path) -> None:
    under = confined(tmp_path)
    outside = subprocess.run(
        [*under, "sh", "-c", "id -u; touch /tmp/x /dev/shm/x"], capture_output=True, text=True, check=False
    )
    assert (outside.stdout, outside.stderr.count("Read-only")) == ("1000\n", 2)
    shell = Shell({"OSTINATO_DATA_DIR": str(tmp_path / ".ostinato")})

    with running(tmp_path, {"TMPDIR": str(tmp_path)}, "up", "--no-demo", "--json", under=under) as up:
        ready = up.event("ready")
        job_id = shell.json("enqueue", "tour.greet", "name=Ada")["id"]
        until(lambda: shell.json("jobs", "show", str(job_id))["state"] == "done")
        health = httpx.get(f"{ready['url']}/health/ready", trust_env=False, timeout=60)
        family = [psutil.Process(up.process.pid), *psutil.Process(up.process.pid).children(recursive=True)]
        rights = {(each["CapEff"], each["CapPrm"], each["NoNewPrivs"]) for each in (facts(one.pid) for one in family)}
        up.signal()

        assert up.ended() == 0

    assert health.status_code == 200
    assert rights == {(NONE, NONE, "1")}
