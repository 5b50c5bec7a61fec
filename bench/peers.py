"""Installs the peers into `.bench/`, and says in one line what is not there."""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.catalog import Runner, System
from bench.places import LOGS, NODE, PEERS_PYTHON, PEERS_VENV, REDIS, SOURCE

INSTALL_LIMIT_SECONDS = 600
REDIS_START_SECONDS = 10
Say = Callable[[str], None]


def install(systems: Sequence[System], say: Say) -> list[System]:
    """Installs what the systems need and returns those that can run here."""
    runners = {system.runner for system in systems}
    absent: dict[Runner, str] = {}
    if Runner.PEERS in runners and (why := _install_python()):
        absent[Runner.PEERS] = why
    if Runner.NODE in runners and (why := _install_node()):
        absent[Runner.NODE] = why
    present = []
    for system in systems:
        why = absent.get(system.runner) or _missing(system)
        if why:
            say(f"{system.title}: left out, {why}.")
        else:
            present.append(system)
    return present


def _missing(system: System) -> str:
    if system.needs_redis and shutil.which("redis-server") is None:
        return "redis-server is not installed"
    if system.imports:
        tried = subprocess.run([str(PEERS_PYTHON), "-c", f"import {system.imports}"], capture_output=True, check=False)
        if tried.returncode != 0:
            return f"{system.imports} does not import in .bench/venv"
    return ""


def _install_python() -> str:
    wanted = SOURCE / "peers.txt"
    stamp = PEERS_VENV / "installed"
    if _stamped(stamp, [wanted]):
        return ""
    steps = [
        [sys.executable, "-m", "venv", str(PEERS_VENV)],
        [str(PEERS_PYTHON), "-m", "pip", "install", "--quiet", "-r", str(wanted)],
    ]
    return _run_steps("pip", steps, stamp, [wanted])


def _install_node() -> str:
    if shutil.which("node") is None or shutil.which("npm") is None:
        return "node and npm are not installed"
    NODE.mkdir(parents=True, exist_ok=True)
    source = SOURCE / "graphile"
    for name in ("package.json", "bench.mjs"):
        shutil.copyfile(source / name, NODE / name)
    stamp, wanted = NODE / "installed", [source / "package.json"]
    if _stamped(stamp, wanted):
        return ""
    npm = ["npm", "install", "--prefix", str(NODE), "--no-audit", "--no-fund", "--no-package-lock"]
    return _run_steps("npm", [npm], stamp, wanted)


def _run_steps(name: str, steps: list[list[str]], stamp: Path, wanted: list[Path]) -> str:
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"install-{name}.log"
    with log.open("wb") as out:
        for step in steps:
            try:
                done = subprocess.run(step, stdout=out, stderr=out, timeout=INSTALL_LIMIT_SECONDS, check=False)
            except subprocess.TimeoutExpired:
                return f"{name} did not finish in {INSTALL_LIMIT_SECONDS} s"
            if done.returncode != 0:
                return f"{name} could not install it (.bench/logs/{log.name} says why)"
    stamp.write_text(_fingerprint(wanted))
    return ""


def _stamped(stamp: Path, wanted: list[Path]) -> bool:
    return stamp.exists() and stamp.read_text() == _fingerprint(wanted)


def _fingerprint(wanted: list[Path]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in wanted)).hexdigest()


@contextmanager
def redis(systems: Sequence[System]) -> Iterator[dict[str, str]]:
    """Redis for the systems that need it, on a Unix socket only; its address as environment."""
    if not any(system.needs_redis for system in systems):
        yield {}
        return
    REDIS.mkdir(parents=True, exist_ok=True)
    socket = REDIS / "redis.sock"
    socket.unlink(missing_ok=True)
    options = ["--port", "0", "--unixsocket", str(socket), "--save", "", "--appendonly", "no"]
    with (LOGS / "redis.log").open("wb") as out:
        process = subprocess.Popen(["redis-server", *options, "--dir", str(REDIS)], stdout=out, stderr=out)
    try:
        _wait_for(socket, process)
        yield {"BENCH_REDIS": str(socket), "BENCH_REDIS_PID": str(process.pid)}
    finally:
        process.terminate()
        process.wait()


def _wait_for(socket: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + REDIS_START_SECONDS
    while not socket.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("redis-server did not start; .bench/logs/redis.log says why.")
        time.sleep(0.05)


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
