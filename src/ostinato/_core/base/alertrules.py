"""Writes declared alerts as a file of rules for Prometheus.

A figure of the engine is a gauge that every API process exports, so its rule is the condition
itself. The engine evaluates an alert on a function and exports it as `ostinato_alerts_firing`.
The file is YAML whose texts are written as JSON, which YAML contains.
"""

import json
import re
from collections.abc import Iterable, Iterator

from ostinato._core.base.alerts import Alert
from ostinato._core.base.metrics import ALERTS_FIRING

HEAD = "# Written by `ostinato alerts rules` from the declared alerts; change those instead.\n"


def rules(alerts: Iterable[Alert]) -> str:
    """Return the file: a group for each owner, a rule for each alert."""
    groups: dict[str, list[Alert]] = {}
    for alert in alerts:
        groups.setdefault(alert.owner, []).append(alert)
    lines = [HEAD, "groups:\n"]
    for owner, owned in groups.items():
        lines += [f"  - name: {_text(owner)}\n", "    rules:\n"]
        lines += [line for alert in owned for line in _rule(alert)]
    return "".join(lines)


def rule_name(alert: Alert) -> str:
    """Return the name of an alert in Prometheus, such as OstinatoDeadLetters."""
    return "".join(word.capitalize() for word in re.split(r"[._]", alert.name))


def _rule(alert: Alert) -> Iterator[str]:
    yield f"      - alert: {_text(rule_name(alert))}\n"
    yield f"        expr: {_text(_expression(alert))}\n"
    if alert.figure is not None and alert.for_seconds:
        yield f"        for: {_text(_duration(alert.for_seconds))}\n"
    if alert.figure is not None and alert.clear_seconds:
        yield f"        keep_firing_for: {_text(_duration(alert.clear_seconds))}\n"
    yield "        labels:\n"
    yield f"          severity: {_text(alert.severity)}\n"
    yield f"          ostinato_alert: {_text(alert.name)}\n"
    yield "        annotations:\n"
    yield f"          summary: {_text(_summary(alert))}\n"
    yield f"          description: {_text(_escaped(alert.remedy))}\n"


def _expression(alert: Alert) -> str:
    if alert.figure is None:
        return f'max by (alert) ({ALERTS_FIRING.name}{{alert="{alert.name}"}}) > 0'
    chosen = ""
    if alert.labels:
        either = "|".join(re.escape(label) for label in alert.labels)
        chosen = f"{{{alert.figure.labels[0]}=~{json.dumps(either, ensure_ascii=False)}}}"
    by = ", ".join(alert.figure.labels)
    # Every API process exports the same figure: one of them is enough.
    value = f"max by ({by}) ({alert.figure.name}{chosen})"
    bad = f"{value} {alert.comparison} {alert.threshold:.15g}"
    if alert.clears_at == alert.threshold:
        return bad
    firing = f'ALERTS{{alertname="{rule_name(alert)}", alertstate="firing"}}'
    return f"{bad} or ({value} {alert.comparison} {alert.clears_at:.15g} and on ({by}) {firing})"


def _summary(alert: Alert) -> str:
    if alert.figure is None:
        # The engine knows the labels and their values; Prometheus only how many there are.
        return f"{alert.name} fires {{{{ $value }}}} times: `ostinato alerts show {alert.name}`"
    text = _escaped(alert.message).replace("{threshold}", f"{alert.threshold:.15g}")
    label = f"{{{{ $labels.{alert.figure.labels[0]} }}}}" if alert.figure.labels else ""
    return text.replace("{label}", label).replace("{value}", "{{ $value | humanize }}")


def _escaped(text: str) -> str:
    """Return the text with the marks of templates escaped."""
    return text.replace("{{", "{ {").replace("}}", "} }")


def _duration(seconds: float) -> str:
    whole = round(seconds * 1000)
    return f"{whole // 1000}s" if whole % 1000 == 0 else f"{whole}ms"


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
