-- Who may do what. Workers run the jobs; a tenant keeps its groups and takes part, and changes no state.
revoke execute on all functions in schema rounds from public;
grant usage on schema rounds to ostinato_worker, ostinato_tenant;
grant execute on all functions in schema rounds to ostinato_worker;
-- Figures of all tenants together, without one.
grant execute on function rounds.figures, rounds.failures_by_type to ostinato_api;
grant select on all tables in schema rounds to ostinato_worker;
grant insert, update on rounds.daily_rounds, rounds.job_state to ostinato_worker;
grant insert, delete on rounds.runs, rounds.failures to ostinato_worker;
-- A row lock is a right to update.
grant update on rounds.groups to ostinato_worker;

grant select on rounds.groups, rounds.group_settings, rounds.members, rounds.group_prompts, rounds.daily_rounds,
    rounds.submissions, rounds.comments, rounds.votes, rounds.failures to ostinato_tenant;
grant insert, update on rounds.groups, rounds.group_settings, rounds.members, rounds.group_prompts, rounds.submissions,
    rounds.votes to ostinato_tenant;
grant insert on rounds.comments to ostinato_tenant;
grant delete on rounds.members to ostinato_tenant;
-- New settings time what is scheduled anew; the state is not among what a tenant may write.
grant update (drop_time, zone, open_at, close_at, timed_at, stale) on rounds.daily_rounds to ostinato_tenant;
grant execute on function rounds.lock_groups, rounds.groups_of, rounds.begin_retiming, rounds.apply_retiming
    to ostinato_tenant;
