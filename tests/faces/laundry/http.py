"""The routes."""

from pydantic import BaseModel

from ostinato.web import Permission, Router, Who
from tests.faces.laundry import database
from tests.faces.laundry.jobs import wash
from tests.faces.laundry.settings import LaundrySettings

router = Router(prefix="/api/v1/laundry", tags=["laundry"])
WASH = Permission("laundry.wash", ("admin",), "wash")


class Baskets(BaseModel):
    """What was washed, and how fast."""

    washed: int
    speed: int


@router.get("/baskets", needs=WASH)
async def show(caller: Who) -> Baskets:
    """What was washed for the caller's tenant."""
    async with caller.transaction() as conn:
        washed = await database.count(conn)
    return Baskets(washed=washed, speed=caller.settings(LaundrySettings).speed)


@router.post("/baskets", needs=WASH, status_code=202)
async def order(caller: Who) -> int:
    """Have a basket washed."""
    async with caller.transaction() as conn:
        return await wash.enqueue(conn)
