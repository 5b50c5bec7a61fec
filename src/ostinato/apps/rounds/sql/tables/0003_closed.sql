-- What the jobs did, over all tenants, is the workers' alone: closed by row-level security as every table, with no policy
-- for tenants.
do $$
declare
    v_table text;
begin
    foreach v_table in array '{job_state,runs}'::text[] loop
        execute format('alter table rounds.%I enable row level security, force row level security', v_table);
        execute format('create policy engine on rounds.%I to ostinato_owner, ostinato_worker using (true) with check (true)',
                       v_table);
    end loop;
end
$$;
