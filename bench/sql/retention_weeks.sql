-- Makes the weeks of the past that the history lies in, as upkeep would have when they came.
select count(*) from generate_series(ostinato.week_of(now() - make_interval(days => %(days)s)), ostinato.week_of(now())) w
cross join lateral ostinato_internal.add_week(w, true) a where not w in (select ostinato.existing_weeks());
