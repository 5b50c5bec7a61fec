select ostinato.enqueue_job('bench.nobody', queue => 'nobody')
