-- Who may call what. Workers everything; tenants what enqueueing needs, under row-level security.
revoke execute on all functions in schema ostinato from public;
grant usage on schema ostinato to ostinato_worker, ostinato_tenant;
grant execute on all functions in schema ostinato to ostinato_worker;
grant execute on function
    ostinato.now, ostinato.fake_now, ostinato.first_id, ostinato.new_id, ostinato.contract, ostinato.tenant, ostinato.correlation, ostinato.pick,
    ostinato.check_args, ostinato.check_name, ostinato.check_options, ostinato.check_lengths, ostinato.check_sets,
    ostinato.enqueue_job, ostinato.enqueue_jobs, ostinato.hold_unique_key
to ostinato_tenant;
