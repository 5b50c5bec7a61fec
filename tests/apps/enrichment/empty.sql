-- Everything that a test left behind, but the machine and the rows of the sources, which are made by the migration.
do $$
declare
    v_table text;
begin
    delete from enrichment.accepted;
    delete from enrichment.attachment;
    delete from enrichment.fetched;
    delete from enrichment.company_field_provenance;
    delete from enrichment.company_source_retrieval;
    delete from enrichment.company_document;
    delete from enrichment.request;
    delete from enrichment.establishment;
    delete from enrichment.refresh;
    delete from enrichment.company;
    update enrichment.source set next_at = '-infinity', day = null, day_calls = 0, failures = 0, paused_until = null, paused_for = null,
        probing_until = null, last_ok_at = null, last_error_at = null, last_error = null, token = null, token_until = null,
        login_until = null, logins = '{}', configured = true, held_until = null, day_limit = null,
        asleep_until = null, asleep = 0;
    for v_table in
        select c.relname from pg_class c
        where c.relnamespace = 'ostinato_data'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
          and c.relname not in ('migration', 'tick', 'test_clock', 'machine', 'machine_table', 'machine_transition')
    loop
        execute format('delete from ostinato_data.%I', v_table);
    end loop;
    -- Time goes on from test to test: ids are made of it, and never go back. No test is to meet the end of a day.
    update ostinato_data.test_clock set shift = shift + (frozen - clock_timestamp()), frozen = null
    where frozen is not null;
    update ostinato_data.test_clock set shift = shift + interval '12 hours'
    where extract(hour from ostinato.now() at time zone 'UTC') >= 20;
    update ostinato_data.tick set last = ostinato.now(), grace_until = '-infinity';
end
$$
