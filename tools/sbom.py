"""Writes the bill of materials of a lock as CycloneDX 1.6: each package, its version, its hashes.

`make sbom` calls it. The same lock gives the same file; nothing is fetched.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

_PACKAGE = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>\S+) ", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:(?P<hex>[0-9a-f]{64})")


def bill(lock: str) -> dict[str, Any]:
    """Return the bill of materials of the text of a lock."""
    found = list(_PACKAGE.finditer(lock))
    ends = [each.start() for each in found[1:]] + [len(lock)]
    components = [
        _component(each["name"], each["version"], _HASH.findall(lock[each.end() : end]))
        for each, end in zip(found, ends, strict=True)
    ]
    return {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1, "components": components}


def _component(name: str, version: str, hashes: list[str]) -> dict[str, Any]:
    purl = f"pkg:pypi/{name}@{version}"
    listed = [{"alg": "SHA-256", "content": each} for each in hashes]
    source = {"type": "distribution", "url": f"https://pypi.org/simple/{name}/", "hashes": listed}
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
        "externalReferences": [source],
    }


if __name__ == "__main__":
    given, target = map(Path, sys.argv[1:3])
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(bill(given.read_text(encoding="utf-8")), indent=2) + "\n", encoding="utf-8")
