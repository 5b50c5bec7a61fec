"""A process that uses the embedded server of a folder until its standard input is closed.

    python holder.py <data_dir> [keep]

It says `<owned> <pid of the server>` once it is there.
"""

import sys

from ostinato._core.db import embedded

if __name__ == "__main__":
    server = embedded.start(sys.argv[1], keep="keep" in sys.argv[2:])
    print(int(server.owned), server.pid, flush=True)  # noqa: T201 - its parent reads it
    sys.stdin.read()
    server.stop()
