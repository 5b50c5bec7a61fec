-- The job of a folder. Its kind is closed to tenants, so a tenant's session starts it here, with the rights of the
-- owner: for a folder of its own. Workers call it too.

-- Adds the job that watches a folder, unless it is there; returns its id, null while something else holds the folder.
create function watchfolder.start_watching(tenant_id text, folder_id bigint, correlation_id text default null)
returns bigint language plpgsql security definer
set search_path = watchfolder, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_job bigint;
begin
    if not exists (
        select from folder f where f.tenant_id = coalesce(ostinato.acting_tenant(), start_watching.tenant_id)
          and f.tenant_id = start_watching.tenant_id and f.id = start_watching.folder_id
    ) then
        raise exception using errcode = 'OS404', message = format('there is no folder %s', folder_id),
            detail = json_build_object('folder_id', folder_id), hint = 'Check the id, and whose it is.';
    end if;
    select a.job_id into v_job from ostinato.enqueue_or_attach(
        'watchfolder:' || folder_id, 'watchfolder.tend', json_build_object('folder_id', folder_id),
        queue => 'watchfolder', tenant_id => start_watching.tenant_id,
        correlation_id => start_watching.correlation_id) a;
    return v_job;
exception when sqlstate 'OS423' then
    return null;
end
$$;
