-- Requests: what a caller of the API asks for, whole, in one statement.
--
-- A transaction that enters a tenant, calls a verb and commits takes four round trips, and the client more time than
-- the database. A function of this kind is all of it: called alone, it is its own transaction. Applications write such
-- functions too; one rule makes them safe, and a test of the house holds it for all of them:
--
--   its name ends in _as; it takes as_tenant, as_correlation, as_user and as_key; it runs with the rights of its caller
--   (with those of its owner it could not change the role); it declares no initial values; and its first statement is
--   `perform ostinato.enter_tenant(as_tenant, as_correlation, as_user, as_key);`
--
-- So row-level security decides about everything that follows, as in a transaction of the tenant. Who calls it says as
-- whom, as with enter_tenant: it is open to the API and to workers, and not to a session that is a tenant's. A last
-- column `queues` names the queues that it added jobs to: the client rings for them after the commit.
--
-- A request with an Idempotency-Key has it in `request`, null without one:
--
--   select r.* into v_token, answer, replayed, refused from ostinato.begin_request(request) r;
--   if answer is null and refused is null then
--       … the work …
--       answer := ostinato.make_answer(201, …);
--       perform ostinato.finish_request(request, v_token, answer);
--   end if;

-- Begins a request under its key: a token (or none, without a key) says that the work is to be done, `answer` that it
-- was done before, and `refused` that the key is in flight or belongs to another request: the line of begin_idempotent.
create function ostinato.begin_request(
    request json, out token bigint, out answer json, out replayed boolean, out refused json
) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_found record;
begin
    replayed := false;
    if request is null then
        return;
    end if;
    select b.* into v_found from ostinato.begin_idempotent(
        request ->> 'scope', request ->> 'key', request ->> 'fingerprint', request -> 'fields',
        request ->> 'declaration', request ->> 'holder', (request ->> 'lease_seconds')::double precision,
        (request ->> 'ttl_seconds')::double precision, null, false) b;
    case v_found.decision
        when 'new' then token := v_found.token;
        when 'replay' then
            answer := v_found.answer;
            replayed := true;
        else refused := row_to_json(v_found);
    end case;
end
$$;

-- Stores the answer of a request under its key, in the transaction of its effect; without a key it does nothing.
create function ostinato.finish_request(request json, token bigint, answer json) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    if request is not null then
        perform ostinato.finish_idempotent(request ->> 'scope', request ->> 'key', token, answer);
    end if;
end
$$;

-- Returns an HTTP answer as it is stored: the body is text, and comes back byte by byte.
create function ostinato.make_answer(status integer, body text, header text default null, value text default null)
returns json language sql immutable as $$
    select json_build_object('status', $1, 'headers',
        case when $3 is null then '[]'::json else json_build_array(json_build_array($3, $4)) end, 'body', $2)
$$;

-- Adds a job for a caller of the API or a viewer of the console, with its entry in the audit. `delay` counts in seconds
-- from the database's time; `place` is what the address of a job begins with.
create function ostinato.enqueue_job_as(
    as_tenant text, as_correlation text, as_user text, as_key bigint,
    kind text, args json, place text, queue text default null, priority integer default null,
    run_at timestamptz default null, delay double precision default null, limit_key text default null,
    unique_key text default null, max_attempts integer default null, subject text default null,
    request json default null, reason text default null, traceparent text default null,
    out answer json, out replayed boolean, out refused json, out queues text[]
) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_token bigint;
    v_id    bigint;
begin
    perform ostinato.enter_tenant(as_tenant, as_correlation, as_user, as_key);
    if request is not null then
        select r.* into v_token, answer, replayed, refused from ostinato.begin_request(request) r;
        if answer is not null or refused is not null then
            return;
        end if;
    end if;
    v_id := ostinato.enqueue_job(
        kind, args, queue, priority,
        case when delay is null then run_at else ostinato.now() + make_interval(secs => delay) end,
        as_tenant, as_correlation, limit_key, unique_key, max_attempts => max_attempts, subject => subject,
        traceparent => traceparent);
    perform ostinato_internal.record('enqueue', 'job', v_id::text, null, array[v_id], 1, null,
                                     json_build_object('kind', kind), reason);
    answer := ostinato.make_answer(202, format('{"job_id":%s}', v_id), 'Location', place || v_id);
    replayed := false;
    perform ostinato.finish_request(request, v_token, answer);
    queues := array[coalesce(queue, '@any')];
end
$$;

-- Shows a job to a caller of the API: with its last `parts` attempts and steps, and with the last events and the trail
-- of its correlation id. JSON that came from outside is text in it, because not every reader can read what is JSON
-- here.
create function ostinato.show_job_as(
    as_tenant text, as_correlation text, as_user text, as_key bigint,
    job_id bigint, parts integer, longest integer, most_events integer, most_lines integer,
    out job json, out attempts json, out steps json, out events json, out trail json
) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp set plan_cache_mode = force_generic_plan as $$
declare
    v_job     record;
    v_part_of text;
begin
    perform ostinato.enter_tenant(as_tenant, as_correlation, as_user, as_key);
    select j.* into v_job from ostinato.show_job(show_job_as.job_id) j;
    v_part_of := coalesce(v_job.correlation_id, 'job-' || v_job.id);
    select row_to_json(s) into job from (
        select v_job.id, v_job.kind, v_job.queue, v_job.correlation_id, v_job.priority, v_job.state, v_job.reason,
               v_job.attempt, v_job.failures, v_job.crashes, v_job.max_attempts, v_job.created_at, v_job.asked_run_at,
               v_job.run_at, v_job.finished_at, v_job.duration_ms, v_job.args::text, v_job.result::text,
               v_job.error::text, v_job.limit_key, v_job.unique_key, v_job.unique_states, v_job.worker_id,
               v_job.worker_name, v_job.claimed_at, v_job.lease_until, v_job.cancel_requested_at, v_job.cancel_reason,
               v_job.progress_done, v_job.progress_total, v_job.progress_note, v_job.progress_at,
               v_job.parent_id) s;
    select json_agg(s) into attempts from (
        select a.attempt, a.outcome, a.started_at, a.finished_at, a.duration_ms, a.worker_id, a.worker_name,
               a.result::text, a.error::text
        from ostinato.job_attempts(show_job_as.job_id, parts, longest) a) s;
    select json_agg(s) into steps from (
        select t.position, t.name, t.type, t.attempt, t.finished_at, t.duration_ms, t.bytes, t.until, t.result::text
        from ostinato.job_steps(show_job_as.job_id, parts, longest) t) s;
    select json_agg(e) into events from ostinato.list_events(correlation_id => v_part_of, most => most_events) e;
    select json_agg(s) into trail from (
        select l.at, l.source, l.what, l.state, l.job_id, l.attempt, l.ref, l.detail::text
        from ostinato.trail(v_part_of, as_tenant, most_lines) l) s;
end
$$;
