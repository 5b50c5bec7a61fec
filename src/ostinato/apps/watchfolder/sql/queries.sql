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
where f.tenant_id = %(tenant_id)s and f.removed_at is null
order by f.name;

-- name: show_folder
-- One folder of the tenant.
select f.id, f.name, f.path, f.lang, f.active, f.created_at, f.created_by, f.ticked_at, f.metrics, f.problem
from watchfolder.folder f
where f.tenant_id = %(tenant_id)s and f.name = %(name)s and f.removed_at is null;

-- name: set_active
-- Pauses or resumes a folder.
update watchfolder.folder set active = %(active)s where tenant_id = %(tenant_id)s and id = %(id)s;

-- name: remove_folder
-- Removes a folder for its tenant; its name is free at once, its rows go later.
update watchfolder.folder
set active = false, removed_at = ostinato.now(), name = 'removed-' || id || '-' || substr(md5(random()::text), 1, 8)
where tenant_id = %(tenant_id)s and id = %(id)s;

-- name: purge_duplicates
-- Deletes what was seen held in folders that were removed a while ago: nobody watches them any more.
delete from watchfolder.duplicate d using watchfolder.folder f
where f.tenant_id = d.tenant_id and f.id = d.folder_id and f.removed_at < ostinato.now() - %(after)s;

-- name: purge_jobs
-- Deletes the jobs of such folders.
delete from watchfolder.job j using watchfolder.folder f
where f.tenant_id = j.tenant_id and f.id = j.folder_id and f.removed_at < ostinato.now() - %(after)s;

-- name: purge_folders
-- Deletes such folders.
delete from watchfolder.folder f where f.removed_at < ostinato.now() - %(after)s;

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
    and (%(at)s::timestamptz is null or (j.changed_at, j.job_key) < (%(at)s, %(key)s))
order by j.changed_at desc, j.job_key desc
limit %(limit)s;

-- name: show_job
-- One job of a folder.
select j.job_key, j.state, j.seq, j.file_name, j.size_bytes, j.attempt_prep, j.attempt_ocr, j.pages, j.error_code,
       j.cause, j.out_path,
    j.archive_path, j.result, j.message, j.created_at, j.changed_at
from watchfolder.job j
where j.tenant_id = %(tenant_id)s and j.folder_id = %(folder_id)s and j.job_key = %(job_key)s;

-- name: list_duplicates
-- What is held in a folder, or was, with how the job that came first stands now.
select d.id, d.job_key, d.state, d.files, coalesce(j.state, d.existing) as existing, d.detected_at, d.action,
       d.decided_files, d.decided_by, d.decided_at, d.message
from watchfolder.duplicate d
left join watchfolder.job j on (j.tenant_id, j.folder_id, j.job_key) = (d.tenant_id, d.folder_id, d.job_key)
where d.tenant_id = %(tenant_id)s and d.folder_id = %(folder_id)s and (%(state)s::text is null or d.state = %(state)s)
    and (%(at)s::timestamptz is null or (d.detected_at, d.id) < (%(at)s, %(id)s))
order by d.detected_at desc, d.id desc
limit %(limit)s;

-- name: show_duplicate
-- One duplicate of a folder, likewise.
select d.id, d.job_key, d.state, d.files, coalesce(j.state, d.existing) as existing, d.detected_at, d.action,
       d.decided_files, d.decided_by, d.decided_at, d.message
from watchfolder.duplicate d
left join watchfolder.job j on (j.tenant_id, j.folder_id, j.job_key) = (d.tenant_id, d.folder_id, d.job_key)
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

-- name: folder_figures
-- How the folders of all tenants stand, in one row.
select * from watchfolder.observe_folders();

-- name: job_figures
-- Jobs of all tenants that are on their way, and those that ended in the last hour, by state.
select * from watchfolder.observe_jobs();

-- name: count_jobs
-- Jobs that are on their way, and those that ended in the last hour, by state; it stops at so many of each.
select s.state, count(*) as jobs from (
    (select j.state from watchfolder.job j where j.state not in ('DONE', 'ERROR') limit %(most)s)
    union all
    (select j.state from watchfolder.job j
     where j.state in ('DONE', 'ERROR') and j.changed_at > ostinato.now() - interval '1 hour'
     order by j.changed_at desc limit %(most)s)) s
group by s.state
order by s.state;

-- name: count_states
-- Jobs by state; it stops at so many of each of the two ends, and of those on their way together.
select s.state, count(*) as jobs from (
    (select j.state from watchfolder.job j where j.state not in ('DONE', 'ERROR') limit %(most)s)
    union all
    (select j.state from watchfolder.job j where j.state = 'ERROR' limit %(most)s)
    union all
    (select j.state from watchfolder.job j where j.state = 'DONE' limit %(most)s)) s
