"""What people see of a fault: the commands, as they are run."""

import json
import os
import subprocess
import sys
from typing import Any


def doctor(url: str, check: str) -> dict[str, Any]:
    """What `ostinato doctor` says about one thing."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("OSTINATO_")}
    said = subprocess.run(
        [sys.executable, "-m", "ostinato", "doctor", "--json"],
        env=env | {"OSTINATO_DATABASE_URL": url},
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    (found,) = [each for each in json.loads(said)["findings"] if each["check"] == check]
    return dict(found)
