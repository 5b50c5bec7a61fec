select (select count(*) from ostinato_data.ready)
     + (select coalesce(sum(cardinality(job_ids)), 0) from ostinato_data.claim)
