-- Who may do what. Tenants make folders, pause them, and decide about duplicates and failed files; what is in the
-- tables is written by workers.
grant usage on schema watchfolder to ostinato_worker, ostinato_tenant;
revoke all on all tables in schema watchfolder from ostinato_worker, ostinato_tenant;

grant select on watchfolder.folder, watchfolder.job, watchfolder.duplicate to ostinato_worker, ostinato_tenant;
grant insert (tenant_id, name, path, lang, created_at, created_by), update (active, name, removed_at)
on watchfolder.folder to ostinato_tenant;
grant update (ticked_at, metrics, problem) on watchfolder.folder to ostinato_worker;
grant insert, update on watchfolder.job, watchfolder.duplicate to ostinato_worker;
grant update (state, action, decided_files, decided_by, decided_at, message) on watchfolder.duplicate
    to ostinato_tenant;
grant update (decision, decided_by, decided_at) on watchfolder.job to ostinato_tenant;
grant select on watchfolder.reading to ostinato_worker, ostinato_tenant;
grant insert, update on watchfolder.reading to ostinato_worker;
grant delete on watchfolder.folder, watchfolder.job, watchfolder.duplicate to ostinato_worker;

revoke execute on all functions in schema watchfolder
from public, ostinato_worker, ostinato_tenant, ostinato_api;
-- Figures of all tenants together, without one.
grant usage on schema watchfolder to ostinato_api;
grant execute on function watchfolder.observe_folders, watchfolder.observe_jobs to ostinato_worker, ostinato_api;
grant execute on function
    watchfolder.folder_silence, watchfolder.folder_problems, watchfolder.failure_rates, watchfolder.days_held
to ostinato_worker;
grant execute on function watchfolder.start_watching to ostinato_worker, ostinato_tenant;
