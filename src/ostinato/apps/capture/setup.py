"""Finds what this machine lacks to check captures, and says what to do."""

import os
from importlib.util import find_spec
from pathlib import Path

from ostinato.apps.capture import heads, keyring
from ostinato.apps.capture.settings import CaptureSettings
from ostinato.errors import InvalidInput, NotConfigured
from ostinato.observe import Checkup, Trouble


def troubles(settings: CaptureSettings) -> list[Trouble]:
    """Return what keeps captures from being checked or signed, as far as it shows from here."""
    found = [_keyring(settings), _store(settings), _signing_key(settings)]
    return [each for each in found if each is not None]


def _keyring(settings: CaptureSettings) -> Trouble | None:
    if settings.keyring is not None:
        try:
            keyring.load(settings)
        except NotConfigured as error:
            return Trouble(error.message, error.hint or "")
        return None
    path = Path(settings.keyring_file).expanduser()
    try:
        known = keyring.read_keys(path)
    except keyring.KeyringUnavailable as error:
        return Trouble(f"{path}: {error}", "Make it with `ostinato capture new-kek NAME`.")
    if not known:
        return Trouble(f"{path} has no key", "Make one with `ostinato capture new-kek NAME`.")
    return None


def _store(settings: CaptureSettings) -> Trouble | None:
    if settings.store == "s3":
        if find_spec("obstore") is None:
            return Trouble("the library for S3 is not installed", "pip install 'ostinato[s3]'")
        return None
    folder = Path(settings.folder).expanduser()
    if folder.is_dir() and os.access(folder, os.R_OK | os.X_OK):
        return None
    return Trouble(
        f"{folder} is no folder that can be read", "Make it, or name the folder of the objects with capture.folder."
    )


def _signing_key(settings: CaptureSettings) -> Trouble | None:
    if settings.signing_key_file is None:
        return None
    try:
        heads.read_key(Path(settings.signing_key_file))
    except InvalidInput as error:
        return Trouble(error.message, error.hint or "")
    return None


CHECKUP = Checkup(lambda settings: troubles(settings.section(CaptureSettings)))
