-- The plain statements of watchfolder.

-- name: add_folder
-- Adds a folder, as its tenant; no row when the name is taken.
insert into watchfolder.folder (tenant_id, name, path, lang, created_at, created_by)
values (%(tenant_id)s, %(name)s, %(path)s, %(lang)s, ostinato.now(), %(created_by)s)
on conflict (tenant_id, name) do nothing
returning id;

-- name: list_folders
-- The folders of the tenant, by name.
select f.id, f.name, f.path, f.lang, f.active, f.created_at, f.created_by, f.ticked_at, f.metrics, f.problem
from watchfolder.folder f
where f.tenant_id = %(tenant_id)s
order by f.name;

-- name: show_folder
-- One folder of the tenant.
select f.id, f.name, f.path, f.lang, f.active, f.created_at, f.created_by, f.ticked_at, f.metrics, f.problem
from watchfolder.folder f
where f.tenant_id = %(tenant_id)s and f.name = %(name)s;

-- name: set_active
-- Pauses or resumes a folder.
update watchfolder.folder set active = %(active)s where tenant_id = %(tenant_id)s and id = %(id)s;

-- name: active_folders
-- Every folder that is to be watched, of all tenants.
select f.tenant_id, f.id from watchfolder.folder f where f.active order by f.tenant_id, f.id;

-- name: watched_folder
-- A folder, for the worker that watches it.
select f.id, f.name, f.path, f.lang, f.active from watchfolder.folder f
where f.tenant_id = %(tenant_id)s and f.id = %(id)s;

-- name: note_tick
-- What the last tick said.
update watchfolder.folder set ticked_at = ostinato.now(), metrics = %(metrics)s, problem = %(problem)s
where tenant_id = %(tenant_id)s and id = %(id)s;

-- name: recorded_states
-- How far the states of some jobs were recorded and emitted.
select j.job_key, j.seq from watchfolder.job j
where j.tenant_id = %(tenant_id)s and j.folder_id = %(folder_id)s and j.job_key = any(%(job_keys)s);

-- name: record_job
-- Records what was seen of a job; never goes back to an earlier state.
insert into watchfolder.job (
    tenant_id, folder_id, job_key, seq, state, file_name, size_bytes, attempt_prep, attempt_ocr, pages, error_code,
    cause, out_path, archive_path, result, message, created_at, changed_at
) values (
    %(tenant_id)s, %(folder_id)s, %(job_key)s, %(seq)s, %(state)s, %(file_name)s, %(size_bytes)s, %(attempt_prep)s,
    %(attempt_ocr)s, %(pages)s, %(error_code)s, %(cause)s, %(out_path)s, %(archive_path)s, %(result)s, %(message)s,
    %(created_at)s, ostinato.now()
)
on conflict (tenant_id, folder_id, job_key) do update set
    seq = excluded.seq, state = excluded.state, file_name = excluded.file_name, attempt_prep = excluded.attempt_prep,
    attempt_ocr = excluded.attempt_ocr, pages = excluded.pages, error_code = excluded.error_code,
    cause = excluded.cause, out_path = excluded.out_path, archive_path = excluded.archive_path,
    result = excluded.result, message = excluded.message, changed_at = excluded.changed_at
where watchfolder.job.seq < excluded.seq;

-- name: list_jobs
-- Jobs of a folder, the last changed first.
select j.job_key, j.state, j.seq, j.file_name, j.size_bytes, j.attempt_prep, j.attempt_ocr, j.pages, j.error_code,
       j.cause, j.out_path,
    j.archive_path, j.result, j.message, j.created_at, j.changed_at
from watchfolder.job j
where j.tenant_id = %(tenant_id)s and j.folder_id = %(folder_id)s and (%(state)s::text is null or j.state = %(state)s)
order by j.changed_at desc, j.job_key
limit %(limit)s;

-- name: show_job
-- One job of a folder.
select j.job_key, j.state, j.seq, j.file_name, j.size_bytes, j.attempt_prep, j.attempt_ocr, j.pages, j.error_code,
       j.cause, j.out_path,
    j.archive_path, j.result, j.message, j.created_at, j.changed_at
from watchfolder.job j
where j.tenant_id = %(tenant_id)s and j.folder_id = %(folder_id)s and j.job_key = %(job_key)s;

-- name: list_duplicates
-- What is held in a folder, or was.
select d.id, d.job_key, d.state, d.files, d.existing, d.detected_at, d.action, d.decided_files, d.decided_by,
       d.decided_at, d.message
from watchfolder.duplicate d
where d.tenant_id = %(tenant_id)s and d.folder_id = %(folder_id)s and (%(state)s::text is null or d.state = %(state)s)
order by d.detected_at desc, d.id desc
limit %(limit)s;

-- name: show_duplicate
-- One duplicate of a folder.
select d.id, d.job_key, d.state, d.files, d.existing, d.detected_at, d.action, d.decided_files, d.decided_by,
       d.decided_at, d.message
from watchfolder.duplicate d
where d.tenant_id = %(tenant_id)s and d.folder_id = %(folder_id)s and d.job_key = %(job_key)s;

-- name: add_duplicate
-- Adds a duplicate that was seen held.
insert into watchfolder.duplicate (tenant_id, folder_id, job_key, files, existing, detected_at, message)
values (%(tenant_id)s, %(folder_id)s, %(job_key)s, %(files)s, %(existing)s, ostinato.now(), %(message)s)
returning id;

-- name: refresh_duplicate
-- Keeps which files are held now, and what is wrong with a decision.
update watchfolder.duplicate set files = %(files)s, existing = %(existing)s, message = %(message)s
where tenant_id = %(tenant_id)s and id = %(id)s;

-- name: open_duplicates
-- What was seen held and not seen gone.
select d.id, d.job_key, d.state, d.files, d.existing, d.action, d.decided_files, d.decided_by, d.decided_at, d.message
from watchfolder.duplicate d
where d.tenant_id = %(tenant_id)s and d.folder_id = %(folder_id)s and d.state <> 'APPLIED'
order by d.id;

-- name: start_watching
-- Adds the job of a folder, unless it is there.
select watchfolder.start_watching(%(tenant_id)s, %(folder_id)s, %(correlation_id)s);
