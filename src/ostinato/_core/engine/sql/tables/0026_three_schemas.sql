-- Helpers move to ostinato_internal (ADR 11): `db migrate` makes them there and drops them from ostinato, all but two
-- that something outside the engine's code names. The triggers on the tables of applications call refuse_row, so it
-- moves as it is; the guards of those tables name note_transition in their text, so both change together.
do $$
declare
    v_guard oid;
begin
    if to_regprocedure('ostinato.refuse_row()') is null then
        return;  -- a new database
    end if;
    alter function ostinato.refuse_row() set schema ostinato_internal;
    alter function ostinato.note_transition set schema ostinato_internal;
    for v_guard in
        select p.oid from pg_proc p
        where p.pronamespace = 'ostinato_data'::regnamespace and p.prosrc like '%ostinato.note_transition(%'
    loop
        execute replace(pg_get_functiondef(v_guard), 'ostinato.note_transition(', 'ostinato_internal.note_transition(');
    end loop;
end
$$;