group by s.state
order by s.state;

-- name: folders_at_a_glance
-- The folders that the caller sees, those with a problem first.
select f.tenant_id, f.name, f.active, f.ticked_at, (f.metrics ->> 'waiting')::bigint as waiting,
       (f.metrics ->> 'blocked')::bigint as blocked, (f.metrics ->> 'running')::bigint as running,
       (select count(*) from watchfolder.duplicate d
        where d.tenant_id = f.tenant_id and d.folder_id = f.id and d.state = 'DUPLICATE_PENDING') as held,
       f.problem
from watchfolder.folder f
where f.removed_at is null
order by f.problem is null, f.tenant_id, f.name
limit 50;

-- name: last_errors
-- The jobs that failed last.
select f.name as folder, j.file_name, j.error_code, left(j.message, 200) as message, j.changed_at
from watchfolder.job j join watchfolder.folder f on f.tenant_id = j.tenant_id and f.id = j.folder_id
where j.state = 'ERROR' and f.removed_at is null
order by j.changed_at desc
limit 10;

-- name: start_watching
-- Adds the job of a folder, unless it is there.
select watchfolder.start_watching(%(tenant_id)s, %(folder_id)s, %(correlation_id)s);

-- name: keep_reading
-- Keeps what was read in a file, and the pictures of its first page.
insert into watchfolder.reading (tenant_id, folder_id, job_key, body, first_page, result_page)
values (%(tenant_id)s, %(folder_id)s, %(job_key)s, %(body)s, %(first_page)s, %(result_page)s)
on conflict (tenant_id, folder_id, job_key) do update set body = excluded.body, first_page = excluded.first_page,
    result_page = excluded.result_page, read_at = excluded.read_at;

-- name: scans
-- Files that were read or failed, the last changed first; with words, those among the newest `window` in whose text or
-- name they stand. A word that many files have fills a page so; for one that few have, `scans_found` looks at them all.
select j.tenant_id, j.folder_id, f.name as folder, j.job_key, j.file_name, j.state, j.pages, j.changed_at,
       coalesce(r.result_page, r.first_page) is not null as drawn
from (
    select * from watchfolder.job j
    where (j.changed_at, j.job_key) < (coalesce(%(at)s::timestamptz, 'infinity'), coalesce(%(key)s, ''))
    order by j.changed_at desc, j.job_key desc limit %(window)s) j
join watchfolder.folder f on f.tenant_id = j.tenant_id and f.id = j.folder_id and f.removed_at is null
left join watchfolder.reading r on (r.tenant_id, r.folder_id, r.job_key) = (j.tenant_id, j.folder_id, j.job_key)
where (%(folder)s::text is null or f.name = %(folder)s)
    and (%(words)s::text is null or r.words @@ websearch_to_tsquery('french', %(words)s)
         or strpos(lower(j.file_name), lower(%(words)s)) > 0)
order by j.changed_at desc, j.job_key desc limit %(most)s;

-- name: scans_found
-- Files in whose text or among the words of whose name some words stand, the last changed first, by their indexes.
with found as (
    select r.tenant_id, r.folder_id, r.job_key from watchfolder.reading r
    where r.words @@ websearch_to_tsquery('french', %(words)s)
    union
    select j.tenant_id, j.folder_id, j.job_key from watchfolder.job j
    where to_tsvector('simple', translate(j.file_name, '._-', '   '))
          @@ websearch_to_tsquery('simple', translate(%(words)s, '._-', '   '))
)
select j.tenant_id, j.folder_id, f.name as folder, j.job_key, j.file_name, j.state, j.pages, j.changed_at,
       coalesce(r.result_page, r.first_page) is not null as drawn
from found w join watchfolder.job j using (tenant_id, folder_id, job_key)
left join watchfolder.reading r using (tenant_id, folder_id, job_key)
join watchfolder.folder f on f.tenant_id = j.tenant_id and f.id = j.folder_id and f.removed_at is null
where (%(folder)s::text is null or f.name = %(folder)s)
    and (j.changed_at, j.job_key) < (coalesce(%(at)s::timestamptz, 'infinity'), coalesce(%(key)s, ''))
order by j.changed_at desc, j.job_key desc limit %(most)s;

-- name: scan
-- One file: what became of it, and what was read.
select j.tenant_id, j.folder_id, f.name as folder, f.path, j.job_key, j.file_name, j.size_bytes, j.state, j.pages,
       j.attempt_prep, j.attempt_ocr, j.error_code, j.message, j.result, j.created_at, j.changed_at, r.body,
       r.first_page is not null as has_first, r.result_page is not null as has_result
