"""A run that is cut short: `test_cut.py` starts it, and no other run finds it by its name."""

import os
import subprocess
import sys
import threading
from pathlib import Path

from ostinato._core.db.embedded import Server


def test_that_never_ends(server: Server) -> None:
    waits = [sys.executable, "-c", "import signal; signal.pause()"]
    service = subprocess.Popen(waits, start_new_session=True)
    told = Path(os.environ["OSTINATO_TEST_TOLD"])
    told.with_suffix(".new").write_text(f"{server.pid} {service.pid}")
    told.with_suffix(".new").rename(told)
    threading.Event().wait()
