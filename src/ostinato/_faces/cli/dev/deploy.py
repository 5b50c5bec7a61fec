"""The files of deploy/, written from what the code declares: rules for Prometheus, a dashboard.

python -m ostinato._faces.cli.dev.deploy            write them
python -m ostinato._faces.cli.dev.deploy --check    only say which ones are out of date
"""

import argparse
from pathlib import Path

from ostinato._core.base.alertrules import rules
from ostinato._core.base.dashboard import dashboard
from ostinato._core.runtime.installed import installed_apps
from ostinato._core.runtime.observe.figures import figures_of
from ostinato._faces.cli.operate.alerts import board, declared

__all__ = ["files", "main", "stale"]

FOLDER = Path("deploy")


def main(argv: list[str] | None = None) -> int:
    """Write the files, or with --check only compare them; 1 if some are out of date."""
    parser = argparse.ArgumentParser(description="Write deploy/ from the declared objects.")
    parser.add_argument("--check", action="store_true", help="write nothing, name stale files")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the files are")
    options = parser.parse_args(argv)
    outdated = stale(options.folder)
    for name in outdated:
        path = options.folder / name
        if options.check:
            print(f"{path} is out of date: run `make reference`")
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files()[name], encoding="utf-8")
            print(f"wrote {path}")
    return 1 if options.check and outdated else 0


def stale(folder: Path) -> list[str]:
    """The names of the files in the folder that are missing or say something else."""
    return [
        name
        for name, text in files().items()
        if not (folder / name).exists() or (folder / name).read_text(encoding="utf-8") != text
    ]


def files() -> dict[str, str]:
    """Each file's path below deploy/ and its text."""
    boards = {
        f"grafana/{name}.json": dashboard(found.metrics, of=name)
        for name, found in figures_of(installed_apps()).items()
    }
    return {
        "prometheus/ostinato.rules.yml": rules(declared(installed_apps())),
        "grafana/ostinato.json": board(installed_apps()),
        **boards,
    }


if __name__ == "__main__":
    raise SystemExit(main())
