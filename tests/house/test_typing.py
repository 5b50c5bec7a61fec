"""What the surface promises to editors holds for pyright too; mypy reads the same file in `make check`."""

import json
import subprocess
import sys

from tests.house.source import ROOT

PROMISES = ROOT / "tests" / "typing" / "api.py"


def test_pyright_refuses_exactly_the_lines_that_promise_an_error() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--outputjson", "--level", "error", str(PROMISES)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    found = {each["range"]["start"]["line"] + 1 for each in json.loads(ran.stdout)["generalDiagnostics"]}
    promised = {
        number
        for number, line in enumerate(PROMISES.read_text().splitlines(), 1)
        if "# type: ignore" in line or "# refused by pyright" in line
    }
    assert found == promised
