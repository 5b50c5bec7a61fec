-- A job of the history, somewhere in it.
select j.id from ostinato_data.job j where j.id >= ostinato_internal.first_id(now() - make_interval(days => %(days)s))
order by j.id limit 1;
