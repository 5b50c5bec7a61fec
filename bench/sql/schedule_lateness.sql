-- How late each slot was served, in milliseconds.
select array_agg(lateness * 1000) from ostinato_data.schedule_fire
