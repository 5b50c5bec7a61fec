select count(*), extract(epoch from max(finished_at) - min(finished_at))::float8 from ostinato_data.outcome where outcome = 'done'
