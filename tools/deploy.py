"""Writes the files of deploy/ from declarations: rules for Prometheus, dashboards.

python -m tools.deploy            write them
python -m tools.deploy --check    only say which ones are out of date
"""

from pathlib import Path

from ostinato._core.base.alertrules import rules
from ostinato._core.base.dashboard import dashboard
from ostinato._core.runtime.installed import installed_apps
from ostinato._core.runtime.observe.figures import figures_of
from ostinato._faces.cli.operate.alerts import board, declared
from tools import generated

FOLDER = Path("deploy")


def files() -> dict[str, str]:
    """Return each file's path below deploy/ and its text."""
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
    raise SystemExit(generated.write(files(), FOLDER, None))
