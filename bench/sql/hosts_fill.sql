select count(ostinato.enqueue_job('torture.plain', json_build_object('number', n))) from generate_series(1, %s) n
