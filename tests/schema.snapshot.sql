CREATE SCHEMA ostinato;
ALTER SCHEMA ostinato OWNER TO ostinato_owner;
CREATE SCHEMA ostinato_data;
ALTER SCHEMA ostinato_data OWNER TO ostinato_owner;
CREATE TYPE ostinato_data.batch AS (
	job_ids bigint[],
	positions bigint[],
	attempts integer[],
	failures smallint[],
	crashes smallint[],
	limit_keys text[],
	keyed boolean,
	cursor text
);
ALTER TYPE ostinato_data.batch OWNER TO ostinato_owner;
CREATE TYPE ostinato_data.lanes AS (
	looked_up_at timestamp with time zone,
	cost interval,
	found integer,
	last_tenant text,
	priorities smallint[],
	tenants text[],
	positions bigint[]
);
ALTER TYPE ostinato_data.lanes OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.able_workers(queue text, kind text) RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.able_workers(queue text, kind text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.add_batch(a ostinato_data.batch, b ostinato_data.batch) RETURNS ostinato_data.batch
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato.add_batch(a ostinato_data.batch, b ostinato_data.batch) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.add_log_week(parent text, id text, week integer) RETURNS TABLE(action text, name text, reason text, rows bigint)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.add_log_week(parent text, id text, week integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.add_week(week integer, thorough boolean) RETURNS TABLE(action text, name text, reason text, rows bigint)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.add_week(week integer, thorough boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.cancel_job(job_id bigint, reason text DEFAULT 'cancelled by request'::text) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.cancel_job(job_id bigint, reason text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.cancel_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], reasons text[], durations integer[] DEFAULT NULL::integer[]) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.cancel_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], reasons text[], durations integer[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.check_args(kind text, args text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.check_args(kind text, args text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.check_lengths(count integer, VARIADIC lengths integer[]) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato.check_lengths(count integer, VARIADIC lengths integer[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.check_name(what text, value text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato.check_name(what text, value text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.check_options(priority integer DEFAULT NULL::integer, max_attempts integer DEFAULT NULL::integer, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, limit_key text DEFAULT NULL::text, correlation_id text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato.check_options(priority integer, max_attempts integer, run_at timestamp with time zone, limit_key text, correlation_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.check_sets(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], max_attempts integer[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.check_sets(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], max_attempts integer[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.chores() RETURNS TABLE(name text, due double precision)
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.chores() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.claim_jobs(worker_id uuid, queue text, wanted integer, kinds text[] DEFAULT NULL::text[], cursor text DEFAULT NULL::text, suspects boolean DEFAULT true) RETURNS TABLE(job_id bigint, attempt integer, failures smallint, crashes smallint, claim_id bigint, kind text, args text, tenant_id text, correlation_id text, max_attempts smallint, waited double precision, next_cursor text)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato.claim_jobs(worker_id uuid, queue text, wanted integer, kinds text[], cursor text, suspects boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.claim_of(job_id bigint, attempt integer) RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.claim_of(job_id bigint, attempt integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.complete_job(job_id bigint, attempt integer, result json DEFAULT NULL::json, duration_ms integer DEFAULT NULL::integer, claim_id bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.complete_job(job_id bigint, attempt integer, result json, duration_ms integer, claim_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.complete_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], durations integer[] DEFAULT NULL::integer[], results text[] DEFAULT NULL::text[]) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_nestloop TO 'off'
    AS …;
ALTER FUNCTION ostinato.complete_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], durations integer[], results text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.configure_queue(name text, concurrency integer DEFAULT NULL::integer, rate_count integer DEFAULT NULL::integer, rate_seconds double precision DEFAULT NULL::double precision, key_concurrency integer DEFAULT NULL::integer, key_rate_count integer DEFAULT NULL::integer, key_rate_seconds double precision DEFAULT NULL::double precision) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.configure_queue(name text, concurrency integer, rate_count integer, rate_seconds double precision, key_concurrency integer, key_rate_count integer, key_rate_seconds double precision) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.contract(OUT current integer, OUT oldest integer) RETURNS record
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato.contract(OUT current integer, OUT oldest integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.dead_letter_groups() RETURNS TABLE(signature text, kind text, reason text, count bigint, first timestamp with time zone, last timestamp with time zone, example_job_id bigint, example_error text)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.dead_letter_groups() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.drop_log_week(parent text, week integer) RETURNS TABLE(action text, name text, reason text, rows bigint)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.drop_log_week(parent text, week integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.drop_waiting(job_id bigint, reason text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.drop_waiting(job_id bigint, reason text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.drop_week(week integer, cutoff timestamp with time zone, thorough boolean) RETURNS TABLE(action text, name text, reason text, rows bigint)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.drop_week(week integer, cutoff timestamp with time zone, thorough boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.engine_stats(OUT ready bigint, OUT scheduled bigint, OUT due bigint, OUT running bigint, OUT dead bigint, OUT estimated text[], OUT workers bigint, OUT expired_workers bigint, OUT oldest_ready double precision, OUT xmin_age bigint, OUT ready_dead_tuples bigint, OUT default_bytes bigint) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.engine_stats(OUT ready bigint, OUT scheduled bigint, OUT due bigint, OUT running bigint, OUT dead bigint, OUT estimated text[], OUT workers bigint, OUT expired_workers bigint, OUT oldest_ready double precision, OUT xmin_age bigint, OUT ready_dead_tuples bigint, OUT default_bytes bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.enqueue_job(kind text, args json DEFAULT '{}'::json, queue text DEFAULT NULL::text, priority integer DEFAULT NULL::integer, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, tenant_id text DEFAULT NULL::text, correlation_id text DEFAULT NULL::text, limit_key text DEFAULT NULL::text, unique_key text DEFAULT NULL::text, unique_policy text DEFAULT 'return'::text, unique_states text[] DEFAULT '{scheduled,ready,running}'::text[], max_attempts integer DEFAULT NULL::integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.enqueue_job(kind text, args json, queue text, priority integer, run_at timestamp with time zone, tenant_id text, correlation_id text, limit_key text, unique_key text, unique_policy text, unique_states text[], max_attempts integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.enqueue_jobs(kinds text[], args text[], queues text[] DEFAULT NULL::text[], priorities integer[] DEFAULT NULL::integer[], run_ats timestamp with time zone[] DEFAULT NULL::timestamp with time zone[], tenant_ids text[] DEFAULT NULL::text[], correlation_ids text[] DEFAULT NULL::text[], limit_keys text[] DEFAULT NULL::text[], unique_keys text[] DEFAULT NULL::text[], max_attempts integer[] DEFAULT NULL::integer[]) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.enqueue_jobs(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], unique_keys text[], max_attempts integer[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.error_summary(error json) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato.error_summary(error json) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.estimate_rows(name regclass) RETURNS bigint
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato.estimate_rows(name regclass) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.existing_weeks() RETURNS SETOF integer
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.existing_weeks() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.fail_job(job_id bigint, attempt integer, error json, delay_seconds double precision DEFAULT NULL::double precision, signature text DEFAULT NULL::text, claim_id bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.fail_job(job_id bigint, attempt integer, error json, delay_seconds double precision, signature text, claim_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.fail_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[], errors text[], signatures text[], reasons text[] DEFAULT NULL::text[], durations integer[] DEFAULT NULL::integer[]) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.fail_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[], errors text[], signatures text[], reasons text[], durations integer[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.fake_now() RETURNS timestamp with time zone
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.fake_now() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.fence_job(job_id bigint, attempt integer, claim_id bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.fence_job(job_id bigint, attempt integer, claim_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.find_dead_letters(queue text DEFAULT NULL::text, kind text DEFAULT NULL::text, tenant_id text DEFAULT NULL::text, signature text DEFAULT NULL::text, ids bigint[] DEFAULT NULL::bigint[]) RETURNS SETOF bigint
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.find_dead_letters(queue text, kind text, tenant_id text, signature text, ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.find_ended(in_state text, in_queue text, of_kind text, of_tenant text, before bigint, most integer) RETURNS SETOF bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato.find_ended(in_state text, in_queue text, of_kind text, of_tenant text, before bigint, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.find_jobs(in_state text, in_queue text, of_kind text, of_tenant text, before bigint, most integer) RETURNS SETOF bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato.find_jobs(in_state text, in_queue text, of_kind text, of_tenant text, before bigint, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.find_ready(in_queue text, of_kind text, of_tenant text, before bigint, most integer) RETURNS SETOF bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato.find_ready(in_queue text, of_kind text, of_tenant text, before bigint, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.first_id(at timestamp with time zone) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato.first_id(at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.forget_run(job_ids bigint[], ended bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.forget_run(job_ids bigint[], ended bigint[]) OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.queue (
    name text NOT NULL COLLATE pg_catalog."C",
    paused boolean DEFAULT false NOT NULL,
    concurrency integer,
    key_concurrency integer,
    rate_count integer,
    rate_seconds double precision,
    key_rate_count integer,
    key_rate_seconds double precision,
    CONSTRAINT queue_check CHECK (((rate_count IS NULL) = (rate_seconds IS NULL))),
    CONSTRAINT queue_check1 CHECK (((key_rate_count IS NULL) = (key_rate_seconds IS NULL))),
    CONSTRAINT queue_concurrency_check CHECK ((concurrency > 0)),
    CONSTRAINT queue_key_concurrency_check CHECK ((key_concurrency > 0)),
    CONSTRAINT queue_key_rate_count_check CHECK ((key_rate_count > 0)),
    CONSTRAINT queue_key_rate_seconds_check CHECK ((key_rate_seconds > (0)::double precision)),
    CONSTRAINT queue_rate_count_check CHECK ((rate_count > 0)),
    CONSTRAINT queue_rate_seconds_check CHECK ((rate_seconds > (0)::double precision))
);
ALTER TABLE ONLY ostinato_data.queue FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.queue OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.free_keys(limits ostinato_data.queue, after text) RETURNS TABLE(limit_key text, free integer)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.free_keys(limits ostinato_data.queue, after text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.free_unique_keys(job_ids bigint[], state text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.free_unique_keys(job_ids bigint[], state text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.heartbeat_worker(worker_id uuid, draining boolean DEFAULT false) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.heartbeat_worker(worker_id uuid, draining boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.hold_unique_key(tenant_id text, unique_key text, job_id bigint, policy text, states text[]) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.hold_unique_key(tenant_id text, unique_key text, job_id bigint, policy text, states text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.is_expired(beat_at timestamp with time zone, expiry_seconds double precision, at timestamp with time zone) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato.is_expired(beat_at timestamp with time zone, expiry_seconds double precision, at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.is_ready(job_id bigint) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.is_ready(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.job_attempts(job_id bigint) RETURNS TABLE(attempt integer, outcome text, started_at timestamp with time zone, finished_at timestamp with time zone, duration_ms integer, worker_id uuid, worker_name text, result json, error json)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.job_attempts(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.job_state(job_id bigint) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.job_state(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.job_summaries(ids bigint[]) RETURNS TABLE(id bigint, kind text, queue text, tenant_id text, correlation_id text, priority smallint, state text, attempt integer, failures integer, crashes integer, created_at timestamp with time zone, run_at timestamp with time zone, finished_at timestamp with time zone, error text, reason text)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato.job_summaries(ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.limit_hint(queue text) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato.limit_hint(queue text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_dead_letters(INOUT queue text DEFAULT NULL::text, INOUT kind text DEFAULT NULL::text, INOUT tenant_id text DEFAULT NULL::text, INOUT signature text DEFAULT NULL::text, before bigint DEFAULT NULL::bigint, most integer DEFAULT 50, OUT job_id bigint, OUT attempt integer, OUT died_at timestamp with time zone, OUT reason text, OUT error text) RETURNS SETOF record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.list_dead_letters(INOUT queue text, INOUT kind text, INOUT tenant_id text, INOUT signature text, before bigint, most integer, OUT job_id bigint, OUT attempt integer, OUT died_at timestamp with time zone, OUT reason text, OUT error text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_jobs(INOUT state text DEFAULT NULL::text, INOUT queue text DEFAULT NULL::text, INOUT kind text DEFAULT NULL::text, INOUT tenant_id text DEFAULT NULL::text, INOUT correlation_id text DEFAULT NULL::text, before bigint DEFAULT NULL::bigint, most integer DEFAULT 50, OUT id bigint, OUT priority smallint, OUT attempt integer, OUT failures integer, OUT created_at timestamp with time zone, OUT run_at timestamp with time zone, OUT finished_at timestamp with time zone, OUT error text) RETURNS SETOF record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato.list_jobs(INOUT state text, INOUT queue text, INOUT kind text, INOUT tenant_id text, INOUT correlation_id text, before bigint, most integer, OUT id bigint, OUT priority smallint, OUT attempt integer, OUT failures integer, OUT created_at timestamp with time zone, OUT run_at timestamp with time zone, OUT finished_at timestamp with time zone, OUT error text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_queues() RETURNS TABLE(name text, paused boolean, concurrency integer, rate_count integer, rate_seconds double precision, key_concurrency integer, key_rate_count integer, key_rate_seconds double precision, ready bigint, scheduled bigint, running bigint, dead bigint, capped text[], oldest_wait double precision, workers bigint)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_queues() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_samples(name text, since timestamp with time zone, until timestamp with time zone DEFAULT NULL::timestamp with time zone, step interval DEFAULT '00:01:00'::interval) RETURNS TABLE(at timestamp with time zone, label text, value double precision)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_samples(name text, since timestamp with time zone, until timestamp with time zone, step interval) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_workers() RETURNS TABLE(id uuid, name text, started_at timestamp with time zone, beat_at timestamp with time zone, beat_age double precision, expiry_seconds double precision, expired boolean, draining boolean, held bigint, oldest_claim timestamp with time zone, contract integer, queues text[], kinds text[])
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_workers() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.lock_place(job_id bigint) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.lock_place(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.log_weeks(parent text) RETURNS SETOF integer
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.log_weeks(parent text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.look_up_lanes(queue text, last_tenant text) RETURNS ostinato_data.lanes
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.look_up_lanes(queue text, last_tenant text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.make_partition(parent text, name text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.make_partition(parent text, name text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.make_ready(job_id bigint, at bigint, attempt integer, failures integer, crashes integer) RETURNS void
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.make_ready(job_id bigint, at bigint, attempt integer, failures integer, crashes integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.move_test_clock(by interval) RETURNS void
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.move_test_clock(by interval) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.needed_jobs(first bigint, behind bigint, cutoff timestamp with time zone) RETURNS SETOF bigint
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.needed_jobs(first bigint, behind bigint, cutoff timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.new_id(at timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS bigint
    LANGUAGE sql
    AS …;
ALTER FUNCTION ostinato.new_id(at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.note_progress(claim_ids bigint[], job_ids bigint[], attempts integer[], done double precision[], totals double precision[], notes text[]) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.note_progress(claim_ids bigint[], job_ids bigint[], attempts integer[], done double precision[], totals double precision[], notes text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.note_starts(limits ostinato_data.queue, batch ostinato_data.batch, at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.note_starts(limits ostinato_data.queue, batch ostinato_data.batch, at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.now() RETURNS timestamp with time zone
    LANGUAGE sql PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato.now() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.observe() RETURNS TABLE(name text, label text, value double precision)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.observe() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.oldest_wait(queue text) RETURNS double precision
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.oldest_wait(queue text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.page_size(most integer) RETURNS integer
    LANGUAGE plpgsql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato.page_size(most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.pause_queue(name text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.pause_queue(name text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.pick(anyarray, n bigint) RETURNS anyelement
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato.pick(anyarray, n bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.poll_jobs(worker_id uuid, queues text[], max_crashes integer DEFAULT 3, OUT rescued integer, OUT promoted integer, OUT ready_queues text[], OUT next_due double precision, OUT cancels bigint[], OUT chores text[]) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.poll_jobs(worker_id uuid, queues text[], max_crashes integer, OUT rescued integer, OUT promoted integer, OUT ready_queues text[], OUT next_due double precision, OUT cancels bigint[], OUT chores text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.promote_jobs(most integer DEFAULT 5000) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.promote_jobs(most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.prune_default(cutoff timestamp with time zone) RETURNS TABLE(action text, name text, reason text, rows bigint)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.prune_default(cutoff timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.prune_leftovers(cutoff timestamp with time zone) RETURNS TABLE(action text, name text, reason text, rows bigint)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.prune_leftovers(cutoff timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.queue_allowance(limits ostinato_data.queue, wanted integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.queue_allowance(limits ostinato_data.queue, wanted integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.queue_running(queue text) RETURNS integer
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.queue_running(queue text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.rate_frees_at(queue text, limit_key text, most integer, seconds double precision) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.rate_frees_at(queue text, limit_key text, most integer, seconds double precision) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.ready_keys(queue text, after text) RETURNS SETOF text
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.ready_keys(queue text, after text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.ready_lanes(queue text, after_priority integer DEFAULT '-32768'::integer, after_tenant text DEFAULT ''::text) RETURNS TABLE(priority smallint, tenant_id text, first bigint)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.ready_lanes(queue text, after_priority integer, after_tenant text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.ready_since(job_id bigint) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.ready_since(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.recent_starts(queue text, limit_key text, seconds double precision) RETURNS integer
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.recent_starts(queue text, limit_key text, seconds double precision) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.reconcile_worker(worker_id uuid, held bigint[], seconds double precision) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.reconcile_worker(worker_id uuid, held bigint[], seconds double precision) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.redrive_jobs(queue text DEFAULT NULL::text, kind text DEFAULT NULL::text, tenant_id text DEFAULT NULL::text, signature text DEFAULT NULL::text, ids bigint[] DEFAULT NULL::bigint[], most integer DEFAULT NULL::integer, preview boolean DEFAULT false, OUT matching bigint, OUT redriven bigint, OUT conflicts bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.redrive_jobs(queue text, kind text, tenant_id text, signature text, ids bigint[], most integer, preview boolean, OUT matching bigint, OUT redriven bigint, OUT conflicts bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.refuse_moved(job_id bigint) RETURNS text
    LANGUAGE plpgsql
    AS …;
ALTER FUNCTION ostinato.refuse_moved(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.refuse_stale(job_id bigint, attempt integer) RETURNS void
    LANGUAGE plpgsql
    AS …;
ALTER FUNCTION ostinato.refuse_stale(job_id bigint, attempt integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.refuse_unknown(job_id bigint) RETURNS void
    LANGUAGE plpgsql
    AS …;
ALTER FUNCTION ostinato.refuse_unknown(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.register_kinds(names text[], queues text[], priorities integer[], timeouts double precision[], retries text[], schemas text[]) RETURNS void
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.register_kinds(names text[], queues text[], priorities integer[], timeouts double precision[], retries text[], schemas text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.register_worker(name text, queues text[], kinds text[], expiry_seconds double precision DEFAULT 15, contract integer DEFAULT 1) RETURNS uuid
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.register_worker(name text, queues text[], kinds text[], expiry_seconds double precision, contract integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.rehold_unique_key(job_id bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.rehold_unique_key(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.release_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[]) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.release_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.rescue_claim(claim_id bigint, max_crashes integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.rescue_claim(claim_id bigint, max_crashes integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.rescue_jobs(max_crashes integer DEFAULT 3, most integer DEFAULT 20) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.rescue_jobs(max_crashes integer, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.resume_queue(name text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.resume_queue(name text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.retry_job(job_id bigint) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.retry_job(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.ring_doorbell(queue text, softly boolean DEFAULT false) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.ring_doorbell(queue text, softly boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.running_keys(queue text) RETURNS TABLE(limit_key text, job_id bigint)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.running_keys(queue text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.sample_metrics(every interval DEFAULT '00:00:15'::interval) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.sample_metrics(every interval) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.say_span(span interval) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato.say_span(span interval) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.say_time(at timestamp with time zone) RETURNS text
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato.say_time(at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.served_lanes(tenants text[], gave text[], positions bigint[], share integer, full_batch boolean) RETURNS ostinato_data.lanes
    LANGUAGE plpgsql IMMUTABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_nestloop TO 'off'
    AS …;
ALTER FUNCTION ostinato.served_lanes(tenants text[], gave text[], positions bigint[], share integer, full_batch boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.set_test_clock(frozen timestamp with time zone, shift interval) RETURNS void
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.set_test_clock(frozen timestamp with time zone, shift interval) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.settle(claim_ids bigint[], job_ids bigint[], attempts integer[]) RETURNS TABLE(n bigint, job_id bigint, attempt integer, failures smallint, crashes smallint, "position" bigint, worker_id uuid, keyed boolean)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_nestloop TO 'off'
    AS …;
ALTER FUNCTION ostinato.settle(claim_ids bigint[], job_ids bigint[], attempts integer[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.settle_cancels(most integer DEFAULT 100) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.settle_cancels(most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.show_job(job_id bigint, OUT id bigint, OUT kind text, OUT queue text, OUT tenant_id text, OUT correlation_id text, OUT priority smallint, OUT state text, OUT reason text, OUT attempt integer, OUT failures integer, OUT crashes integer, OUT max_attempts smallint, OUT created_at timestamp with time zone, OUT asked_run_at timestamp with time zone, OUT run_at timestamp with time zone, OUT finished_at timestamp with time zone, OUT duration_ms integer, OUT args json, OUT result json, OUT error json, OUT limit_key text, OUT unique_key text, OUT unique_states text[], OUT worker_id uuid, OUT worker_name text, OUT claimed_at timestamp with time zone, OUT lease_until timestamp with time zone, OUT cancel_requested_at timestamp with time zone, OUT cancel_reason text, OUT progress_done double precision, OUT progress_total double precision, OUT progress_note text, OUT progress_at timestamp with time zone) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.show_job(job_id bigint, OUT id bigint, OUT kind text, OUT queue text, OUT tenant_id text, OUT correlation_id text, OUT priority smallint, OUT state text, OUT reason text, OUT attempt integer, OUT failures integer, OUT crashes integer, OUT max_attempts smallint, OUT created_at timestamp with time zone, OUT asked_run_at timestamp with time zone, OUT run_at timestamp with time zone, OUT finished_at timestamp with time zone, OUT duration_ms integer, OUT args json, OUT result json, OUT error json, OUT limit_key text, OUT unique_key text, OUT unique_states text[], OUT worker_id uuid, OUT worker_name text, OUT claimed_at timestamp with time zone, OUT lease_until timestamp with time zone, OUT cancel_requested_at timestamp with time zone, OUT cancel_reason text, OUT progress_done double precision, OUT progress_total double precision, OUT progress_note text, OUT progress_at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.slot_holders(queue text, limit_key text, OUT who text, OUT holders json) RETURNS record
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.slot_holders(queue text, limit_key text, OUT who text, OUT holders json) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.snooze_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[]) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.snooze_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.take_lanes(queue text, wanted integer, kinds text[], cursor text, suspects boolean) RETURNS ostinato_data.batch
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.take_lanes(queue text, wanted integer, kinds text[], cursor text, suspects boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.take_limited(limits ostinato_data.queue, wanted integer, kinds text[], cursor text, suspects boolean) RETURNS ostinato_data.batch
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_hashjoin TO 'off'
    AS …;
ALTER FUNCTION ostinato.take_limited(limits ostinato_data.queue, wanted integer, kinds text[], cursor text, suspects boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.take_suspect(queue text, kinds text[], batch ostinato_data.batch) RETURNS ostinato_data.batch
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.take_suspect(queue text, kinds text[], batch ostinato_data.batch) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.take_turns(queue text, wanted integer, kinds text[], INOUT batch ostinato_data.batch, INOUT lanes ostinato_data.lanes, last integer) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.take_turns(queue text, wanted integer, kinds text[], INOUT batch ostinato_data.batch, INOUT lanes ostinato_data.lanes, last integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.take_waiting(job_ids bigint[]) RETURNS TABLE(job_id bigint, attempt integer, failures smallint, crashes smallint)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.take_waiting(job_ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.tenant(given text) RETURNS text
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato.tenant(given text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.tick() RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.tick() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.unregister_worker(worker_id uuid) RETURNS void
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.unregister_worker(worker_id uuid) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.upkeep_log(parent text, id text, cutoff timestamp with time zone, keep_from bigint DEFAULT NULL::bigint, weeks_ahead integer DEFAULT 4) RETURNS TABLE(action text, name text, reason text, rows bigint)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.upkeep_log(parent text, id text, cutoff timestamp with time zone, keep_from bigint, weeks_ahead integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.upkeep_logs(retention_days integer, weeks_ahead integer DEFAULT 4) RETURNS TABLE(action text, name text, reason text, rows bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '300ms'
    AS …;
ALTER FUNCTION ostinato.upkeep_logs(retention_days integer, weeks_ahead integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.upkeep_partitions(retention_days integer, weeks_ahead integer DEFAULT 4, thorough boolean DEFAULT false) RETURNS TABLE(action text, name text, reason text, rows bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '300ms'
    AS …;
ALTER FUNCTION ostinato.upkeep_partitions(retention_days integer, weeks_ahead integer, thorough boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.use_test_clock() RETURNS void
    LANGUAGE plpgsql
    AS …;
ALTER FUNCTION ostinato.use_test_clock() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.waiting_kinds() RETURNS SETOF text
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.waiting_kinds() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.waiting_lanes(for_queue text, for_tenant text) RETURNS TABLE(queue text, priority smallint, tenant_id text)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.waiting_lanes(for_queue text, for_tenant text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.waiting_queues() RETURNS SETOF text
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.waiting_queues() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.was_last(job_id bigint, attempt integer) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.was_last(job_id bigint, attempt integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.week_id(week integer) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato.week_id(week integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.week_name(parent text, week integer) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato.week_name(parent text, week integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.week_of(at timestamp with time zone) RETURNS integer
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato.week_of(at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.why(job_id bigint) RETURNS TABLE(code text, message text, detail json, hint text)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.why(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.why_blocked(queue text, kind text) RETURNS TABLE(code text, message text, detail json, hint text)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.why_blocked(queue text, kind text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.why_cancelling(job_id bigint) RETURNS TABLE(code text, message text, detail json, hint text)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.why_cancelling(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.why_ended(job_id bigint) RETURNS TABLE(code text, message text, detail json, hint text)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.why_ended(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.why_limited(queue text, limit_key text) RETURNS TABLE(code text, message text, detail json, hint text)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.why_limited(queue text, limit_key text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.why_ready(job_id bigint) RETURNS TABLE(code text, message text, detail json, hint text)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.why_ready(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.why_running(job_id bigint) RETURNS TABLE(code text, message text, detail json, hint text)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.why_running(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.why_scheduled(job_id bigint) RETURNS TABLE(code text, message text, detail json, hint text)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.why_scheduled(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.why_silent(worker_id uuid, worker text, beat_at timestamp with time zone, lease_until timestamp with time zone) RETURNS TABLE(code text, message text, detail json, hint text)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.why_silent(worker_id uuid, worker text, beat_at timestamp with time zone, lease_until timestamp with time zone) OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.ready (
    "position" bigint NOT NULL,
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    priority smallint NOT NULL,
    failures smallint NOT NULL,
    crashes smallint NOT NULL,
    keyed boolean NOT NULL,
    queue text NOT NULL COLLATE pg_catalog."C",
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    limit_key text COLLATE pg_catalog."C"
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='20000', autovacuum_vacuum_cost_delay='0', autovacuum_vacuum_insert_scale_factor='1', autovacuum_analyze_scale_factor='1');
ALTER TABLE ONLY ostinato_data.ready FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.ready OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.why_turn(place ostinato_data.ready, blocked boolean) RETURNS TABLE(code text, message text, detail json, hint text)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.why_turn(place ostinato_data.ready, blocked boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.why_unique(job_id bigint) RETURNS TABLE(code text, message text, detail json, hint text)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.why_unique(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_data.protect(name text, tenants boolean DEFAULT false) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_data.protect(name text, tenants boolean) OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.cancel_request (
    job_id bigint NOT NULL,
    requested_at timestamp with time zone NOT NULL,
    reason text NOT NULL
);
ALTER TABLE ONLY ostinato_data.cancel_request FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.cancel_request OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.claim (
    id bigint NOT NULL,
    worker_id uuid NOT NULL,
    claimed_at timestamp with time zone NOT NULL,
    queue text NOT NULL COLLATE pg_catalog."C",
    keyed boolean NOT NULL,
    job_ids bigint[] NOT NULL,
    positions bigint[] NOT NULL,
    attempts integer[] NOT NULL,
    failures smallint[] NOT NULL,
    crashes smallint[] NOT NULL,
    limit_keys text[] COLLATE pg_catalog."C"
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000', autovacuum_vacuum_cost_delay='0');
ALTER TABLE ONLY ostinato_data.claim FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.claim OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.claim_hint (
    queue text NOT NULL,
    kinds text[] NOT NULL,
    lanes ostinato_data.lanes NOT NULL
)
WITH (fillfactor='20');
ALTER TABLE ONLY ostinato_data.claim_hint FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.claim_hint OWNER TO ostinato_owner;
CREATE SEQUENCE ostinato_data.claim_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE ostinato_data.claim_id_seq OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.dead_letter (
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    died_at timestamp with time zone NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    reason text NOT NULL COLLATE pg_catalog."C",
    signature text NOT NULL COLLATE pg_catalog."C",
    error json
);
ALTER TABLE ONLY ostinato_data.dead_letter FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.dead_letter OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.doorbell (
    queue text NOT NULL COLLATE pg_catalog."C",
    rung_at timestamp with time zone NOT NULL
)
WITH (fillfactor='20');
ALTER TABLE ONLY ostinato_data.doorbell FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.doorbell OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.idempotency (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    scope text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    token bigint NOT NULL,
    attempt integer NOT NULL,
    state text NOT NULL COLLATE pg_catalog."C",
    holder text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    renewed_at timestamp with time zone NOT NULL,
    lease_seconds double precision NOT NULL,
    ttl_seconds double precision NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    doubted_at timestamp with time zone,
    finished_at timestamp with time zone,
    declaration text NOT NULL COLLATE pg_catalog."C",
    fingerprint text NOT NULL COLLATE pg_catalog."C",
    fields json NOT NULL,
    resource text,
    answer json,
    CONSTRAINT idempotency_lease_seconds_check CHECK ((lease_seconds > (0)::double precision)),
    CONSTRAINT idempotency_state_check CHECK ((state = ANY (ARRAY['in_flight'::text, 'abandoned'::text, 'done'::text]))),
    CONSTRAINT idempotency_ttl_seconds_check CHECK ((ttl_seconds > (0)::double precision))
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='20000', autovacuum_vacuum_cost_delay='0');
ALTER TABLE ONLY ostinato_data.idempotency FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.idempotency OWNER TO ostinato_owner;
CREATE SEQUENCE ostinato_data.idempotency_token_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE ostinato_data.idempotency_token_seq OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.job (
    id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    run_at timestamp with time zone,
    priority smallint NOT NULL,
    max_attempts smallint,
    kind text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    args json NOT NULL,
    limit_key text COLLATE pg_catalog."C",
    unique_key text COLLATE pg_catalog."C",
    correlation_id text COLLATE pg_catalog."C"
)
PARTITION BY RANGE (id);
ALTER TABLE ONLY ostinato_data.job FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.job OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.job_default (
    id bigint CONSTRAINT job_id_not_null NOT NULL,
    created_at timestamp with time zone CONSTRAINT job_created_at_not_null NOT NULL,
    run_at timestamp with time zone,
    priority smallint CONSTRAINT job_priority_not_null NOT NULL,
    max_attempts smallint,
    kind text CONSTRAINT job_kind_not_null NOT NULL COLLATE pg_catalog."C",
    queue text CONSTRAINT job_queue_not_null NOT NULL COLLATE pg_catalog."C",
    tenant_id text CONSTRAINT job_tenant_id_not_null NOT NULL COLLATE pg_catalog."C",
    args json CONSTRAINT job_args_not_null NOT NULL,
    limit_key text COLLATE pg_catalog."C",
    unique_key text COLLATE pg_catalog."C",
    correlation_id text COLLATE pg_catalog."C"
);
ALTER TABLE ONLY ostinato_data.job_default FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.job_default OWNER TO ostinato_owner;
CREATE SEQUENCE ostinato_data.job_id_seq
    START WITH 1
    INCREMENT BY 1
    MINVALUE 0
    MAXVALUE 9999999999
    CACHE 1
    CYCLE;
ALTER SEQUENCE ostinato_data.job_id_seq OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.job_progress (
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    done double precision NOT NULL,
    total double precision,
    note text,
    updated_at timestamp with time zone NOT NULL
)
WITH (fillfactor='70');
ALTER TABLE ONLY ostinato_data.job_progress FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.job_progress OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.job_unique (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    unique_key text NOT NULL COLLATE pg_catalog."C",
    job_id bigint NOT NULL,
    states text[] NOT NULL
);
ALTER TABLE ONLY ostinato_data.job_unique FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.job_unique OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.kind (
    name text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    timeout_seconds double precision,
    retry json NOT NULL,
    args_schema json,
    registered_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY ostinato_data.kind FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.kind OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.lease (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    token bigint NOT NULL,
    attempt integer NOT NULL,
    holder text NOT NULL,
    acquired_at timestamp with time zone NOT NULL,
    renewed_at timestamp with time zone NOT NULL,
    ttl_seconds double precision,
    job_id bigint,
    job_attempt integer,
    doubted_at timestamp with time zone,
    CONSTRAINT lease_check CHECK (((ttl_seconds IS NOT NULL) OR (job_id IS NOT NULL))),
    CONSTRAINT lease_check1 CHECK (((job_attempt IS NULL) OR (job_id IS NOT NULL))),
    CONSTRAINT lease_ttl_seconds_check CHECK ((ttl_seconds > (0)::double precision))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000', autovacuum_vacuum_cost_delay='0');
ALTER TABLE ONLY ostinato_data.lease FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.lease OWNER TO ostinato_owner;
CREATE SEQUENCE ostinato_data.lease_token_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE ostinato_data.lease_token_seq OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.metric_sample (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    label text NOT NULL COLLATE pg_catalog."C",
    value double precision NOT NULL
)
PARTITION BY RANGE (id);
ALTER TABLE ONLY ostinato_data.metric_sample FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.metric_sample OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.metric_sample_default (
    id bigint CONSTRAINT metric_sample_id_not_null NOT NULL,
    at timestamp with time zone CONSTRAINT metric_sample_at_not_null NOT NULL,
    name text CONSTRAINT metric_sample_name_not_null NOT NULL COLLATE pg_catalog."C",
    label text CONSTRAINT metric_sample_label_not_null NOT NULL COLLATE pg_catalog."C",
    value double precision CONSTRAINT metric_sample_value_not_null NOT NULL
);
ALTER TABLE ONLY ostinato_data.metric_sample_default FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.metric_sample_default OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.migration (
    component text NOT NULL COLLATE pg_catalog."C",
    version integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    objects text[] DEFAULT '{}'::text[] NOT NULL
);
ALTER TABLE ONLY ostinato_data.migration FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.migration OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.outcome (
    job_id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    attempt integer NOT NULL,
    duration_ms integer,
    worker_id uuid,
    outcome text NOT NULL COLLATE pg_catalog."C",
    result json,
    error json,
    CONSTRAINT outcome_outcome_check CHECK ((outcome = ANY (ARRAY['done'::text, 'failed'::text, 'lost'::text, 'cancelled'::text, 'dead'::text])))
)
PARTITION BY RANGE (job_id);
ALTER TABLE ONLY ostinato_data.outcome FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.outcome OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.outcome_default (
    job_id bigint CONSTRAINT outcome_job_id_not_null NOT NULL,
    finished_at timestamp with time zone CONSTRAINT outcome_finished_at_not_null NOT NULL,
    attempt integer CONSTRAINT outcome_attempt_not_null NOT NULL,
    duration_ms integer,
    worker_id uuid,
    outcome text CONSTRAINT outcome_outcome_not_null NOT NULL COLLATE pg_catalog."C",
    result json,
    error json,
    CONSTRAINT outcome_outcome_check CHECK ((outcome = ANY (ARRAY['done'::text, 'failed'::text, 'lost'::text, 'cancelled'::text, 'dead'::text])))
);
ALTER TABLE ONLY ostinato_data.outcome_default FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.outcome_default OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.rate_use (
    queue text NOT NULL COLLATE pg_catalog."C",
    limit_key text NOT NULL COLLATE pg_catalog."C",
    started_at timestamp with time zone NOT NULL,
    started integer NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000', autovacuum_vacuum_cost_delay='0');
ALTER TABLE ONLY ostinato_data.rate_use FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.rate_use OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.scheduled (
    job_id bigint NOT NULL,
    run_at timestamp with time zone NOT NULL,
    attempt integer NOT NULL,
    priority smallint NOT NULL,
    failures smallint NOT NULL,
    crashes smallint NOT NULL,
    keyed boolean NOT NULL,
    reason text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    limit_key text COLLATE pg_catalog."C",
    CONSTRAINT scheduled_reason_check CHECK ((reason = ANY (ARRAY['later'::text, 'retry'::text, 'snooze'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='20000', autovacuum_vacuum_cost_delay='0');
ALTER TABLE ONLY ostinato_data.scheduled FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.scheduled OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.test_clock (
    only_row boolean DEFAULT true NOT NULL,
    frozen timestamp with time zone,
    shift interval DEFAULT '00:00:00'::interval NOT NULL,
    CONSTRAINT test_clock_only_row_check CHECK (only_row)
);
ALTER TABLE ONLY ostinato_data.test_clock FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.test_clock OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.tick (
    only_row boolean DEFAULT true NOT NULL,
    last timestamp with time zone NOT NULL,
    grace_until timestamp with time zone NOT NULL,
    CONSTRAINT tick_only_row_check CHECK (only_row)
)
WITH (fillfactor='20');
ALTER TABLE ONLY ostinato_data.tick FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.tick OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.worker (
    id uuid NOT NULL,
    name text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    beat_at timestamp with time zone NOT NULL,
    expiry_seconds double precision NOT NULL,
    draining boolean DEFAULT false NOT NULL,
    contract integer NOT NULL,
    queues text[] NOT NULL,
    kinds text[] NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE ONLY ostinato_data.worker FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.worker OWNER TO ostinato_owner;
ALTER TABLE ONLY ostinato_data.job ATTACH PARTITION ostinato_data.job_default DEFAULT;
ALTER TABLE ONLY ostinato_data.metric_sample ATTACH PARTITION ostinato_data.metric_sample_default DEFAULT;
ALTER TABLE ONLY ostinato_data.outcome ATTACH PARTITION ostinato_data.outcome_default DEFAULT;
ALTER TABLE ONLY ostinato_data.cancel_request
    ADD CONSTRAINT cancel_request_pkey PRIMARY KEY (job_id);
ALTER TABLE ONLY ostinato_data.claim_hint
    ADD CONSTRAINT claim_hint_pkey PRIMARY KEY (queue, kinds);
ALTER TABLE ONLY ostinato_data.claim
    ADD CONSTRAINT claim_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.dead_letter
    ADD CONSTRAINT dead_letter_pkey PRIMARY KEY (job_id);
ALTER TABLE ONLY ostinato_data.doorbell
    ADD CONSTRAINT doorbell_pkey PRIMARY KEY (queue);
ALTER TABLE ONLY ostinato_data.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (tenant_id, scope, key);
ALTER TABLE ONLY ostinato_data.job
    ADD CONSTRAINT job_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.job_default
    ADD CONSTRAINT job_default_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.job_progress
    ADD CONSTRAINT job_progress_pkey PRIMARY KEY (job_id);
ALTER TABLE ONLY ostinato_data.job_unique
    ADD CONSTRAINT job_unique_pkey PRIMARY KEY (tenant_id, unique_key);
ALTER TABLE ONLY ostinato_data.kind
    ADD CONSTRAINT kind_pkey PRIMARY KEY (name);
ALTER TABLE ONLY ostinato_data.lease
    ADD CONSTRAINT lease_pkey PRIMARY KEY (tenant_id, name);
ALTER TABLE ONLY ostinato_data.metric_sample
    ADD CONSTRAINT metric_sample_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.metric_sample_default
    ADD CONSTRAINT metric_sample_default_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (component, version);
ALTER TABLE ONLY ostinato_data.outcome
    ADD CONSTRAINT outcome_pkey PRIMARY KEY (job_id, attempt);
ALTER TABLE ONLY ostinato_data.outcome_default
    ADD CONSTRAINT outcome_default_pkey PRIMARY KEY (job_id, attempt);
ALTER TABLE ONLY ostinato_data.queue
    ADD CONSTRAINT queue_pkey PRIMARY KEY (name);
ALTER TABLE ONLY ostinato_data.scheduled
    ADD CONSTRAINT scheduled_pkey PRIMARY KEY (job_id);
ALTER TABLE ONLY ostinato_data.test_clock
    ADD CONSTRAINT test_clock_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY ostinato_data.tick
    ADD CONSTRAINT tick_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY ostinato_data.worker
    ADD CONSTRAINT worker_pkey PRIMARY KEY (id);
CREATE INDEX claim_worker ON ostinato_data.claim USING btree (worker_id);
CREATE INDEX dead_letter_signature ON ostinato_data.dead_letter USING btree (signature, job_id);
CREATE INDEX dead_letter_tenant ON ostinato_data.dead_letter USING btree (tenant_id, job_id);
CREATE INDEX idempotency_expires ON ostinato_data.idempotency USING btree (expires_at);
CREATE INDEX job_correlation ON ONLY ostinato_data.job USING btree (correlation_id) WHERE (correlation_id IS NOT NULL);
CREATE INDEX job_default_correlation_id_idx ON ostinato_data.job_default USING btree (correlation_id) WHERE (correlation_id IS NOT NULL);
CREATE UNIQUE INDEX job_unique_job ON ostinato_data.job_unique USING btree (job_id);
CREATE INDEX lease_renewed ON ostinato_data.lease USING btree (renewed_at);
CREATE INDEX metric_sample_name_at ON ONLY ostinato_data.metric_sample USING btree (name, at);
CREATE INDEX metric_sample_default_name_at_idx ON ostinato_data.metric_sample_default USING btree (name, at);
CREATE INDEX rate_use_window ON ostinato_data.rate_use USING btree (queue, limit_key, started_at) INCLUDE (started);
CREATE INDEX ready_lane ON ostinato_data.ready USING btree (queue, priority, tenant_id, "position");
CREATE INDEX ready_limited ON ostinato_data.ready USING btree (queue, limit_key, priority, "position") WHERE (limit_key IS NOT NULL);
CREATE INDEX ready_moved ON ostinato_data.ready USING btree (job_id) WHERE ("position" <> job_id);
CREATE INDEX ready_suspect ON ostinato_data.ready USING btree (queue, "position") WHERE (crashes >= 2);
CREATE INDEX scheduled_due ON ostinato_data.scheduled USING btree (run_at);
ALTER INDEX ostinato_data.job_correlation ATTACH PARTITION ostinato_data.job_default_correlation_id_idx;
ALTER INDEX ostinato_data.job_pkey ATTACH PARTITION ostinato_data.job_default_pkey;
ALTER INDEX ostinato_data.metric_sample_name_at ATTACH PARTITION ostinato_data.metric_sample_default_name_at_idx;
ALTER INDEX ostinato_data.metric_sample_pkey ATTACH PARTITION ostinato_data.metric_sample_default_pkey;
ALTER INDEX ostinato_data.outcome_pkey ATTACH PARTITION ostinato_data.outcome_default_pkey;
ALTER TABLE ostinato_data.cancel_request ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.claim ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.claim_hint ENABLE ROW LEVEL SECURITY;
CREATE POLICY clock ON ostinato_data.test_clock FOR SELECT TO ostinato_tenant USING (true);
ALTER TABLE ostinato_data.dead_letter ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.doorbell ENABLE ROW LEVEL SECURITY;
CREATE POLICY engine ON ostinato_data.cancel_request TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.claim TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.claim_hint TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.dead_letter TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.doorbell TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.idempotency TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.job TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.job_default TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.job_progress TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.job_unique TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.kind TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.lease TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.metric_sample TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.metric_sample_default TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.outcome TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.outcome_default TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.queue TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.rate_use TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.ready TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.scheduled TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.test_clock TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.tick TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.worker TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
ALTER TABLE ostinato_data.idempotency ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.job ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.job_default ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.job_progress ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.job_unique ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.kind ENABLE ROW LEVEL SECURITY;
CREATE POLICY kinds ON ostinato_data.kind FOR SELECT TO ostinato_tenant USING (true);
ALTER TABLE ostinato_data.lease ENABLE ROW LEVEL SECURITY;
CREATE POLICY look ON ostinato_data.migration FOR SELECT TO ostinato_worker USING (true);
ALTER TABLE ostinato_data.metric_sample ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.metric_sample_default ENABLE ROW LEVEL SECURITY;
CREATE POLICY migrate ON ostinato_data.migration TO ostinato_owner USING (true) WITH CHECK (true);
ALTER TABLE ostinato_data.migration ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.outcome ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.outcome_default ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.queue ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.rate_use ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.ready ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.scheduled ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON ostinato_data.dead_letter TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.idempotency TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.job TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.job_unique TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.lease TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.ready TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.scheduled TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
ALTER TABLE ostinato_data.test_clock ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.tick ENABLE ROW LEVEL SECURITY;
CREATE POLICY tick ON ostinato_data.tick FOR SELECT TO ostinato_tenant USING (true);
ALTER TABLE ostinato_data.worker ENABLE ROW LEVEL SECURITY;
GRANT USAGE ON SCHEMA ostinato TO ostinato_worker;
GRANT USAGE ON SCHEMA ostinato TO ostinato_tenant;
GRANT USAGE ON SCHEMA ostinato_data TO ostinato_worker;
GRANT USAGE ON SCHEMA ostinato_data TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.able_workers(queue text, kind text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.able_workers(queue text, kind text) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.add_batch(a ostinato_data.batch, b ostinato_data.batch) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.add_batch(a ostinato_data.batch, b ostinato_data.batch) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.add_log_week(parent text, id text, week integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.add_log_week(parent text, id text, week integer) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.add_week(week integer, thorough boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.add_week(week integer, thorough boolean) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.cancel_job(job_id bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.cancel_job(job_id bigint, reason text) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.cancel_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], reasons text[], durations integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.cancel_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], reasons text[], durations integer[]) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.check_args(kind text, args text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.check_args(kind text, args text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.check_args(kind text, args text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.check_lengths(count integer, VARIADIC lengths integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.check_lengths(count integer, VARIADIC lengths integer[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.check_lengths(count integer, VARIADIC lengths integer[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.check_name(what text, value text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.check_name(what text, value text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.check_name(what text, value text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.check_options(priority integer, max_attempts integer, run_at timestamp with time zone, limit_key text, correlation_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.check_options(priority integer, max_attempts integer, run_at timestamp with time zone, limit_key text, correlation_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.check_options(priority integer, max_attempts integer, run_at timestamp with time zone, limit_key text, correlation_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.check_sets(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], max_attempts integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.check_sets(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], max_attempts integer[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.check_sets(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], max_attempts integer[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.chores() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.chores() TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.claim_jobs(worker_id uuid, queue text, wanted integer, kinds text[], cursor text, suspects boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.claim_jobs(worker_id uuid, queue text, wanted integer, kinds text[], cursor text, suspects boolean) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.claim_of(job_id bigint, attempt integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.claim_of(job_id bigint, attempt integer) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.complete_job(job_id bigint, attempt integer, result json, duration_ms integer, claim_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.complete_job(job_id bigint, attempt integer, result json, duration_ms integer, claim_id bigint) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.complete_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], durations integer[], results text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.complete_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], durations integer[], results text[]) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.configure_queue(name text, concurrency integer, rate_count integer, rate_seconds double precision, key_concurrency integer, key_rate_count integer, key_rate_seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.configure_queue(name text, concurrency integer, rate_count integer, rate_seconds double precision, key_concurrency integer, key_rate_count integer, key_rate_seconds double precision) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.contract(OUT current integer, OUT oldest integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.contract(OUT current integer, OUT oldest integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.contract(OUT current integer, OUT oldest integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.dead_letter_groups() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.dead_letter_groups() TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.drop_log_week(parent text, week integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.drop_log_week(parent text, week integer) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.drop_waiting(job_id bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.drop_waiting(job_id bigint, reason text) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.drop_week(week integer, cutoff timestamp with time zone, thorough boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.drop_week(week integer, cutoff timestamp with time zone, thorough boolean) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.engine_stats(OUT ready bigint, OUT scheduled bigint, OUT due bigint, OUT running bigint, OUT dead bigint, OUT estimated text[], OUT workers bigint, OUT expired_workers bigint, OUT oldest_ready double precision, OUT xmin_age bigint, OUT ready_dead_tuples bigint, OUT default_bytes bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.engine_stats(OUT ready bigint, OUT scheduled bigint, OUT due bigint, OUT running bigint, OUT dead bigint, OUT estimated text[], OUT workers bigint, OUT expired_workers bigint, OUT oldest_ready double precision, OUT xmin_age bigint, OUT ready_dead_tuples bigint, OUT default_bytes bigint) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.enqueue_job(kind text, args json, queue text, priority integer, run_at timestamp with time zone, tenant_id text, correlation_id text, limit_key text, unique_key text, unique_policy text, unique_states text[], max_attempts integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.enqueue_job(kind text, args json, queue text, priority integer, run_at timestamp with time zone, tenant_id text, correlation_id text, limit_key text, unique_key text, unique_policy text, unique_states text[], max_attempts integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.enqueue_job(kind text, args json, queue text, priority integer, run_at timestamp with time zone, tenant_id text, correlation_id text, limit_key text, unique_key text, unique_policy text, unique_states text[], max_attempts integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.enqueue_jobs(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], unique_keys text[], max_attempts integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.enqueue_jobs(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], unique_keys text[], max_attempts integer[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.enqueue_jobs(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], unique_keys text[], max_attempts integer[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.error_summary(error json) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.error_summary(error json) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.estimate_rows(name regclass) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.estimate_rows(name regclass) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.existing_weeks() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.existing_weeks() TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.fail_job(job_id bigint, attempt integer, error json, delay_seconds double precision, signature text, claim_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.fail_job(job_id bigint, attempt integer, error json, delay_seconds double precision, signature text, claim_id bigint) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.fail_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[], errors text[], signatures text[], reasons text[], durations integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.fail_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[], errors text[], signatures text[], reasons text[], durations integer[]) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.fake_now() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.fake_now() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.fake_now() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.fence_job(job_id bigint, attempt integer, claim_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.fence_job(job_id bigint, attempt integer, claim_id bigint) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.find_dead_letters(queue text, kind text, tenant_id text, signature text, ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.find_dead_letters(queue text, kind text, tenant_id text, signature text, ids bigint[]) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.find_ended(in_state text, in_queue text, of_kind text, of_tenant text, before bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.find_ended(in_state text, in_queue text, of_kind text, of_tenant text, before bigint, most integer) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.find_jobs(in_state text, in_queue text, of_kind text, of_tenant text, before bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.find_jobs(in_state text, in_queue text, of_kind text, of_tenant text, before bigint, most integer) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.find_ready(in_queue text, of_kind text, of_tenant text, before bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.find_ready(in_queue text, of_kind text, of_tenant text, before bigint, most integer) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.first_id(at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.first_id(at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.first_id(at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.forget_run(job_ids bigint[], ended bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.forget_run(job_ids bigint[], ended bigint[]) TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.queue TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.free_keys(limits ostinato_data.queue, after text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.free_keys(limits ostinato_data.queue, after text) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.free_unique_keys(job_ids bigint[], state text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.free_unique_keys(job_ids bigint[], state text) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.heartbeat_worker(worker_id uuid, draining boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.heartbeat_worker(worker_id uuid, draining boolean) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.hold_unique_key(tenant_id text, unique_key text, job_id bigint, policy text, states text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.hold_unique_key(tenant_id text, unique_key text, job_id bigint, policy text, states text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.hold_unique_key(tenant_id text, unique_key text, job_id bigint, policy text, states text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.is_expired(beat_at timestamp with time zone, expiry_seconds double precision, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.is_expired(beat_at timestamp with time zone, expiry_seconds double precision, at timestamp with time zone) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.is_ready(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.is_ready(job_id bigint) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.job_attempts(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.job_attempts(job_id bigint) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.job_state(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.job_state(job_id bigint) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.job_summaries(ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.job_summaries(ids bigint[]) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.limit_hint(queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.limit_hint(queue text) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.list_dead_letters(INOUT queue text, INOUT kind text, INOUT tenant_id text, INOUT signature text, before bigint, most integer, OUT job_id bigint, OUT attempt integer, OUT died_at timestamp with time zone, OUT reason text, OUT error text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_dead_letters(INOUT queue text, INOUT kind text, INOUT tenant_id text, INOUT signature text, before bigint, most integer, OUT job_id bigint, OUT attempt integer, OUT died_at timestamp with time zone, OUT reason text, OUT error text) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.list_jobs(INOUT state text, INOUT queue text, INOUT kind text, INOUT tenant_id text, INOUT correlation_id text, before bigint, most integer, OUT id bigint, OUT priority smallint, OUT attempt integer, OUT failures integer, OUT created_at timestamp with time zone, OUT run_at timestamp with time zone, OUT finished_at timestamp with time zone, OUT error text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_jobs(INOUT state text, INOUT queue text, INOUT kind text, INOUT tenant_id text, INOUT correlation_id text, before bigint, most integer, OUT id bigint, OUT priority smallint, OUT attempt integer, OUT failures integer, OUT created_at timestamp with time zone, OUT run_at timestamp with time zone, OUT finished_at timestamp with time zone, OUT error text) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.list_queues() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_queues() TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.list_samples(name text, since timestamp with time zone, until timestamp with time zone, step interval) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_samples(name text, since timestamp with time zone, until timestamp with time zone, step interval) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.list_workers() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_workers() TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.lock_place(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.lock_place(job_id bigint) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.log_weeks(parent text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.log_weeks(parent text) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.look_up_lanes(queue text, last_tenant text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.look_up_lanes(queue text, last_tenant text) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.make_partition(parent text, name text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.make_partition(parent text, name text) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.make_ready(job_id bigint, at bigint, attempt integer, failures integer, crashes integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.make_ready(job_id bigint, at bigint, attempt integer, failures integer, crashes integer) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.move_test_clock(by interval) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.move_test_clock(by interval) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.needed_jobs(first bigint, behind bigint, cutoff timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.needed_jobs(first bigint, behind bigint, cutoff timestamp with time zone) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.new_id(at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.new_id(at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.new_id(at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.note_progress(claim_ids bigint[], job_ids bigint[], attempts integer[], done double precision[], totals double precision[], notes text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.note_progress(claim_ids bigint[], job_ids bigint[], attempts integer[], done double precision[], totals double precision[], notes text[]) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.note_starts(limits ostinato_data.queue, batch ostinato_data.batch, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.note_starts(limits ostinato_data.queue, batch ostinato_data.batch, at timestamp with time zone) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.now() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.now() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.now() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.observe() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.observe() TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.oldest_wait(queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.oldest_wait(queue text) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.page_size(most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.page_size(most integer) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.pause_queue(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.pause_queue(name text) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.pick(anyarray, n bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.pick(anyarray, n bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.pick(anyarray, n bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.poll_jobs(worker_id uuid, queues text[], max_crashes integer, OUT rescued integer, OUT promoted integer, OUT ready_queues text[], OUT next_due double precision, OUT cancels bigint[], OUT chores text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.poll_jobs(worker_id uuid, queues text[], max_crashes integer, OUT rescued integer, OUT promoted integer, OUT ready_queues text[], OUT next_due double precision, OUT cancels bigint[], OUT chores text[]) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.promote_jobs(most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.promote_jobs(most integer) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.prune_default(cutoff timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.prune_default(cutoff timestamp with time zone) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.prune_leftovers(cutoff timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.prune_leftovers(cutoff timestamp with time zone) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.queue_allowance(limits ostinato_data.queue, wanted integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.queue_allowance(limits ostinato_data.queue, wanted integer) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.queue_running(queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.queue_running(queue text) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.rate_frees_at(queue text, limit_key text, most integer, seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.rate_frees_at(queue text, limit_key text, most integer, seconds double precision) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.ready_keys(queue text, after text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.ready_keys(queue text, after text) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.ready_lanes(queue text, after_priority integer, after_tenant text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.ready_lanes(queue text, after_priority integer, after_tenant text) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.ready_since(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.ready_since(job_id bigint) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.recent_starts(queue text, limit_key text, seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.recent_starts(queue text, limit_key text, seconds double precision) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.reconcile_worker(worker_id uuid, held bigint[], seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.reconcile_worker(worker_id uuid, held bigint[], seconds double precision) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.redrive_jobs(queue text, kind text, tenant_id text, signature text, ids bigint[], most integer, preview boolean, OUT matching bigint, OUT redriven bigint, OUT conflicts bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.redrive_jobs(queue text, kind text, tenant_id text, signature text, ids bigint[], most integer, preview boolean, OUT matching bigint, OUT redriven bigint, OUT conflicts bigint) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.refuse_moved(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.refuse_moved(job_id bigint) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.refuse_stale(job_id bigint, attempt integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.refuse_stale(job_id bigint, attempt integer) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.refuse_unknown(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.refuse_unknown(job_id bigint) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.register_kinds(names text[], queues text[], priorities integer[], timeouts double precision[], retries text[], schemas text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.register_kinds(names text[], queues text[], priorities integer[], timeouts double precision[], retries text[], schemas text[]) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.register_worker(name text, queues text[], kinds text[], expiry_seconds double precision, contract integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.register_worker(name text, queues text[], kinds text[], expiry_seconds double precision, contract integer) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.rehold_unique_key(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.rehold_unique_key(job_id bigint) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.release_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.release_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[]) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.rescue_claim(claim_id bigint, max_crashes integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.rescue_claim(claim_id bigint, max_crashes integer) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.rescue_jobs(max_crashes integer, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.rescue_jobs(max_crashes integer, most integer) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.resume_queue(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.resume_queue(name text) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.retry_job(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.retry_job(job_id bigint) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.ring_doorbell(queue text, softly boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.ring_doorbell(queue text, softly boolean) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.running_keys(queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.running_keys(queue text) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.sample_metrics(every interval) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.sample_metrics(every interval) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.say_span(span interval) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.say_span(span interval) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.say_time(at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.say_time(at timestamp with time zone) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.served_lanes(tenants text[], gave text[], positions bigint[], share integer, full_batch boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.served_lanes(tenants text[], gave text[], positions bigint[], share integer, full_batch boolean) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.set_test_clock(frozen timestamp with time zone, shift interval) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.set_test_clock(frozen timestamp with time zone, shift interval) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.settle(claim_ids bigint[], job_ids bigint[], attempts integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.settle(claim_ids bigint[], job_ids bigint[], attempts integer[]) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.settle_cancels(most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.settle_cancels(most integer) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.show_job(job_id bigint, OUT id bigint, OUT kind text, OUT queue text, OUT tenant_id text, OUT correlation_id text, OUT priority smallint, OUT state text, OUT reason text, OUT attempt integer, OUT failures integer, OUT crashes integer, OUT max_attempts smallint, OUT created_at timestamp with time zone, OUT asked_run_at timestamp with time zone, OUT run_at timestamp with time zone, OUT finished_at timestamp with time zone, OUT duration_ms integer, OUT args json, OUT result json, OUT error json, OUT limit_key text, OUT unique_key text, OUT unique_states text[], OUT worker_id uuid, OUT worker_name text, OUT claimed_at timestamp with time zone, OUT lease_until timestamp with time zone, OUT cancel_requested_at timestamp with time zone, OUT cancel_reason text, OUT progress_done double precision, OUT progress_total double precision, OUT progress_note text, OUT progress_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.show_job(job_id bigint, OUT id bigint, OUT kind text, OUT queue text, OUT tenant_id text, OUT correlation_id text, OUT priority smallint, OUT state text, OUT reason text, OUT attempt integer, OUT failures integer, OUT crashes integer, OUT max_attempts smallint, OUT created_at timestamp with time zone, OUT asked_run_at timestamp with time zone, OUT run_at timestamp with time zone, OUT finished_at timestamp with time zone, OUT duration_ms integer, OUT args json, OUT result json, OUT error json, OUT limit_key text, OUT unique_key text, OUT unique_states text[], OUT worker_id uuid, OUT worker_name text, OUT claimed_at timestamp with time zone, OUT lease_until timestamp with time zone, OUT cancel_requested_at timestamp with time zone, OUT cancel_reason text, OUT progress_done double precision, OUT progress_total double precision, OUT progress_note text, OUT progress_at timestamp with time zone) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.slot_holders(queue text, limit_key text, OUT who text, OUT holders json) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.slot_holders(queue text, limit_key text, OUT who text, OUT holders json) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.snooze_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.snooze_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[]) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.take_lanes(queue text, wanted integer, kinds text[], cursor text, suspects boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.take_lanes(queue text, wanted integer, kinds text[], cursor text, suspects boolean) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.take_limited(limits ostinato_data.queue, wanted integer, kinds text[], cursor text, suspects boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.take_limited(limits ostinato_data.queue, wanted integer, kinds text[], cursor text, suspects boolean) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.take_suspect(queue text, kinds text[], batch ostinato_data.batch) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.take_suspect(queue text, kinds text[], batch ostinato_data.batch) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.take_turns(queue text, wanted integer, kinds text[], INOUT batch ostinato_data.batch, INOUT lanes ostinato_data.lanes, last integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.take_turns(queue text, wanted integer, kinds text[], INOUT batch ostinato_data.batch, INOUT lanes ostinato_data.lanes, last integer) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.take_waiting(job_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.take_waiting(job_ids bigint[]) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.tenant(given text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.tenant(given text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.tenant(given text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.tick() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.tick() TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.unregister_worker(worker_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.unregister_worker(worker_id uuid) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.upkeep_log(parent text, id text, cutoff timestamp with time zone, keep_from bigint, weeks_ahead integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.upkeep_log(parent text, id text, cutoff timestamp with time zone, keep_from bigint, weeks_ahead integer) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.upkeep_logs(retention_days integer, weeks_ahead integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.upkeep_logs(retention_days integer, weeks_ahead integer) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.upkeep_partitions(retention_days integer, weeks_ahead integer, thorough boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.upkeep_partitions(retention_days integer, weeks_ahead integer, thorough boolean) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.use_test_clock() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.use_test_clock() TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.waiting_kinds() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.waiting_kinds() TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.waiting_lanes(for_queue text, for_tenant text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.waiting_lanes(for_queue text, for_tenant text) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.waiting_queues() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.waiting_queues() TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.was_last(job_id bigint, attempt integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.was_last(job_id bigint, attempt integer) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.week_id(week integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.week_id(week integer) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.week_name(parent text, week integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.week_name(parent text, week integer) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.week_of(at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.week_of(at timestamp with time zone) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.why(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.why(job_id bigint) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.why_blocked(queue text, kind text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.why_blocked(queue text, kind text) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.why_cancelling(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.why_cancelling(job_id bigint) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.why_ended(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.why_ended(job_id bigint) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.why_limited(queue text, limit_key text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.why_limited(queue text, limit_key text) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.why_ready(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.why_ready(job_id bigint) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.why_running(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.why_running(job_id bigint) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.why_scheduled(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.why_scheduled(job_id bigint) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.why_silent(worker_id uuid, worker text, beat_at timestamp with time zone, lease_until timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.why_silent(worker_id uuid, worker text, beat_at timestamp with time zone, lease_until timestamp with time zone) TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.ready TO ostinato_worker;
GRANT SELECT,INSERT ON TABLE ostinato_data.ready TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.why_turn(place ostinato_data.ready, blocked boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.why_turn(place ostinato_data.ready, blocked boolean) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.why_unique(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.why_unique(job_id bigint) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato_data.protect(name text, tenants boolean) FROM PUBLIC;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.cancel_request TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.claim TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.claim_hint TO ostinato_worker;
GRANT USAGE ON SEQUENCE ostinato_data.claim_id_seq TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.dead_letter TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.dead_letter TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.doorbell TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.idempotency TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.idempotency TO ostinato_tenant;
GRANT USAGE ON SEQUENCE ostinato_data.idempotency_token_seq TO ostinato_worker;
GRANT USAGE ON SEQUENCE ostinato_data.idempotency_token_seq TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.job TO ostinato_worker;
GRANT SELECT,INSERT ON TABLE ostinato_data.job TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.job_default TO ostinato_worker;
GRANT USAGE ON SEQUENCE ostinato_data.job_id_seq TO ostinato_worker;
GRANT USAGE ON SEQUENCE ostinato_data.job_id_seq TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.job_progress TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.job_unique TO ostinato_worker;
GRANT SELECT,INSERT ON TABLE ostinato_data.job_unique TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.kind TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.kind TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.lease TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.lease TO ostinato_tenant;
GRANT USAGE ON SEQUENCE ostinato_data.lease_token_seq TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.metric_sample TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.metric_sample_default TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.migration TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.outcome TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.outcome_default TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.rate_use TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.scheduled TO ostinato_worker;
GRANT SELECT,INSERT ON TABLE ostinato_data.scheduled TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.test_clock TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.test_clock TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.tick TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.tick TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.worker TO ostinato_worker;
