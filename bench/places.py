"""Where the benchmark keeps things: all of it under `.bench/`, never committed."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "bench"
SQL = SOURCE / "sql"
WORK = ROOT / ".bench"
LOGS = WORK / "logs"
PEERS_VENV = WORK / "venv"
PEERS_PYTHON = PEERS_VENV / "bin" / "python"
NODE = WORK / "node"
REDIS = WORK / "redis"
DATABASE = WORK / "pg"
RESULTS = WORK / "results.json"
BASELINE = SOURCE / "baseline.json"
DOCS = ROOT / "docs" / "benchmarks.md"


def sql(name: str) -> bytes:
    return (SQL / f"{name}.sql").read_bytes()
