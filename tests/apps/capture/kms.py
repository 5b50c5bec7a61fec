"""A KMS of the tests: the key of `vault.KEK`, and trouble on demand."""

from typing import ClassVar

from ostinato.apps.capture import keyring
from ostinato.apps.capture.keyring import Unwrapped
from ostinato.apps.capture.model import Reason
from tests.apps.capture.vault import KEK

TROUBLED = f"{__name__}:TroubledKms"
NONSENSE = f"{__name__}:NonsenseKms"


class TroubledKms:
    """Breaks as often as it is told, after it has unwrapped the key, and tells all it knows."""

    breaks: ClassVar[int] = 0
    asked: ClassVar[int] = 0

    async def unwrap(self, kek_id: str, wrapped: bytes) -> Unwrapped | Reason:
        assert kek_id == KEK.id
        found = keyring.unwrap_with(KEK.key, wrapped)
        TroubledKms.asked += 1
        if TroubledKms.asked <= TroubledKms.breaks:
            opened = found.key if isinstance(found, Unwrapped) else b""
            raise ConnectionResetError(f"{KEK.key.hex()} unwraps {opened!r}: the line was cut")
        return found

    @classmethod
    def break_(cls, times: int) -> None:
        cls.breaks, cls.asked = times, 0


class NonsenseKms:
    """Answers with something that is no key: a fault that nobody foresaw."""

    async def unwrap(self, kek_id: str, wrapped: bytes) -> str:
        return f"{kek_id} and {len(wrapped)} bytes"
