"""The one job: a basket is washed."""

from ostinato import Context
from tests.faces.laundry import APP, database
from tests.faces.laundry.settings import LaundrySettings


@APP.job(open=True)
async def wash(ctx: Context) -> int:
    """Wash a basket as fast as the settings say."""
    speed = ctx.settings(LaundrySettings).speed
    async with ctx.transaction() as conn:
        await database.add(conn, ctx.job.tenant_id, speed)
    return speed