from watchfolder.job j
join watchfolder.folder f on f.tenant_id = j.tenant_id and f.id = j.folder_id and f.removed_at is null
left join watchfolder.reading r on (r.tenant_id, r.folder_id, r.job_key) = (j.tenant_id, j.folder_id, j.job_key)
where j.folder_id = %(folder_id)s and j.job_key = %(job_key)s;

-- name: page_of
-- The picture of a first page: of what came in, or of what came out.
select case when %(side)s = 'first' then r.first_page else r.result_page end as picture from watchfolder.reading r
where r.folder_id = %(folder_id)s and r.job_key = %(job_key)s;

-- name: duplicates_to_decide
-- What is held and waits for a person, oldest first.
select d.tenant_id, d.folder_id, f.name as folder, d.job_key, d.files, coalesce(j.state, d.existing) as existing,
       d.detected_at, d.message, j.file_name, j.pages, j.changed_at, r.first_page is not null as has_first,
       r.result_page is not null as has_result
from watchfolder.duplicate d
join watchfolder.folder f on f.tenant_id = d.tenant_id and f.id = d.folder_id and f.removed_at is null
left join watchfolder.job j on (j.tenant_id, j.folder_id, j.job_key) = (d.tenant_id, d.folder_id, d.job_key)
left join watchfolder.reading r on (r.tenant_id, r.folder_id, r.job_key) = (d.tenant_id, d.folder_id, d.job_key)
where d.state = 'DUPLICATE_PENDING'
order by d.detected_at, d.id limit 100;

-- name: count_to_decide
-- How many wait, in folders that were not removed; it stops at a thousand.
select count(*) from (
    select from watchfolder.duplicate d
    join watchfolder.folder f on f.tenant_id = d.tenant_id and f.id = d.folder_id and f.removed_at is null
    where d.state = 'DUPLICATE_PENDING' limit 1000) waiting;

-- name: failed_to_decide
-- The files that could not be read and wait for a person, oldest first.
select j.tenant_id, j.folder_id, f.name as folder, j.job_key, j.file_name, j.pages, j.created_at, j.changed_at,
       j.attempt_prep + j.attempt_ocr as attempts, j.cause ->> 'code' as code, left(j.message, 500) as message,
       j.decision_note, r.first_page is not null as has_first
from watchfolder.job j
join watchfolder.folder f on f.tenant_id = j.tenant_id and f.id = j.folder_id and f.removed_at is null
left join watchfolder.reading r on (r.tenant_id, r.folder_id, r.job_key) = (j.tenant_id, j.folder_id, j.job_key)
where j.state = 'ERROR' and j.decision is null
order by j.changed_at, j.job_key limit 100;

-- name: count_failed
-- How many wait, in folders that were not removed; it stops at a thousand.
select count(*) from (
    select from watchfolder.job j
    join watchfolder.folder f on f.tenant_id = j.tenant_id and f.id = j.folder_id and f.removed_at is null
    where j.state = 'ERROR' and j.decision is null limit 1000) waiting;

-- name: decide_failed
-- Decides about a file that could not be read; no row when it does not wait for that.
update watchfolder.job j set decision = %(decision)s, decided_by = %(by)s, decided_at = ostinato.now()
from watchfolder.folder f
where j.tenant_id = %(tenant_id)s and j.folder_id = %(folder_id)s and j.job_key = %(job_key)s
    and j.state = 'ERROR' and j.decision is null
    and f.tenant_id = j.tenant_id and f.id = j.folder_id and f.removed_at is null
returning j.file_name;

-- name: failed_decision
-- What was decided about a file that could not be read, and by whom.
select j.decision, j.decided_by from watchfolder.job j
join watchfolder.folder f on f.tenant_id = j.tenant_id and f.id = j.folder_id and f.removed_at is null
where j.tenant_id = %(tenant_id)s and j.folder_id = %(folder_id)s and j.job_key = %(job_key)s and j.state = 'ERROR';

-- name: failed_to_send
-- The files of a folder that are to be sent through again.
select j.job_key, j.file_name, j.decided_by from watchfolder.job j
where j.tenant_id = %(tenant_id)s and j.folder_id = %(folder_id)s and j.decision = 'RETRY' and j.sent_at is null
order by j.decided_at limit 100;

-- name: note_sent
-- Notes that a file was sent through again; with a reason why it could not be, it waits for a person once more.
update watchfolder.job set
    decision = case when %(why)s::text is null then decision end,
    sent_at = case when %(why)s::text is null then ostinato.now() end,
    decision_note = %(why)s
where tenant_id = %(tenant_id)s and folder_id = %(folder_id)s and job_key = %(job_key)s
    and decision = 'RETRY' and sent_at is null;
