-- What workers would have noted: minutes of two days, hours of two weeks, for 100 pairs of queue and kind.
insert into ostinato_data.series (step, at, queue, kind, first, done, failed, dead, run_seconds, latency)
select t.step, date_bin(make_interval(secs => t.step), now(), 'epoch') - make_interval(secs => t.step * n), 'queue' || q,
       'shop.kind' || k, 60, 60, 1, 0, 0.7, array_fill(1::bigint, array[cardinality(ostinato_internal.latency_bounds()) + 1])
from (values (60, 2880), (3600, 336)) t (step, many) cross join lateral generate_series(1, t.many) n
cross join generate_series(0, 4) q cross join generate_series(0, 19) k;
