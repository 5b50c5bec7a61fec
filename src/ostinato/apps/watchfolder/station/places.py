"""Knows the folders `work/` that a service works in: the one that it was started for, or all below a root.

A folder is named in the address by a token, because the same file may be a job in two folders:
`/at/<token>/<lang>/jobs/<jobKey>`. It is locked from the first request on, by the service and by its
fork server, so that a service after this one begins only when nobody of ours writes there any more.
"""

import base64
import binascii
import fcntl
import os
from pathlib import Path

from ostinato.apps.watchfolder.station.outputs import lock

WORK = "work"


class Outside(Exception):
    """A folder that this service was not started for."""


def address(url: str, work_dir: Path, lang: str) -> str:
    """Return the address of a service for the jobs of one folder, in its languages."""
    return f"{url.rstrip('/')}/at/{token_of(work_dir)}/{lang}"


def token_of(work_dir: Path) -> str:
    """Return the name of a folder in an address."""
    return base64.urlsafe_b64encode(os.fsencode(os.path.realpath(work_dir))).decode("ascii").rstrip("=")


class Places:
    """The folders of a service, those with a lock among them."""

    def __init__(self, service: str, work_dir: Path | None, root: Path | None = None) -> None:
        self.service = service
        self.default = None if work_dir is None else Path(os.path.realpath(work_dir))
        self._root = None if root is None else Path(os.path.realpath(root))
        self._locks: dict[Path, int] = {}

    def resolve(self, token: str) -> Path:
        """Return the folder that a token names; `Outside` unless it is ours to work in."""
        try:
            named = os.fsdecode(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
            place = Path(os.path.realpath(named))
        except (binascii.Error, ValueError) as error:
            raise Outside(token) from error
        below = self._root is not None and self._root in place.parents and place.name == WORK
        if place != self.default and not below:
            raise Outside(named)
        return place

    def held(self) -> list[Path]:
        """Return the folders that are locked."""
        return list(self._locks)

    def claim(self, place: Path, *, patience: float) -> bool:
        """Lock a folder, or raise `LeaseHeld`; return whether it was not locked before.

        The lock is shared with the fork server, and with nobody else: a newcomer asks for all of it.
        """
        if place in self._locks:
            return False
        place.mkdir(parents=True, exist_ok=True)
        number = lock(place, self.service, patience=patience)
        fcntl.flock(number, fcntl.LOCK_SH)
        self._locks[place] = number
        return True

    def release(self, place: Path) -> None:
        """Let another service have a folder."""
        number = self._locks.pop(place, None)
        if number is not None:
            os.close(number)

    def release_all(self) -> None:
        """Let other services have all of them."""
        for place in self.held():
            self.release(place)
