-- Jobs that wait, of 1,000 tenants, as a producer adds them.
select count(*) from ostinato.enqueue_jobs(
    kinds => array(select 'shop.kind' || n %% 20 from generate_series(1, %(count)s) n),
    args => array(select json_build_object('order', n)::text from generate_series(1, %(count)s) n),
    queues => array(select 'queue' || n %% 5 from generate_series(1, %(count)s) n),
    tenant_ids => array(select 'tenant' || n %% 1000 from generate_series(1, %(count)s) n));
