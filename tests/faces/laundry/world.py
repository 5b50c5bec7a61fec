"""The mains, as the sandbox has them."""

from fastapi import APIRouter


class Mains:
    """The stand-in."""

    name = "mains"

    def __init__(self) -> None:
        self.router = APIRouter(prefix="/mains", tags=["mains"])
        self.router.get("/pressure")(self.pressure)

    async def pressure(self) -> int:
        """Bars."""
        return 3

    def reset(self) -> None:
        """Forget nothing."""

    def settings(self, url: str) -> dict[str, str]:
        """What leads the application here."""
        return {"OSTINATO_LAUNDRY_MAINS_URL": f"{url}/mains"}
