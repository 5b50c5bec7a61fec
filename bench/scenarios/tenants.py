"""A thousand tenants, one of which holds half of the backlog and came first.

Served as if it were not there: the mean and the last position at which jobs of the small tenants
start, as a multiple of what they would be without the big one (1 is ideal, first-come-first-served
gives 3 and 2). The cost of the claim is compared with a backlog of one tenant, in SQL alone.
"""

from statistics import mean, median

from bench.catalog import System
from bench.measure import Bench, Figures
from bench.scenarios.common import filled_and_drained, prepared, ratio
from bench.scenarios.limit import sql_rate

SQL_REPEATS = 3
"""For one of the others: a run in SQL alone takes about a second, so single ones vary."""


def run(bench: Bench, system: System) -> Figures:
    count, tenants = bench.sizes.tenant_jobs, bench.sizes.tenants
    one: list[float] = []
    many: list[float] = []
    sql_one: list[float] = []
    sql_many: list[float] = []
    positions: list[int] = []
    for _ in range(bench.sizes.repeats):
        with prepared(bench, system) as url:
            one.append(filled_and_drained(bench, system, url, count))
        with prepared(bench, system) as url:
            bench.fill(system, url, count, tenants=tenants)
            bench.server.analyze(url)
            answer = bench.drain(system, url, count, small_from=count // 2)
            many.append(answer["rate"])
            positions = answer["small_positions"]
    for _ in range(SQL_REPEATS * bench.sizes.repeats):
        for rates, mix in ((sql_one, 0), (sql_many, tenants)):
            with prepared(bench, system) as url:
                bench.fill(system, url, count, tenants=mix)
                bench.server.analyze(url)
                rates.append(sql_rate(bench, url, count))
    return {
        "tenants_one": median(one),
        "tenants_many": median(many),
        "tenants_rate_share": ratio(many, one),
        "tenants_claim_cost": ratio(sql_one, sql_many),
        "tenants_small_mean": mean(positions) / ((len(positions) - 1) / 2),
        "tenants_small_last": (max(positions) + 1) / len(positions),
    }
