"""A loop's own connection: what fails says why, and the next round starts afresh."""

import pytest

from ostinato._core.base.errors import DatabaseUnavailable
from ostinato._core.db.embedded import Urls
from ostinato._core.db.keep import Keeper
from ostinato._core.db.pool import Pool


async def test_a_failed_borrow_is_reported_by_its_cause_in_every_round(urls: Urls) -> None:
    async with Pool(urls.worker, role="test", max_size=1, seconds=0.1) as pool:
        keeper = Keeper(pool)
        async with pool.connection(seconds=60):  # a busy machine needs its time to connect
            for _ in range(2):
                with pytest.raises(DatabaseUnavailable, match="No database connection became free"):
                    async with keeper.connection():
                        raise AssertionError("nothing was lent")
        await keeper.release()
        pool.seconds = 60  # now there is one, which comes back in its own time
        async with keeper.connection() as conn:
            assert (await (await conn.execute("select 1")).fetchone()) == (1,)
        await keeper.release()
