CREATE SCHEMA ostinato;
ALTER SCHEMA ostinato OWNER TO ostinato_owner;
CREATE SCHEMA ostinato_data;
ALTER SCHEMA ostinato_data OWNER TO ostinato_owner;
CREATE SCHEMA ostinato_internal;
ALTER SCHEMA ostinato_internal OWNER TO ostinato_owner;
CREATE TYPE ostinato_data.alert_change AS (
	alert text,
	label text,
	change text,
	severity text,
	tenant_id text,
	value double precision,
	message text,
	firing_id bigint
);
ALTER TYPE ostinato_data.alert_change OWNER TO ostinato_owner;
CREATE TYPE ostinato_data.alert_line AS (
	name text,
	owner text,
	severity text,
	state text,
	firing integer,
	since timestamp with time zone,
	source text,
	parameters text,
	labels text[],
	comparison text,
	threshold double precision,
	clears_at double precision,
	for_seconds double precision,
	clear_seconds double precision,
	tenant_id text,
	message text,
	remedy text,
	evaluated_at timestamp with time zone,
	failures integer,
	error text,
	message_one text,
	silenced_until timestamp with time zone
);
ALTER TYPE ostinato_data.alert_line OWNER TO ostinato_owner;
CREATE TYPE ostinato_data.api_key_line AS (
	id bigint,
	tenant_id text,
	subject text,
	roles text[],
	name text,
	created_at timestamp with time zone,
	expires_at timestamp with time zone,
	last_used_at timestamp with time zone,
	revoked_at timestamp with time zone,
	replaces bigint,
	usable boolean
);
ALTER TYPE ostinato_data.api_key_line OWNER TO ostinato_owner;
CREATE TYPE ostinato_data.audit_line AS (
	id bigint,
	at timestamp with time zone,
	actor text,
	actor_type text,
	key_id bigint,
	verb text,
	noun text,
	target text,
	count bigint,
	reason text,
	tenant_id text,
	correlation_id text,
	login text,
	program text,
	job_ids bigint[],
	filter json,
	detail json
);
ALTER TYPE ostinato_data.audit_line OWNER TO ostinato_owner;
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
CREATE TYPE ostinato_data.bulk_line AS (
	id bigint,
	verb text,
	state text,
	tenant_id text,
	filter json,
	matching bigint,
	capped boolean,
	done bigint,
	refused bigint,
	failed bigint,
	canary boolean,
	stage smallint,
	watched bigint,
	actor text,
	reason text,
	note text,
	created_at timestamp with time zone,
	finished_at timestamp with time zone
);
ALTER TYPE ostinato_data.bulk_line OWNER TO ostinato_owner;
CREATE TYPE ostinato_data.claimed_job AS (
	job_id bigint,
	attempt integer,
	failures smallint,
	crashes smallint,
	claim_id bigint,
	kind text,
	args text,
	tenant_id text,
	correlation_id text,
	max_attempts smallint,
	waited double precision,
	next_cursor text,
	behind bigint,
	subject text,
	traceparent text
);
ALTER TYPE ostinato_data.claimed_job OWNER TO ostinato_owner;
CREATE TYPE ostinato_data.erasure AS (
	complete boolean,
	erased json,
	total bigint,
	cancelled bigint,
	running bigint,
	waiting bigint,
	job_ids bigint[]
);
ALTER TYPE ostinato_data.erasure OWNER TO ostinato_owner;
CREATE TYPE ostinato_data.held_job AS (
	job_id bigint,
	attempt integer,
	failures smallint,
	crashes smallint,
	queue text,
	worker_id uuid,
	claimed_at timestamp with time zone
);
ALTER TYPE ostinato_data.held_job OWNER TO ostinato_owner;
CREATE TYPE ostinato_data.job_filter AS (
	queue text,
	kind text,
	tenant_id text,
	correlation_id text,
	signature text,
	since timestamp with time zone,
	until timestamp with time zone,
	args jsonb,
	text text
);
ALTER TYPE ostinato_data.job_filter OWNER TO ostinato_owner;
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
CREATE TYPE ostinato_data.place AS (
	"position" bigint,
	job_id bigint,
	attempt integer,
	priority smallint,
	failures smallint,
	crashes smallint,
	keyed boolean,
	queue text COLLATE pg_catalog."C",
	tenant_id text COLLATE pg_catalog."C",
	kind text COLLATE pg_catalog."C",
	limit_key text COLLATE pg_catalog."C"
);
ALTER TYPE ostinato_data.place OWNER TO ostinato_owner;
CREATE TYPE ostinato_data.reached_limit AS (
	code text,
	queue text,
	limit_key text,
	most integer,
	seconds double precision,
	running bigint,
	frees_at timestamp with time zone
);
ALTER TYPE ostinato_data.reached_limit OWNER TO ostinato_owner;
CREATE TYPE ostinato_data.reason AS (
	code text,
	message text,
	detail json,
	hint text
);
ALTER TYPE ostinato_data.reason OWNER TO ostinato_owner;
CREATE TYPE ostinato_data.recurrence AS (
	zone text,
	gap text,
	overlap text,
	at timestamp without time zone,
	at_time time without time zone,
	minutes smallint[],
	hours smallint[],
	days smallint[],
	months smallint[],
	weekdays smallint[],
	either_day boolean
);
ALTER TYPE ostinato_data.recurrence OWNER TO ostinato_owner;
CREATE TYPE ostinato_data.session_line AS (
	id bigint,
	tenant_id text,
	subject text,
	roles text[],
	key_id bigint,
	created_at timestamp with time zone,
	seen_at timestamp with time zone,
	expires_at timestamp with time zone
);
ALTER TYPE ostinato_data.session_line OWNER TO ostinato_owner;
CREATE TYPE ostinato_data.trail_line AS (
	at timestamp with time zone,
	place smallint,
	source text,
	what text,
	state text,
	tenant_id text,
	job_id bigint,
	attempt integer,
	ref text,
	detail json
);
ALTER TYPE ostinato_data.trail_line OWNER TO ostinato_owner;
CREATE TYPE ostinato_data.waiting_place AS (
	job_id bigint,
	run_at timestamp with time zone,
	attempt integer,
	priority smallint,
	failures smallint,
	crashes smallint,
	keyed boolean,
	reason text COLLATE pg_catalog."C",
	queue text COLLATE pg_catalog."C",
	tenant_id text COLLATE pg_catalog."C",
	kind text COLLATE pg_catalog."C",
	limit_key text COLLATE pg_catalog."C"
);
ALTER TYPE ostinato_data.waiting_place OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.abandon_idempotent(scope text, key text, token bigint, forget boolean DEFAULT true, tenant_id text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.abandon_idempotent(scope text, key text, token bigint, forget boolean, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.accept_webhook(source text, message_id text, keep_seconds double precision DEFAULT 900, tenant_id text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.accept_webhook(source text, message_id text, keep_seconds double precision, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.acknowledge_alert(name text, label text DEFAULT NULL::text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.acknowledge_alert(name text, label text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.acquire_lease(name text, holder text, ttl_seconds double precision DEFAULT NULL::double precision, job_id bigint DEFAULT NULL::bigint, job_attempt integer DEFAULT NULL::integer, tenant_id text DEFAULT NULL::text, OUT acquired boolean, OUT token bigint, OUT attempt integer, OUT held_by text, OUT since timestamp with time zone, OUT until timestamp with time zone, OUT lifetime text, OUT held_job_id bigint, OUT held_job_attempt integer) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.acquire_lease(name text, holder text, ttl_seconds double precision, job_id bigint, job_attempt integer, tenant_id text, OUT acquired boolean, OUT token bigint, OUT attempt integer, OUT held_by text, OUT since timestamp with time zone, OUT until timestamp with time zone, OUT lifetime text, OUT held_job_id bigint, OUT held_job_attempt integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.act_as(actor text DEFAULT NULL::text, reason text DEFAULT NULL::text, user_id text DEFAULT NULL::text, key_id bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.act_as(actor text, reason text, user_id text, key_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.acting_tenant() RETURNS text
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato.acting_tenant() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.alert_failures() RETURNS TABLE(label text, value double precision)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.alert_failures() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.allowed_events(machine text, state text) RETURNS json
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.allowed_events(machine text, state text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.arrive(tenant_id text, move_id uuid) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.arrive(tenant_id text, move_id uuid) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.attach_machine(machine text, entity text, id_column text DEFAULT 'id'::text, state_column text DEFAULT 'state'::text, tenant_column text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.attach_machine(machine text, entity text, id_column text, state_column text, tenant_column text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.await_jobs(worker_id uuid, queue text, wanted integer, patience double precision, kinds text[] DEFAULT NULL::text[], cursor text DEFAULT NULL::text, suspects boolean DEFAULT true, starts integer DEFAULT NULL::integer, apart text[] DEFAULT NULL::text[]) RETURNS SETOF ostinato_data.claimed_job
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.await_jobs(worker_id uuid, queue text, wanted integer, patience double precision, kinds text[], cursor text, suspects boolean, starts integer, apart text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.begin_idempotent(scope text, key text, fingerprint text, fields json DEFAULT '{}'::json, declaration text DEFAULT ''::text, holder text DEFAULT NULL::text, lease_seconds double precision DEFAULT 60, ttl_seconds double precision DEFAULT 86400, tenant_id text DEFAULT NULL::text, wait boolean DEFAULT true, OUT decision text, OUT token bigint, OUT attempt integer, OUT held_by text, OUT since timestamp with time zone, OUT until timestamp with time zone, OUT answer json, OUT resource text, OUT finished_at timestamp with time zone, OUT expires_at timestamp with time zone, OUT differing text[], OUT declaration_changed boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.begin_idempotent(scope text, key text, fingerprint text, fields json, declaration text, holder text, lease_seconds double precision, ttl_seconds double precision, tenant_id text, wait boolean, OUT decision text, OUT token bigint, OUT attempt integer, OUT held_by text, OUT since timestamp with time zone, OUT until timestamp with time zone, OUT answer json, OUT resource text, OUT finished_at timestamp with time zone, OUT expires_at timestamp with time zone, OUT differing text[], OUT declaration_changed boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.begin_idempotent(scope character varying, key text, fingerprint text, fields jsonb, declaration text DEFAULT ''::text, holder text DEFAULT NULL::text, lease_seconds double precision DEFAULT 60, ttl_seconds double precision DEFAULT 86400, tenant_id text DEFAULT NULL::text, wait boolean DEFAULT true, OUT decision text, OUT token bigint, OUT attempt integer, OUT held_by text, OUT since timestamp with time zone, OUT until timestamp with time zone, OUT answer json, OUT resource text, OUT finished_at timestamp with time zone, OUT expires_at timestamp with time zone, OUT differing text[], OUT declaration_changed boolean) RETURNS record
    LANGUAGE sql
    AS …;
ALTER FUNCTION ostinato.begin_idempotent(scope character varying, key text, fingerprint text, fields jsonb, declaration text, holder text, lease_seconds double precision, ttl_seconds double precision, tenant_id text, wait boolean, OUT decision text, OUT token bigint, OUT attempt integer, OUT held_by text, OUT since timestamp with time zone, OUT until timestamp with time zone, OUT answer json, OUT resource text, OUT finished_at timestamp with time zone, OUT expires_at timestamp with time zone, OUT differing text[], OUT declaration_changed boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.begin_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], alone boolean DEFAULT false) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_nestloop TO 'off'
    AS …;
ALTER FUNCTION ostinato.begin_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], alone boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.begin_request(request json, OUT token bigint, OUT answer json, OUT replayed boolean, OUT refused json) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.begin_request(request json, OUT token bigint, OUT answer json, OUT replayed boolean, OUT refused json) OWNER TO ostinato_owner;
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
CREATE FUNCTION ostinato.catch_up_schedule(name text, since timestamp with time zone, until timestamp with time zone DEFAULT NULL::timestamp with time zone, tenant_id text DEFAULT NULL::text, most integer DEFAULT 100, preview boolean DEFAULT false) RETURNS TABLE(slot_local timestamp without time zone, slot_at timestamp with time zone, job_id bigint)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.catch_up_schedule(name text, since timestamp with time zone, until timestamp with time zone, tenant_id text, most integer, preview boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.change_webhook_endpoint(name text, tenant_id text DEFAULT NULL::text, url text DEFAULT NULL::text, event_types text[] DEFAULT NULL::text[], description text DEFAULT NULL::text, headers json DEFAULT NULL::json, retry json DEFAULT NULL::json, timeout_seconds double precision DEFAULT NULL::double precision, disable_after_seconds double precision DEFAULT NULL::double precision, header_values text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.change_webhook_endpoint(name text, tenant_id text, url text, event_types text[], description text, headers json, retry json, timeout_seconds double precision, disable_after_seconds double precision, header_values text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.change_webhook_endpoint(name character varying, tenant_id text DEFAULT NULL::text, url text DEFAULT NULL::text, event_types text[] DEFAULT NULL::text[], description text DEFAULT NULL::text, headers jsonb DEFAULT NULL::jsonb, retry jsonb DEFAULT NULL::jsonb, timeout_seconds double precision DEFAULT NULL::double precision, disable_after_seconds double precision DEFAULT NULL::double precision, header_values text DEFAULT NULL::text) RETURNS void
    LANGUAGE sql
    AS …;
ALTER FUNCTION ostinato.change_webhook_endpoint(name character varying, tenant_id text, url text, event_types text[], description text, headers jsonb, retry jsonb, timeout_seconds double precision, disable_after_seconds double precision, header_values text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.check_open_kind(kind text, queue text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.check_open_kind(kind text, queue text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.claim_jobs(worker_id uuid, queue text, wanted integer, kinds text[] DEFAULT NULL::text[], cursor text DEFAULT NULL::text, suspects boolean DEFAULT true, starts integer DEFAULT NULL::integer, apart text[] DEFAULT NULL::text[]) RETURNS SETOF ostinato_data.claimed_job
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_hashjoin TO 'off'
    AS …;
ALTER FUNCTION ostinato.claim_jobs(worker_id uuid, queue text, wanted integer, kinds text[], cursor text, suspects boolean, starts integer, apart text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.close_pass(pass_id bigint) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.close_pass(pass_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.close_portals(tenant_id text DEFAULT NULL::text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.close_portals(tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.close_session(session_id bigint, tenant_id text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.close_session(session_id bigint, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.complete_job(job_id bigint, attempt integer, result anycompatible DEFAULT NULL::json, duration_ms integer DEFAULT NULL::integer, claim_id bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.complete_job(job_id bigint, attempt integer, result anycompatible, duration_ms integer, claim_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.complete_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], durations integer[] DEFAULT NULL::integer[], results text[] DEFAULT NULL::text[], in_transaction boolean DEFAULT false) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_nestloop TO 'off'
    AS …;
ALTER FUNCTION ostinato.complete_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], durations integer[], results text[], in_transaction boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.complete_webhook_deliveries(deliveries json) RETURNS text[]
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.complete_webhook_deliveries(deliveries json) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.configure_queue(name text, concurrency integer DEFAULT NULL::integer, rate_count integer DEFAULT NULL::integer, rate_seconds double precision DEFAULT NULL::double precision, key_concurrency integer DEFAULT NULL::integer, key_rate_count integer DEFAULT NULL::integer, key_rate_seconds double precision DEFAULT NULL::double precision) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.configure_queue(name text, concurrency integer, rate_count integer, rate_seconds double precision, key_concurrency integer, key_rate_count integer, key_rate_seconds double precision) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.contract(OUT current integer, OUT oldest integer) RETURNS record
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato.contract(OUT current integer, OUT oldest integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.correlation(given text) RETURNS text
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato.correlation(given text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.count_held_jobs(tenant_id text) RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.count_held_jobs(tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.count_sealed(entity text, "column" text) RETURNS TABLE(key_id text, values_ bigint)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.count_sealed(entity text, "column" text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.count_states(machine text, most integer DEFAULT 1000, sample integer DEFAULT 10000) RETURNS TABLE(entity text, state text, count bigint, capped boolean)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS …;
ALTER FUNCTION ostinato.count_states(machine text, most integer, sample integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.create_api_key(key_id bigint, hash bytea, tenant_id text, subject text, roles text[], name text DEFAULT NULL::text, expires_seconds double precision DEFAULT NULL::double precision, replaces bigint DEFAULT NULL::bigint) RETURNS ostinato_data.api_key_line
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.create_api_key(key_id bigint, hash bytea, tenant_id text, subject text, roles text[], name text, expires_seconds double precision, replaces bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.create_webhook_endpoint(name text, url text, event_types text[] DEFAULT '{*}'::text[], tenant_id text DEFAULT NULL::text, description text DEFAULT ''::text, headers json DEFAULT '{}'::json, retry json DEFAULT NULL::json, timeout_seconds double precision DEFAULT 5, disable_after_seconds double precision DEFAULT 432000, ordered boolean DEFAULT true, endpoint_id bigint DEFAULT NULL::bigint, secret text DEFAULT NULL::text, secret_hint text DEFAULT NULL::text, header_values text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.create_webhook_endpoint(name text, url text, event_types text[], tenant_id text, description text, headers json, retry json, timeout_seconds double precision, disable_after_seconds double precision, ordered boolean, endpoint_id bigint, secret text, secret_hint text, header_values text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.create_webhook_endpoint(name character varying, url text, event_types text[] DEFAULT '{*}'::text[], tenant_id text DEFAULT NULL::text, description text DEFAULT ''::text, headers jsonb DEFAULT '{}'::jsonb, retry jsonb DEFAULT NULL::jsonb, timeout_seconds double precision DEFAULT 5, disable_after_seconds double precision DEFAULT 432000, ordered boolean DEFAULT true, endpoint_id bigint DEFAULT NULL::bigint, secret text DEFAULT NULL::text, secret_hint text DEFAULT NULL::text, header_values text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE sql
    AS …;
ALTER FUNCTION ostinato.create_webhook_endpoint(name character varying, url text, event_types text[], tenant_id text, description text, headers jsonb, retry jsonb, timeout_seconds double precision, disable_after_seconds double precision, ordered boolean, endpoint_id bigint, secret text, secret_hint text, header_values text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.dead_letter_groups(most integer DEFAULT 1000) RETURNS TABLE(signature text, kind text, reason text, count bigint, first timestamp with time zone, last timestamp with time zone, example_job_id bigint, example_error text, capped boolean)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.dead_letter_groups(most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.declare_alerts(owners text[], alerts anycompatible) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.declare_alerts(owners text[], alerts anycompatible) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.defer_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[], errors text[], signatures text[], reasons text[] DEFAULT NULL::text[], durations integer[] DEFAULT NULL::integer[]) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.defer_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[], errors text[], signatures text[], reasons text[], durations integer[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.delete_schedule(name text, tenant_id text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.delete_schedule(name text, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.discard(subscription text, positions bigint[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.discard(subscription text, positions bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.dispatch_events(most integer DEFAULT 1000) RETURNS TABLE(queue text, jobs bigint)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.dispatch_events(most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.drain_worker(worker_id uuid) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.drain_worker(worker_id uuid) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.drop_subscription(name text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.drop_subscription(name text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.due_alerts(every interval DEFAULT '00:00:10'::interval) RETURNS TABLE(names text[], is_foreign boolean)
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.due_alerts(every interval) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.due_for_archive(retention_days integer, audit_days integer DEFAULT NULL::integer) RETURNS TABLE(name text, keys text[], archived bigint)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.due_for_archive(retention_days integer, audit_days integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.emit_event(type text, payload json DEFAULT '{}'::json, ordering_key text DEFAULT NULL::text, version integer DEFAULT 1, tenant_id text DEFAULT NULL::text, correlation_id text DEFAULT NULL::text, occurred_at timestamp with time zone DEFAULT NULL::timestamp with time zone, producer text DEFAULT NULL::text, subject text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.emit_event(type text, payload json, ordering_key text, version integer, tenant_id text, correlation_id text, occurred_at timestamp with time zone, producer text, subject text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.emit_event(type character varying, payload jsonb, ordering_key text DEFAULT NULL::text, version integer DEFAULT 1, tenant_id text DEFAULT NULL::text, correlation_id text DEFAULT NULL::text, occurred_at timestamp with time zone DEFAULT NULL::timestamp with time zone, producer text DEFAULT NULL::text, subject text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE sql
    AS …;
ALTER FUNCTION ostinato.emit_event(type character varying, payload jsonb, ordering_key text, version integer, tenant_id text, correlation_id text, occurred_at timestamp with time zone, producer text, subject text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.emit_events(types text[], payloads text[], ordering_keys text[] DEFAULT NULL::text[], versions integer[] DEFAULT NULL::integer[], tenant_ids text[] DEFAULT NULL::text[], correlation_ids text[] DEFAULT NULL::text[], occurred_ats timestamp with time zone[] DEFAULT NULL::timestamp with time zone[], producers text[] DEFAULT NULL::text[], as_of_now boolean DEFAULT false, subjects text[] DEFAULT NULL::text[]) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.emit_events(types text[], payloads text[], ordering_keys text[], versions integer[], tenant_ids text[], correlation_ids text[], occurred_ats timestamp with time zone[], producers text[], as_of_now boolean, subjects text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.engine_stats(OUT ready bigint, OUT scheduled bigint, OUT due bigint, OUT running bigint, OUT dead bigint, OUT estimated text[], OUT workers bigint, OUT expired_workers bigint, OUT oldest_ready double precision, OUT xmin_age bigint, OUT ready_dead_tuples bigint, OUT default_bytes bigint) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.engine_stats(OUT ready bigint, OUT scheduled bigint, OUT due bigint, OUT running bigint, OUT dead bigint, OUT estimated text[], OUT workers bigint, OUT expired_workers bigint, OUT oldest_ready double precision, OUT xmin_age bigint, OUT ready_dead_tuples bigint, OUT default_bytes bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.enqueue_job(kind text, args json DEFAULT '{}'::json, queue text DEFAULT NULL::text, priority integer DEFAULT NULL::integer, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, tenant_id text DEFAULT NULL::text, correlation_id text DEFAULT NULL::text, limit_key text DEFAULT NULL::text, unique_key text DEFAULT NULL::text, unique_policy text DEFAULT 'return'::text, unique_states text[] DEFAULT '{scheduled,ready,running}'::text[], max_attempts integer DEFAULT NULL::integer, limit_scope text DEFAULT 'tenant'::text, subject text DEFAULT NULL::text, traceparent text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.enqueue_job(kind text, args json, queue text, priority integer, run_at timestamp with time zone, tenant_id text, correlation_id text, limit_key text, unique_key text, unique_policy text, unique_states text[], max_attempts integer, limit_scope text, subject text, traceparent text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.enqueue_job(kind character varying, args jsonb, queue text DEFAULT NULL::text, priority integer DEFAULT NULL::integer, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, tenant_id text DEFAULT NULL::text, correlation_id text DEFAULT NULL::text, limit_key text DEFAULT NULL::text, unique_key text DEFAULT NULL::text, unique_policy text DEFAULT 'return'::text, unique_states text[] DEFAULT '{scheduled,ready,running}'::text[], max_attempts integer DEFAULT NULL::integer, limit_scope text DEFAULT 'tenant'::text, subject text DEFAULT NULL::text, traceparent text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE sql
    AS …;
ALTER FUNCTION ostinato.enqueue_job(kind character varying, args jsonb, queue text, priority integer, run_at timestamp with time zone, tenant_id text, correlation_id text, limit_key text, unique_key text, unique_policy text, unique_states text[], max_attempts integer, limit_scope text, subject text, traceparent text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.enqueue_job_as(as_tenant text, as_correlation text, as_user text, as_key bigint, kind text, args json, place text, queue text DEFAULT NULL::text, priority integer DEFAULT NULL::integer, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, delay double precision DEFAULT NULL::double precision, limit_key text DEFAULT NULL::text, unique_key text DEFAULT NULL::text, max_attempts integer DEFAULT NULL::integer, subject text DEFAULT NULL::text, request json DEFAULT NULL::json, reason text DEFAULT NULL::text, traceparent text DEFAULT NULL::text, OUT answer json, OUT replayed boolean, OUT refused json, OUT queues text[]) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.enqueue_job_as(as_tenant text, as_correlation text, as_user text, as_key bigint, kind text, args json, place text, queue text, priority integer, run_at timestamp with time zone, delay double precision, limit_key text, unique_key text, max_attempts integer, subject text, request json, reason text, traceparent text, OUT answer json, OUT replayed boolean, OUT refused json, OUT queues text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.enqueue_jobs(kinds text[], args text[], queues text[] DEFAULT NULL::text[], priorities integer[] DEFAULT NULL::integer[], run_ats timestamp with time zone[] DEFAULT NULL::timestamp with time zone[], tenant_ids text[] DEFAULT NULL::text[], correlation_ids text[] DEFAULT NULL::text[], limit_keys text[] DEFAULT NULL::text[], unique_keys text[] DEFAULT NULL::text[], max_attempts integer[] DEFAULT NULL::integer[], limit_scopes text[] DEFAULT NULL::text[], subjects text[] DEFAULT NULL::text[], parent_id bigint DEFAULT NULL::bigint, group_id bigint DEFAULT NULL::bigint, traceparent text DEFAULT NULL::text) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.enqueue_jobs(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], unique_keys text[], max_attempts integer[], limit_scopes text[], subjects text[], parent_id bigint, group_id bigint, traceparent text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.enqueue_or_attach(name text, kind text, args json DEFAULT '{}'::json, queue text DEFAULT NULL::text, priority integer DEFAULT NULL::integer, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, tenant_id text DEFAULT NULL::text, correlation_id text DEFAULT NULL::text, limit_key text DEFAULT NULL::text, max_attempts integer DEFAULT NULL::integer, limit_scope text DEFAULT 'tenant'::text, subject text DEFAULT NULL::text, OUT job_id bigint, OUT attached boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.enqueue_or_attach(name text, kind text, args json, queue text, priority integer, run_at timestamp with time zone, tenant_id text, correlation_id text, limit_key text, max_attempts integer, limit_scope text, subject text, OUT job_id bigint, OUT attached boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.enqueue_or_attach(name character varying, kind text, args jsonb, queue text DEFAULT NULL::text, priority integer DEFAULT NULL::integer, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, tenant_id text DEFAULT NULL::text, correlation_id text DEFAULT NULL::text, limit_key text DEFAULT NULL::text, max_attempts integer DEFAULT NULL::integer, limit_scope text DEFAULT 'tenant'::text, subject text DEFAULT NULL::text, OUT job_id bigint, OUT attached boolean) RETURNS record
    LANGUAGE sql
    AS …;
ALTER FUNCTION ostinato.enqueue_or_attach(name character varying, kind text, args jsonb, queue text, priority integer, run_at timestamp with time zone, tenant_id text, correlation_id text, limit_key text, max_attempts integer, limit_scope text, subject text, OUT job_id bigint, OUT attached boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.enter_flow(tenant_id text DEFAULT NULL::text, correlation_id text DEFAULT NULL::text, subject text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.enter_flow(tenant_id text, correlation_id text, subject text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.enter_session(ticket bytea, hash bytea) RETURNS SETOF ostinato_data.session_line
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.enter_session(ticket bytea, hash bytea) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.enter_tenant(tenant_id text, correlation_id text DEFAULT NULL::text, user_id text DEFAULT NULL::text, key_id bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.enter_tenant(tenant_id text, correlation_id text, user_id text, key_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.erase_subject(subject text, tenant_id text DEFAULT NULL::text, preview boolean DEFAULT false, keep_live boolean DEFAULT false, most integer DEFAULT 10000) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.erase_subject(subject text, tenant_id text, preview boolean, keep_live boolean, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.evaluate_alerts(every interval DEFAULT '00:00:10'::interval, names text[] DEFAULT NULL::text[]) RETURNS SETOF ostinato_data.alert_change
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.evaluate_alerts(every interval, names text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.event_deliveries(event_id bigint) RETURNS TABLE(subscription text, job_id bigint, state text, reason text, attempt integer, failures integer, run_at timestamp with time zone, error text)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.event_deliveries(event_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.existing_weeks() RETURNS SETOF integer
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.existing_weeks() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.fail_alerts(names text[], every interval, error text) RETURNS SETOF ostinato_data.alert_change
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.fail_alerts(names text[], every interval, error text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.fail_job(job_id bigint, attempt integer, error anycompatible, delay_seconds double precision DEFAULT NULL::double precision, signature text DEFAULT NULL::text, claim_id bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.fail_job(job_id bigint, attempt integer, error anycompatible, delay_seconds double precision, signature text, claim_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.fail_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[], errors text[], signatures text[], reasons text[] DEFAULT NULL::text[], durations integer[] DEFAULT NULL::integer[]) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato.fail_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[], errors text[], signatures text[], reasons text[], durations integer[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.fan_out_webhooks(most integer DEFAULT 1000, OUT events integer, OUT deliveries integer) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.fan_out_webhooks(most integer, OUT events integer, OUT deliveries integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.fence_job(job_id bigint, attempt integer, claim_id bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.fence_job(job_id bigint, attempt integer, claim_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.fence_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[]) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.fence_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.find_api_key(key_id bigint) RETURNS TABLE(id bigint, tenant_id text, subject text, roles text[], name text, created_at timestamp with time zone, expires_at timestamp with time zone, last_used_at timestamp with time zone, revoked_at timestamp with time zone, replaces bigint, usable boolean, hash bytea)
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.find_api_key(key_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.find_dead_letters(queue text DEFAULT NULL::text, kind text DEFAULT NULL::text, tenant_id text DEFAULT NULL::text, signature text DEFAULT NULL::text, ids bigint[] DEFAULT NULL::bigint[]) RETURNS SETOF bigint
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.find_dead_letters(queue text, kind text, tenant_id text, signature text, ids bigint[]) OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.session (
    id bigint NOT NULL,
    hash bytea NOT NULL,
    tenant_id text COLLATE pg_catalog."C",
    subject text NOT NULL,
    roles text[] NOT NULL,
    key_id bigint,
    ends_at timestamp with time zone,
    is_ticket boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT session_hash_check CHECK ((octet_length(hash) = 32))
)
WITH (fillfactor='80');
ALTER TABLE ONLY ostinato_data.session FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.session OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.find_sessions(hashes bytea[]) RETURNS SETOF ostinato_data.session
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.find_sessions(hashes bytea[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.find_webhook_deliveries(name text, tenant_id text DEFAULT NULL::text, states text[] DEFAULT NULL::text[], since timestamp with time zone DEFAULT NULL::timestamp with time zone, event_ids text[] DEFAULT NULL::text[], ids bigint[] DEFAULT NULL::bigint[], most integer DEFAULT NULL::integer) RETURNS SETOF bigint
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.find_webhook_deliveries(name text, tenant_id text, states text[], since timestamp with time zone, event_ids text[], ids bigint[], most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.finish_idempotent(scope text, key text, token bigint, answer json DEFAULT NULL::json, resource text DEFAULT NULL::text, tenant_id text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.finish_idempotent(scope text, key text, token bigint, answer json, resource text, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.finish_idempotent(scope character varying, key text, token bigint, answer jsonb, resource text DEFAULT NULL::text, tenant_id text DEFAULT NULL::text) RETURNS void
    LANGUAGE sql
    AS …;
ALTER FUNCTION ostinato.finish_idempotent(scope character varying, key text, token bigint, answer jsonb, resource text, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.finish_late(name text, rows bigint, bytes bigint, sha256 text, file text, place text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.finish_late(name text, rows bigint, bytes bigint, sha256 text, file text, place text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.finish_request(request json, token bigint, answer json) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.finish_request(request json, token bigint, answer json) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.fire_schedules(most integer DEFAULT 1000, OUT looked integer, OUT undone integer, OUT fired integer, OUT missed integer, OUT broken integer, OUT queues text[], OUT lateness double precision[], OUT next_due double precision) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.fire_schedules(most integer, OUT looked integer, OUT undone integer, OUT fired integer, OUT missed integer, OUT broken integer, OUT queues text[], OUT lateness double precision[], OUT next_due double precision) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.follow_jobs(job_ids bigint[]) RETURNS TABLE(job_id bigint, state text, done double precision, total double precision, note text, updated_at timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.follow_jobs(job_ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.forget_backup(label text) RETURNS boolean
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.forget_backup(label text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.give_up_move(tenant_id text, move_id uuid) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.give_up_move(tenant_id text, move_id uuid) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.guard_lease(name text, token bigint, tenant_id text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.guard_lease(name text, token bigint, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.hasten_jobs(job_ids bigint[]) RETURNS TABLE(job_id bigint, queue text)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.hasten_jobs(job_ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.heal_lanes() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.heal_lanes() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.heal_webhooks(most integer DEFAULT 500, endpoints integer DEFAULT 50) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.heal_webhooks(most integer, endpoints integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.heartbeat_worker(worker_id uuid, draining boolean DEFAULT false, blocked_by text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.heartbeat_worker(worker_id uuid, draining boolean, blocked_by text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.install_machine(definition json) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.install_machine(definition json) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.is_sealed(value text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato.is_sealed(value text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.job_attempts(job_id bigint, most integer DEFAULT NULL::integer, longest integer DEFAULT NULL::integer) RETURNS TABLE(attempt integer, outcome text, started_at timestamp with time zone, finished_at timestamp with time zone, duration_ms integer, worker_id uuid, worker_name text, result json, error json)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.job_attempts(job_id bigint, most integer, longest integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.job_groups(job_id bigint) RETURNS TABLE(group_id bigint, "position" integer, kind text, total integer, done integer, failed integer, cancelled integer, state text, on_failure text, joining boolean)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.job_groups(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.job_state(job_id bigint) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.job_state(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.job_steps(job_id bigint, most integer DEFAULT NULL::integer, longest integer DEFAULT NULL::integer) RETURNS TABLE("position" integer, name text, type text, attempt integer, finished_at timestamp with time zone, duration_ms bigint, bytes integer, until timestamp with time zone, result json)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.job_steps(job_id bigint, most integer, longest integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.job_tree(job_id bigint, most integer DEFAULT 20) RETURNS TABLE(id bigint, parent_id bigint, group_id bigint, level integer, kind text, state text, attempt integer, created_at timestamp with time zone, finished_at timestamp with time zone)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.job_tree(job_id bigint, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.join_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], positions integer[], spawns text[], policies text[], timeouts double precision[]) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.join_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], positions integer[], spawns text[], policies text[], timeouts double precision[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.key_lock(tenant_id text, scope text, key text) RETURNS bigint
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato.key_lock(tenant_id text, scope text, key text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.kind_schema(kind text) RETURNS json
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.kind_schema(kind text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.knows_tenant(tenant_id text) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.knows_tenant(tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.last_fires(schedule_ids bigint[]) RETURNS TABLE(schedule_id bigint, slot_at timestamp with time zone, fired_at timestamp with time zone, lateness double precision, job_id bigint)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.last_fires(schedule_ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.last_position() RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.last_position() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.leave_lanes(job_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato.leave_lanes(job_ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.limit_statements(seconds double precision) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.limit_statements(seconds double precision) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.limited_queues(queues text[]) RETURNS SETOF text
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.limited_queues(queues text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_alerts(tenant_id text DEFAULT NULL::text, name text DEFAULT NULL::text) RETURNS SETOF ostinato_data.alert_line
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_alerts(tenant_id text, name text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_api_keys(tenant_id text DEFAULT NULL::text, usable boolean DEFAULT NULL::boolean, before bigint DEFAULT NULL::bigint, most integer DEFAULT 100) RETURNS SETOF ostinato_data.api_key_line
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_api_keys(tenant_id text, usable boolean, before bigint, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_archive(after text DEFAULT ''::text, most integer DEFAULT 1000) RETURNS TABLE(name text, rows bigint, bytes bigint, sha256 text, file text, place text, archived_at timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_archive(after text, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_audit(actor text DEFAULT NULL::text, verb text DEFAULT NULL::text, target text DEFAULT NULL::text, since timestamp with time zone DEFAULT NULL::timestamp with time zone, tenant_id text DEFAULT NULL::text, before bigint DEFAULT NULL::bigint, most integer DEFAULT 50) RETURNS SETOF ostinato_data.audit_line
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.list_audit(actor text, verb text, target text, since timestamp with time zone, tenant_id text, before bigint, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_backups(most integer DEFAULT 100) RETURNS TABLE(label text, repository text, taken_at timestamp with time zone, bytes bigint, verified_at timestamp with time zone, timeline integer)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_backups(most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_bulk_refusals(bulk_id bigint, after bigint DEFAULT 0, most integer DEFAULT 100) RETURNS TABLE(job_id bigint, reason text)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_bulk_refusals(bulk_id bigint, after bigint, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_bulks(bulk_id bigint DEFAULT NULL::bigint, before bigint DEFAULT NULL::bigint, most integer DEFAULT 50) RETURNS SETOF ostinato_data.bulk_line
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_bulks(bulk_id bigint, before bigint, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_buried(subscription text DEFAULT NULL::text, before bigint DEFAULT NULL::bigint, most integer DEFAULT 50) RETURNS TABLE(subscription text, job_id bigint, "position" bigint, event_id bigint, type text, tenant_id text, ordering_key text, attempt integer, buried_at timestamp with time zone, reason text, signature text, error json)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_buried(subscription text, before bigint, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_children(parent_id bigint, group_id bigint, after bigint DEFAULT 0, most integer DEFAULT 500) RETURNS TABLE(job_id bigint, state text, result json, error json)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.list_children(parent_id bigint, group_id bigint, after bigint, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_dead_letters(INOUT queue text DEFAULT NULL::text, INOUT kind text DEFAULT NULL::text, INOUT tenant_id text DEFAULT NULL::text, INOUT signature text DEFAULT NULL::text, before bigint DEFAULT NULL::bigint, most integer DEFAULT 50, OUT job_id bigint, OUT attempt integer, OUT died_at timestamp with time zone, OUT reason text, OUT error text) RETURNS SETOF record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.list_dead_letters(INOUT queue text, INOUT kind text, INOUT tenant_id text, INOUT signature text, before bigint, most integer, OUT job_id bigint, OUT attempt integer, OUT died_at timestamp with time zone, OUT reason text, OUT error text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_events(type text DEFAULT NULL::text, ordering_key text DEFAULT NULL::text, tenant_id text DEFAULT NULL::text, correlation_id text DEFAULT NULL::text, before bigint DEFAULT NULL::bigint, most integer DEFAULT 50) RETURNS TABLE(id bigint, "position" bigint, type text, version integer, tenant_id text, correlation_id text, occurred_at timestamp with time zone, emitted_at timestamp with time zone, producer text, ordering_key text)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.list_events(type text, ordering_key text, tenant_id text, correlation_id text, before bigint, most integer) OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.fault (
    part text NOT NULL COLLATE pg_catalog."C",
    times bigint NOT NULL,
    first_at timestamp with time zone NOT NULL,
    last_at timestamp with time zone NOT NULL,
    state text NOT NULL COLLATE pg_catalog."C",
    message text NOT NULL,
    queue text COLLATE pg_catalog."C",
    job_id bigint
);
ALTER TABLE ONLY ostinato_data.fault FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.fault OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_faults(within interval DEFAULT '00:05:00'::interval) RETURNS SETOF ostinato_data.fault
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_faults(within interval) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_fires(name text, tenant_id text DEFAULT NULL::text, most integer DEFAULT 20) RETURNS TABLE(slot_local timestamp without time zone, slot_at timestamp with time zone, zone text, fired_at timestamp with time zone, lateness double precision, job_id bigint, missed integer)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_fires(name text, tenant_id text, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_firings(name text DEFAULT NULL::text, tenant text DEFAULT NULL::text, open boolean DEFAULT false, before bigint DEFAULT NULL::bigint, most integer DEFAULT 50) RETURNS TABLE(id bigint, alert text, label text, tenant_id text, severity text, state text, since timestamp with time zone, fired_at timestamp with time zone, resolved_at timestamp with time zone, value double precision, worst double precision, message text, details text, acknowledged_at timestamp with time zone, acknowledged_by text, silenced_until timestamp with time zone, template text, template_one text, places text)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_firings(name text, tenant text, open boolean, before bigint, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_idempotency(of_scope text DEFAULT NULL::text, prefix text DEFAULT ''::text, tenant_id text DEFAULT NULL::text, after_tenant text DEFAULT ''::text, after_scope text DEFAULT ''::text, after_key text DEFAULT ''::text, most integer DEFAULT 50) RETURNS TABLE(tenant text, scope text, key text, state text, fingerprint text, attempt integer, holder text, started_at timestamp with time zone, until timestamp with time zone, finished_at timestamp with time zone, expires_at timestamp with time zone, resource text)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET jit TO 'off'
    AS …;
ALTER FUNCTION ostinato.list_idempotency(of_scope text, prefix text, tenant_id text, after_tenant text, after_scope text, after_key text, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_jobs(INOUT state text DEFAULT NULL::text, INOUT queue text DEFAULT NULL::text, INOUT kind text DEFAULT NULL::text, INOUT tenant_id text DEFAULT NULL::text, INOUT correlation_id text DEFAULT NULL::text, before bigint DEFAULT NULL::bigint, most integer DEFAULT 50, ids bigint[] DEFAULT NULL::bigint[], OUT id bigint, OUT priority smallint, OUT attempt integer, OUT failures integer, OUT created_at timestamp with time zone, OUT run_at timestamp with time zone, OUT finished_at timestamp with time zone, OUT error text, OUT reason text) RETURNS SETOF record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato.list_jobs(INOUT state text, INOUT queue text, INOUT kind text, INOUT tenant_id text, INOUT correlation_id text, before bigint, most integer, ids bigint[], OUT id bigint, OUT priority smallint, OUT attempt integer, OUT failures integer, OUT created_at timestamp with time zone, OUT run_at timestamp with time zone, OUT finished_at timestamp with time zone, OUT error text, OUT reason text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_leases(prefix text DEFAULT ''::text, tenant_id text DEFAULT NULL::text, most integer DEFAULT 100, after_tenant text DEFAULT ''::text, after_name text DEFAULT ''::text) RETURNS TABLE(tenant text, name text, state text, holder text, token bigint, attempt integer, since timestamp with time zone, renewed_at timestamp with time zone, until timestamp with time zone, lifetime text, ttl_seconds double precision, job_id bigint, job_attempt integer, job_state text)
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_leases(prefix text, tenant_id text, most integer, after_tenant text, after_name text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_places(after text DEFAULT ''::text, most integer DEFAULT 1000) RETURNS TABLE(tenant_id text, state text, cell text, move_id uuid, changed_at timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_places(after text, most integer) OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.quarantine (
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    failures smallint NOT NULL,
    crashes smallint NOT NULL,
    found_at timestamp with time zone NOT NULL,
    place text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    worker_id uuid,
    damage text NOT NULL,
    CONSTRAINT quarantine_place_check CHECK ((place = ANY (ARRAY['ready'::text, 'claim'::text, 'scheduled'::text])))
);
ALTER TABLE ONLY ostinato_data.quarantine FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.quarantine OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_quarantine() RETURNS SETOF ostinato_data.quarantine
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_quarantine() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_queues(most integer DEFAULT NULL::integer) RETURNS TABLE(name text, paused boolean, concurrency integer, rate_count integer, rate_seconds double precision, key_concurrency integer, key_rate_count integer, key_rate_seconds double precision, ready bigint, scheduled bigint, running bigint, dead bigint, capped text[], oldest_wait double precision, workers bigint)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS …;
ALTER FUNCTION ostinato.list_queues(most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_samples(name text, since timestamp with time zone, until timestamp with time zone DEFAULT NULL::timestamp with time zone, step interval DEFAULT '00:01:00'::interval) RETURNS TABLE(at timestamp with time zone, label text, value double precision)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_samples(name text, since timestamp with time zone, until timestamp with time zone, step interval) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_schedules(tenant_id text DEFAULT NULL::text, key text DEFAULT NULL::text, owner text DEFAULT NULL::text, kind text DEFAULT NULL::text, after_tenant text DEFAULT ''::text, after_name text DEFAULT ''::text, most integer DEFAULT 50) RETURNS TABLE(id bigint, tenant_id text, name text, key text, owner text, kind text, queue text, rule text, zone text, paused boolean, error text, next_at timestamp with time zone, slot_local timestamp without time zone, missed integer)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_schedules(tenant_id text, key text, owner text, kind text, after_tenant text, after_name text, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_series(since timestamp with time zone, until timestamp with time zone DEFAULT NULL::timestamp with time zone, step integer DEFAULT 60, queue text DEFAULT NULL::text, kind text DEFAULT NULL::text, tenant_id text DEFAULT NULL::text) RETURNS TABLE(at timestamp with time zone, first bigint, done bigint, failed bigint, dead bigint, run_seconds double precision, p50 double precision, p95 double precision, p99 double precision)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_series(since timestamp with time zone, until timestamp with time zone, step integer, queue text, kind text, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_sessions(tenant_id text DEFAULT NULL::text, most integer DEFAULT 100, before bigint DEFAULT NULL::bigint) RETURNS SETOF ostinato_data.session_line
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_sessions(tenant_id text, most integer, before bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_silences(name text DEFAULT NULL::text) RETURNS TABLE(alert text, label text, until timestamp with time zone, reason text, silenced_by text, silenced_at timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_silences(name text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_subscriptions() RETURNS TABLE(name text, types text[], tenant_id text, kind text, on_poison text, paused boolean, "position" bigint, behind bigint, waiting bigint, held bigint, buried bigint, lag_seconds double precision)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_subscriptions() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_tenants(after text DEFAULT ''::text, most integer DEFAULT 50) RETURNS TABLE(tenant_id text, keys bigint, last_used_at timestamp with time zone, endpoints bigint)
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.list_tenants(after text, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_to_seal(entity text, "column" text, bound_to text[], newest text, most integer, skip text[] DEFAULT '{}'::text[]) RETURNS TABLE(place text, bound text[], value text)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_to_seal(entity text, "column" text, bound_to text[], newest text, most integer, skip text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_transitions(entity text, entity_id text DEFAULT NULL::text, tenant_id text DEFAULT NULL::text, before bigint DEFAULT NULL::bigint, most integer DEFAULT 50) RETURNS TABLE(id bigint, at timestamp with time zone, machine text, entity text, entity_id text, tenant_id text, event text, from_state text, to_state text, actor text, why text, correlation_id text, job_id bigint, attempt integer)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_transitions(entity text, entity_id text, tenant_id text, before bigint, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_webhook_attempts(name text, tenant_id text DEFAULT NULL::text, delivery_id bigint DEFAULT NULL::bigint, before bigint DEFAULT NULL::bigint, most integer DEFAULT 50) RETURNS TABLE(attempt_id bigint, delivery_id bigint, event_id text, event_type text, attempt integer, at timestamp with time zone, outcome text, status integer, duration_ms integer, answer text, error text, next_at timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_webhook_attempts(name text, tenant_id text, delivery_id bigint, before bigint, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_webhook_deliveries(name text, tenant_id text DEFAULT NULL::text, state text DEFAULT NULL::text, before bigint DEFAULT NULL::bigint, most integer DEFAULT 50) RETURNS TABLE(delivery_id bigint, event_id text, event_type text, ordering_key text, state text, job_id bigint, attempts integer, last_status integer, last_error text, created_at timestamp with time zone, settled_at timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_webhook_deliveries(name text, tenant_id text, state text, before bigint, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_webhook_endpoints(tenant_id text DEFAULT NULL::text, name text DEFAULT NULL::text, failing boolean DEFAULT false, after text[] DEFAULT NULL::text[], most integer DEFAULT NULL::integer, sample integer DEFAULT 10000) RETURNS TABLE(endpoint_id bigint, tenant_id text, name text, url text, event_types text[], state text, reason text, description text, header_names text[], retry json, timeout_seconds double precision, disable_after_seconds double precision, ordered boolean, created_at timestamp with time zone, failing_since timestamp with time zone, secret_hints text[], secret_expiries timestamp with time zone[], pending bigint, waiting bigint, held bigint, dead bigint, last_delivered_at timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_webhook_endpoints(tenant_id text, name text, failing boolean, after text[], most integer, sample integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.list_workers(most integer DEFAULT NULL::integer) RETURNS TABLE(id uuid, name text, started_at timestamp with time zone, beat_at timestamp with time zone, beat_age double precision, expiry_seconds double precision, expired boolean, draining boolean, held bigint, oldest_claim timestamp with time zone, contract integer, queues text[], kinds text[], release text, places integer)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.list_workers(most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.load_steps(job_ids bigint[]) RETURNS TABLE(job_id bigint, "position" integer, type text, name text, result text, seconds_left double precision)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.load_steps(job_ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.local_instant(local timestamp without time zone, zone text, gap text DEFAULT 'shift'::text, overlap text DEFAULT 'first'::text) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    AS …;
ALTER FUNCTION ostinato.local_instant(local timestamp without time zone, zone text, gap text, overlap text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.machine_gaps() RETURNS TABLE(entity text, machine text, problem text)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.machine_gaps() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.make_answer(status integer, body text, header text DEFAULT NULL::text, value text DEFAULT NULL::text) RETURNS json
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato.make_answer(status integer, body text, header text, value text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.match_api_keys(key_ids bigint[], hashes bytea[]) RETURNS TABLE(id bigint, tenant_id text, subject text, roles text[], name text, created_at timestamp with time zone, expires_at timestamp with time zone, last_used_at timestamp with time zone, revoked_at timestamp with time zone, replaces bigint, usable boolean, hash bytea)
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.match_api_keys(key_ids bigint[], hashes bytea[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.measure_alert(name text) RETURNS TABLE(label text, value double precision, bad boolean, message text)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.measure_alert(name text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.mend_webhooks(most integer DEFAULT 500, endpoints integer DEFAULT 50) RETURNS integer
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.mend_webhooks(most integer, endpoints integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.move_job(job_id bigint, run_at timestamp with time zone) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.move_job(job_id bigint, run_at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.move_schedule(name text, cron text, zone text DEFAULT 'UTC'::text, gap text DEFAULT NULL::text, overlap text DEFAULT NULL::text, tenant_id text DEFAULT NULL::text) RETURNS timestamp with time zone
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.move_schedule(name text, cron text, zone text, gap text, overlap text, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.move_test_clock(by interval) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.move_test_clock(by interval) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.never() RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato.never() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.new_id(at timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS bigint
    LANGUAGE sql
    AS …;
ALTER FUNCTION ostinato.new_id(at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.next_api_key_id() RETURNS bigint
    LANGUAGE sql
    AS …;
ALTER FUNCTION ostinato.next_api_key_id() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.next_fires(name text, n integer DEFAULT 5, after timestamp with time zone DEFAULT NULL::timestamp with time zone, tenant_id text DEFAULT NULL::text) RETURNS TABLE(slot_local timestamp without time zone, slot_at timestamp with time zone, due_at timestamp with time zone, zone text, utc_offset text, note text)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.next_fires(name text, n integer, after timestamp with time zone, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.next_time(kinds text[], timeouts boolean DEFAULT false) RETURNS double precision
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.next_time(kinds text[], timeouts boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.note_action(verb text, noun text, target text DEFAULT NULL::text, tenant_id text DEFAULT NULL::text, job_ids bigint[] DEFAULT NULL::bigint[], count bigint DEFAULT 1, filter json DEFAULT NULL::json, detail json DEFAULT NULL::json) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.note_action(verb text, noun text, target text, tenant_id text, job_ids bigint[], count bigint, filter json, detail json) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.note_action(verb character varying, noun text, target text DEFAULT NULL::text, tenant_id text DEFAULT NULL::text, job_ids bigint[] DEFAULT NULL::bigint[], count bigint DEFAULT 1, filter jsonb DEFAULT NULL::jsonb, detail jsonb DEFAULT NULL::jsonb) RETURNS void
    LANGUAGE sql
    AS …;
ALTER FUNCTION ostinato.note_action(verb character varying, noun text, target text, tenant_id text, job_ids bigint[], count bigint, filter jsonb, detail jsonb) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.note_api_key_use(key_ids bigint[]) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.note_api_key_use(key_ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.note_fault(part text, message text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.note_fault(part text, message text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.note_progress(claim_ids bigint[], job_ids bigint[], attempts integer[], done double precision[], totals double precision[], notes text[]) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.note_progress(claim_ids bigint[], job_ids bigint[], attempts integer[], done double precision[], totals double precision[], notes text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.now() RETURNS timestamp with time zone
    LANGUAGE sql PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato.now() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.observe() RETURNS TABLE(name text, label text, value double precision)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.observe() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.observe_declared() RETURNS TABLE(name text, label text, value double precision)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.observe_declared() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.older_transactions(of text[] DEFAULT NULL::text[]) RETURNS SETOF text
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.older_transactions(of text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.only_read() RETURNS void
    LANGUAGE plpgsql
    AS …;
ALTER FUNCTION ostinato.only_read() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.open_group(job_id bigint, "position" integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.open_group(job_id bigint, "position" integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.open_pass(machine text, entity text, event text, by text, why text, correlation_id text, job_id bigint, attempt integer, correlation_ids jsonb DEFAULT NULL::jsonb) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.open_pass(machine text, entity text, event text, by text, why text, correlation_id text, job_id bigint, attempt integer, correlation_ids jsonb) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.open_portal(hash bytea, seconds double precision DEFAULT 3600, tenant_id text DEFAULT NULL::text) RETURNS timestamp with time zone
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.open_portal(hash bytea, seconds double precision, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.open_session(hash bytea, tenant_id text, subject text, roles text[], key_id bigint DEFAULT NULL::bigint, ticket_seconds double precision DEFAULT NULL::double precision, ends_at timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS ostinato_data.session_line
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.open_session(hash bytea, tenant_id text, subject text, roles text[], key_id bigint, ticket_seconds double precision, ends_at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.open_waits(kinds text[]) RETURNS TABLE(job_id bigint, kind text, event text, key text, deadline timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.open_waits(kinds text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.own_alerts() RETURNS SETOF ostinato_data.alert_line
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.own_alerts() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.own_firings(name text DEFAULT NULL::text, open boolean DEFAULT false, before bigint DEFAULT NULL::bigint, most integer DEFAULT 50) RETURNS TABLE(id bigint, alert text, label text, tenant_id text, severity text, state text, since timestamp with time zone, fired_at timestamp with time zone, resolved_at timestamp with time zone, value double precision, worst double precision, message text, details text, acknowledged_at timestamp with time zone, acknowledged_by text, silenced_until timestamp with time zone, template text, template_one text, places text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.own_firings(name text, open boolean, before bigint, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.own_signal_job(job_id bigint, payload anycompatible DEFAULT NULL::json) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.own_signal_job(job_id bigint, payload anycompatible) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.pause_queue(name text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.pause_queue(name text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.pause_schedule(name text, tenant_id text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.pause_schedule(name text, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.pause_subscription(name text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.pause_subscription(name text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.pause_webhook_endpoint(name text, reason text DEFAULT NULL::text, tenant_id text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.pause_webhook_endpoint(name text, reason text, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.poll_jobs(worker_id uuid, queues text[], max_crashes integer DEFAULT 3, OUT rescued integer, OUT promoted integer, OUT ready_queues text[], OUT next_due double precision, OUT cancels bigint[], OUT chores text[]) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.poll_jobs(worker_id uuid, queues text[], max_crashes integer, OUT rescued integer, OUT promoted integer, OUT ready_queues text[], OUT next_due double precision, OUT cancels bigint[], OUT chores text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.preview_bulk(verb text, state text DEFAULT NULL::text, filter anycompatible DEFAULT NULL::json, OUT matching bigint, OUT capped boolean, OUT samples bigint[]) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.preview_bulk(verb text, state text, filter anycompatible, OUT matching bigint, OUT capped boolean, OUT samples bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.preview_fires(cron text DEFAULT NULL::text, at_time text DEFAULT NULL::text, weekdays text[] DEFAULT NULL::text[], at text DEFAULT NULL::text, zone text DEFAULT 'UTC'::text, gap text DEFAULT NULL::text, overlap text DEFAULT NULL::text, n integer DEFAULT 5, after timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS TABLE(slot_local timestamp without time zone, slot_at timestamp with time zone, utc_offset text, note text)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.preview_fires(cron text, at_time text, weekdays text[], at text, zone text, gap text, overlap text, n integer, after timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.probe_webhook_endpoint(name text, of_tenant text DEFAULT NULL::text, OUT verdict text, OUT tenant_id text, OUT endpoint_id bigint, OUT endpoint text, OUT url text, OUT headers json, OUT secrets text[], OUT event_id text, OUT body text, OUT timeout_seconds double precision, OUT retry json, OUT sent_at timestamp with time zone) RETURNS record
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.probe_webhook_endpoint(name text, of_tenant text, OUT verdict text, OUT tenant_id text, OUT endpoint_id bigint, OUT endpoint text, OUT url text, OUT headers json, OUT secrets text[], OUT event_id text, OUT body text, OUT timeout_seconds double precision, OUT retry json, OUT sent_at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.promote_jobs(most integer DEFAULT 5000) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.promote_jobs(most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.protect_table(entity text, tenant_column text DEFAULT 'tenant_id'::text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.protect_table(entity text, tenant_column text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.prune_alerts(retention_days integer) RETURNS integer
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.prune_alerts(retention_days integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.prune_api_keys(keep_days integer, most integer DEFAULT 1000) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.prune_api_keys(keep_days integer, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.prune_idempotency(most integer DEFAULT 5000) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.prune_idempotency(most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.prune_leases(keep_seconds double precision DEFAULT 86400, most integer DEFAULT 1000) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.prune_leases(keep_seconds double precision, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.prune_series(retention_days integer, most integer DEFAULT 20000) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.prune_series(retention_days integer, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.prune_sessions(most integer DEFAULT 1000) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.prune_sessions(most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.prune_webhooks(retention_days integer, most integer DEFAULT 5000) RETURNS TABLE(name text, rows bigint)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.prune_webhooks(retention_days integer, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.queue_rates(since timestamp with time zone, until timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS TABLE(queue text, first bigint, done bigint, failed bigint, dead bigint, p50 double precision, p95 double precision, p99 double precision)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.queue_rates(since timestamp with time zone, until timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.queue_shares(queue text, cap integer DEFAULT 1000, most integer DEFAULT 50) RETURNS TABLE(tenant_id text, waiting bigint, running bigint, capped boolean)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.queue_shares(queue text, cap integer, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.recompute_schedules(zones text[] DEFAULT NULL::text[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.recompute_schedules(zones text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.reconcile_worker(worker_id uuid, held bigint[], seconds double precision) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.reconcile_worker(worker_id uuid, held bigint[], seconds double precision) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.record_archive(name text, rows bigint, bytes bigint, sha256 text, file text, place text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.record_archive(name text, rows bigint, bytes bigint, sha256 text, file text, place text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.record_backup(label text, repository text, taken_at timestamp with time zone, bytes bigint, verified boolean DEFAULT false, timeline integer DEFAULT NULL::integer) RETURNS void
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.record_backup(label text, repository text, taken_at timestamp with time zone, bytes bigint, verified boolean, timeline integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.record_series(rows jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.record_series(rows jsonb) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.redeliver(subscription text, positions bigint[] DEFAULT NULL::bigint[], most integer DEFAULT 1000, preview boolean DEFAULT false) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.redeliver(subscription text, positions bigint[], most integer, preview boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.redeliver_webhooks(name text, ids bigint[], tenant_id text DEFAULT NULL::text) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.redeliver_webhooks(name text, ids bigint[], tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.redrive_jobs(queue text DEFAULT NULL::text, kind text DEFAULT NULL::text, tenant_id text DEFAULT NULL::text, signature text DEFAULT NULL::text, ids bigint[] DEFAULT NULL::bigint[], most integer DEFAULT NULL::integer, preview boolean DEFAULT false, OUT matching bigint, OUT redriven bigint, OUT conflicts bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.redrive_jobs(queue text, kind text, tenant_id text, signature text, ids bigint[], most integer, preview boolean, OUT matching bigint, OUT redriven bigint, OUT conflicts bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.refuse_filtered_reads() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.refuse_filtered_reads() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.register_event_types(names text[], versions integer[], schemas text[]) RETURNS void
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.register_event_types(names text[], versions integer[], schemas text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.register_kinds(names text[], queues text[], priorities integer[], timeouts double precision[], retries text[], schemas text[], secrets text[] DEFAULT NULL::text[], opens boolean[] DEFAULT NULL::boolean[]) RETURNS void
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.register_kinds(names text[], queues text[], priorities integer[], timeouts double precision[], retries text[], schemas text[], secrets text[], opens boolean[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.register_worker(name text, queues text[], kinds text[], expiry_seconds double precision DEFAULT 15, contract integer DEFAULT 2, release text DEFAULT NULL::text, places integer DEFAULT NULL::integer) RETURNS uuid
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.register_worker(name text, queues text[], kinds text[], expiry_seconds double precision, contract integer, release text, places integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.rehearse_alert(name text, label text DEFAULT 'test'::text) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.rehearse_alert(name text, label text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.rekind_jobs(old text, new text, most integer DEFAULT 5000) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS …;
ALTER FUNCTION ostinato.rekind_jobs(old text, new text, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.release_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[]) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato.release_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.release_lease(name text, token bigint DEFAULT NULL::bigint, force boolean DEFAULT false, tenant_id text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.release_lease(name text, token bigint, force boolean, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.remove_webhook_endpoint(name text, tenant_id text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.remove_webhook_endpoint(name text, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.renew_idempotent(scope text, key text, token bigint, tenant_id text DEFAULT NULL::text) RETURNS timestamp with time zone
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.renew_idempotent(scope text, key text, token bigint, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.renew_lease(name text, token bigint, ttl_seconds double precision DEFAULT NULL::double precision, tenant_id text DEFAULT NULL::text) RETURNS timestamp with time zone
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.renew_lease(name text, token bigint, ttl_seconds double precision, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.replay(subscription text, from_position bigint DEFAULT NULL::bigint, from_time timestamp with time zone DEFAULT NULL::timestamp with time zone, preview boolean DEFAULT false) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.replay(subscription text, from_position bigint, from_time timestamp with time zone, preview boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.require_archive(place text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.require_archive(place text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.rescue_jobs(max_crashes integer DEFAULT 3, most integer DEFAULT 5000) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.rescue_jobs(max_crashes integer, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.reseal(entity text, "column" text, places text[], olds text[], news text[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.reseal(entity text, "column" text, places text[], olds text[], news text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.reseal_args(job_ids bigint[], olds text[], news text[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.reseal_args(job_ids bigint[], olds text[], news text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.restart_job(job_id bigint, from_step text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.restart_job(job_id bigint, from_step text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.restore_job(job_id bigint, discard boolean DEFAULT false) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.restore_job(job_id bigint, discard boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.resume_queue(name text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.resume_queue(name text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.resume_schedule(name text, tenant_id text DEFAULT NULL::text) RETURNS timestamp with time zone
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.resume_schedule(name text, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.resume_subscription(name text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.resume_subscription(name text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.resume_webhook_endpoint(name text, tenant_id text DEFAULT NULL::text, most integer DEFAULT 5000) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.resume_webhook_endpoint(name text, tenant_id text, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.retry_job(job_id bigint) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.retry_job(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.revoke_api_key(key_id bigint, tenant_id text DEFAULT NULL::text) RETURNS ostinato_data.api_key_line
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.revoke_api_key(key_id bigint, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.ring_at_commit(queue text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.ring_at_commit(queue text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.ring_doorbell(queue text, softly boolean DEFAULT false) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.ring_doorbell(queue text, softly boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.rotate_api_key(key_id bigint, new_id bigint, new_hash bytea, overlap_seconds double precision DEFAULT 86400, expires_seconds double precision DEFAULT NULL::double precision, tenant_id text DEFAULT NULL::text) RETURNS ostinato_data.api_key_line
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.rotate_api_key(key_id bigint, new_id bigint, new_hash bytea, overlap_seconds double precision, expires_seconds double precision, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.rotate_webhook_secret(name text, overlap_seconds double precision DEFAULT 86400, tenant_id text DEFAULT NULL::text, secret text DEFAULT NULL::text, secret_hint text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.rotate_webhook_secret(name text, overlap_seconds double precision, tenant_id text, secret text, secret_hint text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.run_bulk(bulk_id bigint, OUT state text, OUT waiting boolean, OUT done bigint, OUT refused bigint, OUT matching bigint, OUT capped boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.run_bulk(bulk_id bigint, OUT state text, OUT waiting boolean, OUT done bigint, OUT refused bigint, OUT matching bigint, OUT capped boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.run_schedule(name text, tenant_id text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.run_schedule(name text, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.sample_metrics(every interval DEFAULT '00:00:15'::interval) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.sample_metrics(every interval) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.save_step(job_id bigint, attempt integer, "position" integer, name text, result json DEFAULT NULL::json, duration_ms integer DEFAULT NULL::integer, claim_id bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.save_step(job_id bigint, attempt integer, "position" integer, name text, result json, duration_ms integer, claim_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.save_step(job_id bigint, attempt integer, "position" integer, name character varying, result jsonb, duration_ms integer DEFAULT NULL::integer, claim_id bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE sql
    AS …;
ALTER FUNCTION ostinato.save_step(job_id bigint, attempt integer, "position" integer, name character varying, result jsonb, duration_ms integer, claim_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.save_steps(claim_ids bigint[], job_ids bigint[], attempts integer[], positions integer[], names text[], results text[] DEFAULT NULL::text[], durations integer[] DEFAULT NULL::integer[]) RETURNS SETOF integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_nestloop TO 'off'
    AS …;
ALTER FUNCTION ostinato.save_steps(claim_ids bigint[], job_ids bigint[], attempts integer[], positions integer[], names text[], results text[], durations integer[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.seal_group(job_id bigint, group_id bigint, total integer) RETURNS void
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.seal_group(job_id bigint, group_id bigint, total integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.search_jobs(state text DEFAULT NULL::text, filter anycompatible DEFAULT NULL::json, before bigint DEFAULT NULL::bigint, most integer DEFAULT 50, OUT ids bigint[], OUT next bigint) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.search_jobs(state text, filter anycompatible, before bigint, most integer, OUT ids bigint[], OUT next bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.secret_jobs(after bigint, most integer) RETURNS TABLE(job_id bigint, tenant_id text, kind text, args text, secret_args text[], upto bigint)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.secret_jobs(after bigint, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.secret_kinds() RETURNS TABLE(kind text, secret_args text[])
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.secret_kinds() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.sequence_events(most integer DEFAULT 5000, OUT stamped integer, OUT queues text[]) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato.sequence_events(most integer, OUT stamped integer, OUT queues text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.server_connections() RETURNS integer
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato.server_connections() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.set_aside_damaged(worker_id uuid, queues text[], held bigint[], named bigint[] DEFAULT '{}'::bigint[], state text DEFAULT NULL::text, message text DEFAULT NULL::text) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.set_aside_damaged(worker_id uuid, queues text[], held bigint[], named bigint[], state text, message text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.set_aside_held(claim_ids bigint[], job_ids bigint[], attempts integer[]) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.set_aside_held(claim_ids bigint[], job_ids bigint[], attempts integer[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.set_place(tenant_id text, state text, cell text, move_id uuid DEFAULT NULL::uuid) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.set_place(tenant_id text, state text, cell text, move_id uuid) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.set_test_clock(frozen timestamp with time zone, shift interval) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.set_test_clock(frozen timestamp with time zone, shift interval) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.settle_webhook_delivery(delivery_id bigint, job_id bigint, outcome text, status integer, duration_ms integer, answer text DEFAULT NULL::text, error text DEFAULT NULL::text, retry_seconds double precision DEFAULT NULL::double precision) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.settle_webhook_delivery(delivery_id bigint, job_id bigint, outcome text, status integer, duration_ms integer, answer text, error text, retry_seconds double precision) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.show_archive_rule() RETURNS TABLE(place text, since timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.show_archive_rule() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.show_cell_number() RETURNS integer
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.show_cell_number() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.show_event(event_id bigint) RETURNS TABLE(id bigint, "position" bigint, type text, version integer, tenant_id text, correlation_id text, occurred_at timestamp with time zone, emitted_at timestamp with time zone, producer text, ordering_key text, payload json)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.show_event(event_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.show_job(job_id bigint, OUT id bigint, OUT kind text, OUT queue text, OUT tenant_id text, OUT correlation_id text, OUT priority smallint, OUT state text, OUT reason text, OUT attempt integer, OUT failures integer, OUT crashes integer, OUT max_attempts smallint, OUT created_at timestamp with time zone, OUT asked_run_at timestamp with time zone, OUT run_at timestamp with time zone, OUT finished_at timestamp with time zone, OUT duration_ms integer, OUT args json, OUT result json, OUT error json, OUT limit_key text, OUT unique_key text, OUT unique_states text[], OUT worker_id uuid, OUT worker_name text, OUT claimed_at timestamp with time zone, OUT lease_until timestamp with time zone, OUT cancel_requested_at timestamp with time zone, OUT cancel_reason text, OUT progress_done double precision, OUT progress_total double precision, OUT progress_note text, OUT progress_at timestamp with time zone, OUT parent_id bigint) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.show_job(job_id bigint, OUT id bigint, OUT kind text, OUT queue text, OUT tenant_id text, OUT correlation_id text, OUT priority smallint, OUT state text, OUT reason text, OUT attempt integer, OUT failures integer, OUT crashes integer, OUT max_attempts smallint, OUT created_at timestamp with time zone, OUT asked_run_at timestamp with time zone, OUT run_at timestamp with time zone, OUT finished_at timestamp with time zone, OUT duration_ms integer, OUT args json, OUT result json, OUT error json, OUT limit_key text, OUT unique_key text, OUT unique_states text[], OUT worker_id uuid, OUT worker_name text, OUT claimed_at timestamp with time zone, OUT lease_until timestamp with time zone, OUT cancel_requested_at timestamp with time zone, OUT cancel_reason text, OUT progress_done double precision, OUT progress_total double precision, OUT progress_note text, OUT progress_at timestamp with time zone, OUT parent_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.show_job_as(as_tenant text, as_correlation text, as_user text, as_key bigint, job_id bigint, parts integer, longest integer, most_events integer, most_lines integer, OUT job json, OUT attempts json, OUT steps json, OUT events json, OUT trail json) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    AS …;
ALTER FUNCTION ostinato.show_job_as(as_tenant text, as_correlation text, as_user text, as_key bigint, job_id bigint, parts integer, longest integer, most_events integer, most_lines integer, OUT job json, OUT attempts json, OUT steps json, OUT events json, OUT trail json) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.show_lease(lease text, tenant_id text DEFAULT NULL::text) RETURNS TABLE(tenant text, name text, state text, holder text, token bigint, attempt integer, since timestamp with time zone, renewed_at timestamp with time zone, until timestamp with time zone, lifetime text, ttl_seconds double precision, job_id bigint, job_attempt integer, job_state text)
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.show_lease(lease text, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.show_place(tenant_id text) RETURNS TABLE(state text, cell text, move_id uuid, changed_at timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.show_place(tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.show_replication() RETURNS TABLE(is_replica boolean, lag double precision, system text)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.show_replication() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.show_schedule(name text, tenant_id text DEFAULT NULL::text) RETURNS TABLE(id bigint, tenant_id text, name text, key text, owner text, kind text, queue text, priority integer, args json, rule text, zone text, gap text, overlap text, starts_at timestamp with time zone, ends_at timestamp with time zone, catch_up text, catch_up_most integer, catch_up_seconds double precision, grace_seconds double precision, jitter_seconds double precision, created_at timestamp with time zone, timed_at timestamp with time zone, paused boolean, error text, next_at timestamp with time zone, slot_local timestamp without time zone, missed integer)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.show_schedule(name text, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.signal_job(job_id bigint, payload anycompatible DEFAULT NULL::json) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.signal_job(job_id bigint, payload anycompatible) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.silence_alert(name text, until timestamp with time zone, reason text, label text DEFAULT NULL::text) RETURNS timestamp with time zone
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.silence_alert(name text, until timestamp with time zone, reason text, label text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.sleep_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], positions integer[], seconds double precision[]) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.sleep_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], positions integer[], seconds double precision[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.snooze_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[], reason text DEFAULT 'snooze'::text) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato.snooze_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[], reason text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.split_claims(claim_ids bigint[], job_ids bigint[], attempts integer[]) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_nestloop TO 'off'
    AS …;
ALTER FUNCTION ostinato.split_claims(claim_ids bigint[], job_ids bigint[], attempts integer[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.start_bulk(verb text, state text DEFAULT NULL::text, filter anycompatible DEFAULT NULL::json, canary boolean DEFAULT false, reason text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.start_bulk(verb text, state text, filter anycompatible, canary boolean, reason text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.start_webhook_deliveries(delivery_ids bigint[], job_ids bigint[]) RETURNS TABLE(verdict text, tenant_id text, endpoint_id bigint, endpoint text, url text, headers json, secrets text[], event_id text, body text, timeout_seconds double precision, retry json, sent_at timestamp with time zone)
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.start_webhook_deliveries(delivery_ids bigint[], job_ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.start_webhook_delivery(delivery_id bigint, job_id bigint, OUT verdict text, OUT tenant_id text, OUT endpoint_id bigint, OUT endpoint text, OUT url text, OUT headers json, OUT secrets text[], OUT event_id text, OUT body text, OUT timeout_seconds double precision, OUT retry json, OUT sent_at timestamp with time zone) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.start_webhook_delivery(delivery_id bigint, job_id bigint, OUT verdict text, OUT tenant_id text, OUT endpoint_id bigint, OUT endpoint text, OUT url text, OUT headers json, OUT secrets text[], OUT event_id text, OUT body text, OUT timeout_seconds double precision, OUT retry json, OUT sent_at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.stop_bulk(bulk_id bigint) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.stop_bulk(bulk_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.subject(given text) RETURNS text
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato.subject(given text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.subscribe(name text, types text[] DEFAULT NULL::text[], tenant_id text DEFAULT NULL::text, kind text DEFAULT NULL::text, on_poison text DEFAULT 'skip'::text, start text DEFAULT 'now'::text, start_position bigint DEFAULT NULL::bigint, start_time timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.subscribe(name text, types text[], tenant_id text, kind text, on_poison text, start text, start_position bigint, start_time timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.take_late(most integer DEFAULT 100000) RETURNS TABLE(name text, first bigint, last bigint)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.take_late(most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.tenant(given text) RETURNS text
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato.tenant(given text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.trail(correlation_id text, for_tenant text DEFAULT NULL::text, most integer DEFAULT 1000) RETURNS TABLE(at timestamp with time zone, source text, what text, state text, tenant_id text, job_id bigint, attempt integer, ref text, detail json)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.trail(correlation_id text, for_tenant text, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.transition(machine text, entity text, id text, event text, by text DEFAULT NULL::text, why text DEFAULT NULL::text, correlation_id text DEFAULT NULL::text, changes json DEFAULT NULL::json, tenant_id text DEFAULT NULL::text, job_id bigint DEFAULT NULL::bigint, attempt integer DEFAULT NULL::integer, lease text DEFAULT NULL::text, token bigint DEFAULT NULL::bigint, lease_tenant text DEFAULT NULL::text) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.transition(machine text, entity text, id text, event text, by text, why text, correlation_id text, changes json, tenant_id text, job_id bigint, attempt integer, lease text, token bigint, lease_tenant text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.transition(machine character varying, entity text, id text, event text, by text DEFAULT NULL::text, why text DEFAULT NULL::text, correlation_id text DEFAULT NULL::text, changes jsonb DEFAULT NULL::jsonb, tenant_id text DEFAULT NULL::text, job_id bigint DEFAULT NULL::bigint, attempt integer DEFAULT NULL::integer, lease text DEFAULT NULL::text, token bigint DEFAULT NULL::bigint, lease_tenant text DEFAULT NULL::text) RETURNS text
    LANGUAGE sql
    AS …;
ALTER FUNCTION ostinato.transition(machine character varying, entity text, id text, event text, by text, why text, correlation_id text, changes jsonb, tenant_id text, job_id bigint, attempt integer, lease text, token bigint, lease_tenant text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.transition_all(machine text, entity text, ids text[], event text, by text DEFAULT NULL::text, why text DEFAULT NULL::text, correlation_id text DEFAULT NULL::text, changes json DEFAULT NULL::json, tenant_id text DEFAULT NULL::text, job_id bigint DEFAULT NULL::bigint, attempt integer DEFAULT NULL::integer, lease text DEFAULT NULL::text, token bigint DEFAULT NULL::bigint, lease_tenant text DEFAULT NULL::text, skip boolean DEFAULT false, correlation_ids text[] DEFAULT NULL::text[]) RETURNS TABLE(id text, from_state text, to_state text)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.transition_all(machine text, entity text, ids text[], event text, by text, why text, correlation_id text, changes json, tenant_id text, job_id bigint, attempt integer, lease text, token bigint, lease_tenant text, skip boolean, correlation_ids text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.transition_all(machine character varying, entity text, ids text[], event text, by text DEFAULT NULL::text, why text DEFAULT NULL::text, correlation_id text DEFAULT NULL::text, changes jsonb DEFAULT NULL::jsonb, tenant_id text DEFAULT NULL::text, job_id bigint DEFAULT NULL::bigint, attempt integer DEFAULT NULL::integer, lease text DEFAULT NULL::text, token bigint DEFAULT NULL::bigint, lease_tenant text DEFAULT NULL::text, skip boolean DEFAULT false, correlation_ids text[] DEFAULT NULL::text[]) RETURNS TABLE(id text, from_state text, to_state text)
    LANGUAGE sql
    AS …;
ALTER FUNCTION ostinato.transition_all(machine character varying, entity text, ids text[], event text, by text, why text, correlation_id text, changes jsonb, tenant_id text, job_id bigint, attempt integer, lease text, token bigint, lease_tenant text, skip boolean, correlation_ids text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.unregister_worker(worker_id uuid) RETURNS void
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.unregister_worker(worker_id uuid) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.unrun_kind_jobs() RETURNS TABLE(label text, value double precision)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS …;
ALTER FUNCTION ostinato.unrun_kind_jobs() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.unrun_kinds() RETURNS TABLE(queue text, kind text, jobs bigint)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS …;
ALTER FUNCTION ostinato.unrun_kinds() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.unsilence_alert(name text, label text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.unsilence_alert(name text, label text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.upcoming_schedules(tenant_id text DEFAULT NULL::text, most integer DEFAULT 10) RETURNS TABLE(tenant_id text, name text, kind text, zone text, next_at timestamp with time zone, slot_local timestamp without time zone)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.upcoming_schedules(tenant_id text, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.upkeep_logs(retention_days integer, weeks_ahead integer DEFAULT 4, audit_days integer DEFAULT NULL::integer) RETURNS TABLE(action text, name text, reason text, rows bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '300ms'
    AS …;
ALTER FUNCTION ostinato.upkeep_logs(retention_days integer, weeks_ahead integer, audit_days integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.upkeep_partitions(retention_days integer, weeks_ahead integer DEFAULT 4, thorough boolean DEFAULT false) RETURNS TABLE(action text, name text, reason text, rows bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '300ms'
    AS …;
ALTER FUNCTION ostinato.upkeep_partitions(retention_days integer, weeks_ahead integer, thorough boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.upsert_schedule(name text, kind text, args json DEFAULT '{}'::json, cron text DEFAULT NULL::text, at_time time without time zone DEFAULT NULL::time without time zone, weekdays text[] DEFAULT NULL::text[], at timestamp without time zone DEFAULT NULL::timestamp without time zone, zone text DEFAULT 'UTC'::text, gap text DEFAULT NULL::text, overlap text DEFAULT NULL::text, key text DEFAULT NULL::text, owner text DEFAULT NULL::text, queue text DEFAULT NULL::text, priority integer DEFAULT NULL::integer, catch_up text DEFAULT 'last'::text, catch_up_most integer DEFAULT 100, catch_up_seconds double precision DEFAULT NULL::double precision, grace_seconds double precision DEFAULT 60, jitter_seconds double precision DEFAULT 0, starts_at timestamp with time zone DEFAULT NULL::timestamp with time zone, ends_at timestamp with time zone DEFAULT NULL::timestamp with time zone, tenant_id text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.upsert_schedule(name text, kind text, args json, cron text, at_time time without time zone, weekdays text[], at timestamp without time zone, zone text, gap text, overlap text, key text, owner text, queue text, priority integer, catch_up text, catch_up_most integer, catch_up_seconds double precision, grace_seconds double precision, jitter_seconds double precision, starts_at timestamp with time zone, ends_at timestamp with time zone, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.upsert_schedule(name character varying, kind text, args jsonb, cron text DEFAULT NULL::text, at_time time without time zone DEFAULT NULL::time without time zone, weekdays text[] DEFAULT NULL::text[], at timestamp without time zone DEFAULT NULL::timestamp without time zone, zone text DEFAULT 'UTC'::text, gap text DEFAULT NULL::text, overlap text DEFAULT NULL::text, key text DEFAULT NULL::text, owner text DEFAULT NULL::text, queue text DEFAULT NULL::text, priority integer DEFAULT NULL::integer, catch_up text DEFAULT 'last'::text, catch_up_most integer DEFAULT 100, catch_up_seconds double precision DEFAULT NULL::double precision, grace_seconds double precision DEFAULT 60, jitter_seconds double precision DEFAULT 0, starts_at timestamp with time zone DEFAULT NULL::timestamp with time zone, ends_at timestamp with time zone DEFAULT NULL::timestamp with time zone, tenant_id text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE sql
    AS …;
ALTER FUNCTION ostinato.upsert_schedule(name character varying, kind text, args jsonb, cron text, at_time time without time zone, weekdays text[], at timestamp without time zone, zone text, gap text, overlap text, key text, owner text, queue text, priority integer, catch_up text, catch_up_most integer, catch_up_seconds double precision, grace_seconds double precision, jitter_seconds double precision, starts_at timestamp with time zone, ends_at timestamp with time zone, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.upsert_schedules(schedules anycompatible) RETURNS TABLE(id bigint, tenant_id text, name text, next_at timestamp with time zone, slot_local timestamp without time zone)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.upsert_schedules(schedules anycompatible) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.use_test_clock() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.use_test_clock() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.wait_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], positions integer[], events text[], keys text[], timeouts double precision[]) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato.wait_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], positions integer[], events text[], keys text[], timeouts double precision[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.watch_alerts(every interval, names text[]) RETURNS SETOF ostinato_data.alert_change
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.watch_alerts(every interval, names text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.watch_due_alerts(every interval DEFAULT '00:00:10'::interval) RETURNS TABLE(names text[], is_foreign boolean)
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.watch_due_alerts(every interval) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.watch_failed_alerts(names text[], every interval, seconds double precision) RETURNS SETOF ostinato_data.alert_change
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.watch_failed_alerts(names text[], every interval, seconds double precision) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.watch_job(job_id bigint, seconds double precision DEFAULT 60) RETURNS TABLE(state text, result json, error json)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.watch_job(job_id bigint, seconds double precision) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.webhook_endpoint_id(name text, tenant_id text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE sql
    AS …;
ALTER FUNCTION ostinato.webhook_endpoint_id(name text, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.week_of(at timestamp with time zone) RETURNS integer
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato.week_of(at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.why(job_id bigint) RETURNS TABLE(code text, message text, detail json, hint text)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.why(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato.worker_jobs(worker_id uuid, most integer DEFAULT 100) RETURNS TABLE(job_id bigint, kind text, queue text, tenant_id text, attempt integer, claimed_at timestamp with time zone, progress_done double precision, progress_total double precision, progress_note text)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato.worker_jobs(worker_id uuid, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_data.check_schedule_door() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_data.check_schedule_door() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_data.keep_audit() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_data.keep_audit() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_data.protect(name text, tenants boolean DEFAULT false) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_data.protect(name text, tenants boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_data.refuse_rewrite() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_data.refuse_rewrite() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_data.stamp_audit() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_data.stamp_audit() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.able_workers(queue text, kind text) RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.able_workers(queue text, kind text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.actor() RETURNS text
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.actor() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.add_batch(a ostinato_data.batch, b ostinato_data.batch) RETURNS ostinato_data.batch
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.add_batch(a ostinato_data.batch, b ostinato_data.batch) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.add_counts(a bigint[], b bigint[]) RETURNS bigint[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.add_counts(a bigint[], b bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.add_cursor(name text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.add_cursor(name text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.add_log_week(parent text, id text, week integer) RETURNS TABLE(action text, name text, reason text, rows bigint)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.add_log_week(parent text, id text, week integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.add_webhook_deliveries(after bigint, upto bigint) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.add_webhook_deliveries(after bigint, upto bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.add_week(week integer, thorough boolean) RETURNS TABLE(action text, name text, reason text, rows bigint)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.add_week(week integer, thorough boolean) OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.alert (
    name text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    severity text NOT NULL COLLATE pg_catalog."C",
    figure text COLLATE pg_catalog."C",
    function text COLLATE pg_catalog."C",
    parameters jsonb DEFAULT '{}'::jsonb NOT NULL,
    labels text[] DEFAULT '{}'::text[] NOT NULL,
    comparison text NOT NULL COLLATE pg_catalog."C",
    threshold double precision NOT NULL,
    clears_at double precision NOT NULL,
    for_seconds double precision NOT NULL,
    clear_seconds double precision NOT NULL,
    tenant_id text COLLATE pg_catalog."C",
    message text NOT NULL,
    remedy text NOT NULL,
    declared_at timestamp with time zone NOT NULL,
    evaluated_at timestamp with time zone,
    failures integer DEFAULT 0 NOT NULL,
    error text,
    message_one text,
    CONSTRAINT alert_check CHECK (((figure IS NULL) <> (function IS NULL))),
    CONSTRAINT alert_check1 CHECK (
CASE comparison
    WHEN '>'::text THEN (clears_at <= threshold)
    ELSE (clears_at >= threshold)
END),
    CONSTRAINT alert_clear_seconds_check CHECK ((clear_seconds >= (0)::double precision)),
    CONSTRAINT alert_comparison_check CHECK ((comparison = ANY (ARRAY['>'::text, '<'::text]))),
    CONSTRAINT alert_for_seconds_check CHECK ((for_seconds >= (0)::double precision)),
    CONSTRAINT alert_function_check CHECK ((function ~ '^[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*$'::text)),
    CONSTRAINT alert_parameters_check CHECK ((jsonb_typeof(parameters) = 'object'::text)),
    CONSTRAINT alert_severity_check CHECK ((severity = ANY (ARRAY['info'::text, 'warning'::text, 'critical'::text])))
)
WITH (fillfactor='50');
ALTER TABLE ONLY ostinato_data.alert FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.alert OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.alert_message(declared ostinato_data.alert, label text, value double precision) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.alert_message(declared ostinato_data.alert, label text, value double precision) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.alert_readings(declared ostinato_data.alert, figures jsonb) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.alert_readings(declared ostinato_data.alert, figures jsonb) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.allowed_words(machine text, state text) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.allowed_words(machine text, state text) OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.api_key (
    id bigint NOT NULL,
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    subject text NOT NULL,
    roles text[] NOT NULL,
    name text,
    hash bytea NOT NULL,
    lifetime_seconds double precision,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    revoked_at timestamp with time zone,
    replaces bigint,
    CONSTRAINT api_key_hash_check CHECK ((octet_length(hash) = 32)),
    CONSTRAINT api_key_lifetime_seconds_check CHECK ((lifetime_seconds > (0)::double precision))
)
WITH (fillfactor='80');
ALTER TABLE ONLY ostinato_data.api_key FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.api_key OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.api_key_line(key ostinato_data.api_key, at timestamp with time zone) RETURNS ostinato_data.api_key_line
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.api_key_line(key ostinato_data.api_key, at timestamp with time zone) OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.bulk (
    id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone,
    cursor bigint,
    matching bigint NOT NULL,
    done bigint DEFAULT 0 NOT NULL,
    refused bigint DEFAULT 0 NOT NULL,
    failed bigint DEFAULT 0 NOT NULL,
    key_id bigint,
    place smallint DEFAULT 1 NOT NULL,
    stage smallint DEFAULT 0 NOT NULL,
    canary boolean NOT NULL,
    capped boolean NOT NULL,
    tenant_id text COLLATE pg_catalog."C",
    verb text NOT NULL COLLATE pg_catalog."C",
    state text DEFAULT 'running'::text NOT NULL COLLATE pg_catalog."C",
    states text[] NOT NULL,
    actor text NOT NULL,
    actor_type text NOT NULL COLLATE pg_catalog."C",
    reason text,
    note text,
    filter json NOT NULL,
    watched bigint[] DEFAULT '{}'::bigint[] NOT NULL,
    attempts integer[] DEFAULT '{}'::integer[] NOT NULL,
    CONSTRAINT bulk_state_check CHECK ((state = ANY (ARRAY['running'::text, 'stopped'::text, 'halted'::text, 'done'::text]))),
    CONSTRAINT bulk_verb_check CHECK ((verb = ANY (ARRAY['cancel'::text, 'retry'::text, 'discard'::text, 'redrive'::text])))
)
WITH (fillfactor='70');
ALTER TABLE ONLY ostinato_data.bulk FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.bulk OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.apply_bulk(b ostinato_data.bulk, ids bigint[]) RETURNS ostinato_data.bulk
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.apply_bulk(b ostinato_data.bulk, ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.are_fresh(lanes ostinato_data.lanes) RETURNS boolean
    LANGUAGE sql
    AS …;
ALTER FUNCTION ostinato_internal.are_fresh(lanes ostinato_data.lanes) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.blank_subject(hash bytea, tenant_id text, jobs bigint[], events bigint[], running bigint[], preview boolean) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.blank_subject(hash bytea, tenant_id text, jobs bigint[], events bigint[], running bigint[], preview boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.bulk_batch() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.bulk_batch() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.bulk_states(verb text, state text) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.bulk_states(verb text, state text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.buried_jobs(subscription text, positions bigint[] DEFAULT NULL::bigint[], after bigint DEFAULT 0) RETURNS SETOF bigint
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.buried_jobs(subscription text, positions bigint[], after bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.bury_webhooks(endpoint_id bigint, most integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.bury_webhooks(endpoint_id bigint, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.cancel_group(tenant_id text, group_id bigint, most integer DEFAULT 5000) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.cancel_group(tenant_id text, group_id bigint, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.cancel_job(job_id bigint, reason text) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.cancel_job(job_id bigint, reason text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.cancelled_jobs(ids bigint[], reason text) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.cancelled_jobs(ids bigint[], reason text) OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.machine_table (
    entity text NOT NULL COLLATE pg_catalog."C",
    machine text NOT NULL COLLATE pg_catalog."C",
    id_column text NOT NULL,
    id_type text NOT NULL,
    state_column text NOT NULL,
    state_type text NOT NULL,
    tenant_column text,
    attached_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY ostinato_data.machine_table FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.machine_table OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.changed_columns(target ostinato_data.machine_table, changes json) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.changed_columns(target ostinato_data.machine_table, changes json) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_api_key(key ostinato_data.api_key) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.check_api_key(key ostinato_data.api_key) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_args(kind text, args text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.check_args(kind text, args text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_events(types text[], payloads text[], ordering_keys text[], versions integer[], tenant_ids text[], correlation_ids text[], occurred_ats timestamp with time zone[], producers text[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.check_events(types text[], payloads text[], ordering_keys text[], versions integer[], tenant_ids text[], correlation_ids text[], occurred_ats timestamp with time zone[], producers text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_header_values(headers json, header_values text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.check_header_values(headers json, header_values text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_here(tenant_ids text[]) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.check_here(tenant_ids text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_idempotent(tenant_id text, scope text, key text, fingerprint text, fields json, declaration text, lease_seconds double precision, ttl_seconds double precision) RETURNS void
    LANGUAGE plpgsql
    AS …;
ALTER FUNCTION ostinato_internal.check_idempotent(tenant_id text, scope text, key text, fingerprint text, fields json, declaration text, lease_seconds double precision, ttl_seconds double precision) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_job(job_id bigint, tenant_id text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.check_job(job_id bigint, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_lease(tenant_id text, name text, holder text, ttl_seconds double precision, job_id bigint, job_attempt integer) RETURNS void
    LANGUAGE plpgsql
    AS …;
ALTER FUNCTION ostinato_internal.check_lease(tenant_id text, name text, holder text, ttl_seconds double precision, job_id bigint, job_attempt integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_lengths(count integer, VARIADIC lengths integer[]) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.check_lengths(count integer, VARIADIC lengths integer[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_name(what text, value text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.check_name(what text, value text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_not_erased(job_id bigint) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.check_not_erased(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_open_queue(queue text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.check_open_queue(queue text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_options(priority integer DEFAULT NULL::integer, max_attempts integer DEFAULT NULL::integer, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, limit_key text DEFAULT NULL::text, correlation_id text DEFAULT NULL::text, limit_scope text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.check_options(priority integer, max_attempts integer, run_at timestamp with time zone, limit_key text, correlation_id text, limit_scope text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_own_jobs(tenant_ids text[], kinds text[], queues text[], limit_scopes text[]) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.check_own_jobs(tenant_ids text[], kinds text[], queues text[], limit_scopes text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_own_rows(tenant_ids text[]) RETURNS void
    LANGUAGE plpgsql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.check_own_rows(tenant_ids text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_parts(kind text, tenant_id text, args text, queue text) RETURNS void
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.check_parts(kind text, tenant_id text, args text, queue text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_payload(type text, payload text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.check_payload(type text, payload text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_policies(gap text, overlap text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.check_policies(gap text, overlap text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_reason(reason text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.check_reason(reason text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_registered(type text, version integer, payload text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.check_registered(type text, version integer, payload text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_rows(entity text, condition text, rule text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.check_rows(entity text, condition text, rule text) OWNER TO ostinato_owner;
CREATE SEQUENCE ostinato_data.schedule_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE ostinato_data.schedule_id_seq OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.schedule (
    id bigint DEFAULT nextval('ostinato_data.schedule_id_seq'::regclass) NOT NULL,
    created_at timestamp with time zone NOT NULL,
    timed_at timestamp with time zone NOT NULL,
    starts_at timestamp with time zone,
    ends_at timestamp with time zone,
    catch_up_seconds double precision,
    grace_seconds double precision NOT NULL,
    jitter_seconds double precision NOT NULL,
    catch_up_most integer NOT NULL,
    priority smallint,
    paused boolean DEFAULT false NOT NULL,
    catch_up text NOT NULL COLLATE pg_catalog."C",
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    key text COLLATE pg_catalog."C",
    owner text COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    queue text COLLATE pg_catalog."C",
    args json NOT NULL,
    cron text,
    recurrence ostinato_data.recurrence NOT NULL,
    error text,
    CONSTRAINT schedule_catch_up_check CHECK ((catch_up = ANY (ARRAY['all'::text, 'last'::text, 'none'::text]))),
    CONSTRAINT schedule_catch_up_most_check CHECK (((catch_up_most >= 1) AND (catch_up_most <= 1000))),
    CONSTRAINT schedule_catch_up_seconds_check CHECK ((catch_up_seconds > (0)::double precision)),
    CONSTRAINT schedule_grace_seconds_check CHECK ((grace_seconds > (0)::double precision)),
    CONSTRAINT schedule_jitter_seconds_check CHECK ((jitter_seconds >= (0)::double precision))
);
ALTER TABLE ONLY ostinato_data.schedule FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.schedule OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_schedule(s ostinato_data.schedule) RETURNS ostinato_data.schedule
    LANGUAGE plpgsql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.check_schedule(s ostinato_data.schedule) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_secret_args(kind text, args json, secret_args text[]) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.check_secret_args(kind text, args json, secret_args text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_sets(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], max_attempts integer[], limit_scopes text[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.check_sets(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], max_attempts integer[], limit_scopes text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_timed(ids bigint[]) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.check_timed(ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_transitions(target ostinato_data.machine_table, ids text[], event text, skip boolean, found_ids text[], from_states text[], to_states text[]) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.check_transitions(target ostinato_data.machine_table, ids text[], event text, skip boolean, found_ids text[], from_states text[], to_states text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_wanted_args(wanted jsonb) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.check_wanted_args(wanted jsonb) OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.webhook_endpoint (
    id bigint NOT NULL,
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    url text NOT NULL,
    event_types text[] NOT NULL,
    state text DEFAULT 'active'::text NOT NULL COLLATE pg_catalog."C",
    reason text,
    description text NOT NULL,
    headers json NOT NULL,
    retry json NOT NULL,
    timeout_seconds double precision NOT NULL,
    disable_after_seconds double precision NOT NULL,
    ordered boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    failing_since timestamp with time zone,
    from_position bigint NOT NULL,
    header_values text,
    CONSTRAINT webhook_endpoint_state_check CHECK ((state = ANY (ARRAY['active'::text, 'paused'::text, 'disabled'::text])))
);
ALTER TABLE ONLY ostinato_data.webhook_endpoint FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.webhook_endpoint OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_webhook_endpoint(endpoint ostinato_data.webhook_endpoint) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.check_webhook_endpoint(endpoint ostinato_data.webhook_endpoint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_webhook_headers(headers json) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.check_webhook_headers(headers json) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_webhook_secret(secret text, hint text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.check_webhook_secret(secret text, hint text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.check_zone(zone text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.check_zone(zone text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.checked_trace(traceparent text) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.checked_trace(traceparent text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.children_event() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.children_event() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.chores() RETURNS TABLE(name text, due double precision)
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.chores() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.claim_of(job_id bigint, attempt integer) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    AS …;
ALTER FUNCTION ostinato_internal.claim_of(job_id bigint, attempt integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.claims_named(claim_ids bigint[], job_ids bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.claims_named(claim_ids bigint[], job_ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.close_parent(parent text, id text, week integer) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.close_parent(parent text, id text, week integer) OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.event (
    id bigint NOT NULL,
    occurred_at timestamp with time zone NOT NULL,
    emitted_at timestamp with time zone NOT NULL,
    version integer NOT NULL,
    type text NOT NULL COLLATE pg_catalog."C",
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    correlation_id text NOT NULL COLLATE pg_catalog."C",
    producer text NOT NULL COLLATE pg_catalog."C",
    ordering_key text COLLATE pg_catalog."C",
    payload json NOT NULL,
    subject bytea,
    erased_at timestamp with time zone
)
PARTITION BY RANGE (id);
ALTER TABLE ONLY ostinato_data.event FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.event OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.cloudevent_of(event ostinato_data.event, "position" bigint) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.cloudevent_of(event ostinato_data.event, "position" bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.column_type(entity text, name text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.column_type(entity text, name text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.complete_webhook_delivery(delivery_id bigint, job_id bigint, attempt integer, claim_id bigint, status integer, duration_ms integer, answer text DEFAULT NULL::text, job_ms integer DEFAULT NULL::integer) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.complete_webhook_delivery(delivery_id bigint, job_id bigint, attempt integer, claim_id bigint, status integer, duration_ms integer, answer text, job_ms integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.correlations_of(target ostinato_data.machine_table, ids text[], correlation_ids text[]) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.correlations_of(target ostinato_data.machine_table, ids text[], correlation_ids text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.count_children(job_ids bigint[], outcome text, by integer DEFAULT 1) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.count_children(job_ids bigint[], outcome text, by integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.count_firing() RETURNS TABLE(alert text, firing bigint)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.count_firing() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.crashes_after(crashes smallint, begun boolean, alone boolean) RETURNS integer
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.crashes_after(crashes smallint, begun boolean, alone boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.create_api_key(key_id bigint, hash bytea, tenant_id text, subject text, roles text[], name text, expires_seconds double precision, replaces bigint) RETURNS ostinato_data.api_key_line
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.create_api_key(key_id bigint, hash bytea, tenant_id text, subject text, roles text[], name text, expires_seconds double precision, replaces bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.cron_number(word text, low integer, names text[]) RETURNS integer
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.cron_number(word text, low integer, names text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.death_seconds() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.death_seconds() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.deferral_cap() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.deferral_cap() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.deferral_peace() RETURNS interval
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.deferral_peace() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.deferral_seconds(job_id bigint, times integer) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.deferral_seconds(job_id bigint, times integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.delivery_cap() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.delivery_cap() OWNER TO ostinato_owner;
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
    subjects bytea[],
    CONSTRAINT idempotency_lease_seconds_check CHECK ((lease_seconds > (0)::double precision)),
    CONSTRAINT idempotency_state_check CHECK ((state = ANY (ARRAY['in_flight'::text, 'abandoned'::text, 'done'::text]))),
    CONSTRAINT idempotency_ttl_seconds_check CHECK ((ttl_seconds > (0)::double precision))
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='20000', autovacuum_vacuum_cost_delay='0');
ALTER TABLE ONLY ostinato_data.idempotency FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.idempotency OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.differing_fields(held ostinato_data.idempotency, asked ostinato_data.idempotency) RETURNS text[]
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.differing_fields(held ostinato_data.idempotency, asked ostinato_data.idempotency) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.discarded_jobs(ids bigint[], reason text) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.discarded_jobs(ids bigint[], reason text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.dispatch_deliveries(subscription text, most integer DEFAULT 1000) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.dispatch_deliveries(subscription text, most integer) OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.subscription (
    name text NOT NULL COLLATE pg_catalog."C",
    types text[] COLLATE pg_catalog."C",
    tenant_id text COLLATE pg_catalog."C",
    kind text COLLATE pg_catalog."C",
    on_poison text NOT NULL COLLATE pg_catalog."C",
    paused boolean DEFAULT false NOT NULL,
    "position" bigint NOT NULL,
    low bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    registered_at timestamp with time zone NOT NULL,
    CONSTRAINT subscription_on_poison_check CHECK ((on_poison = ANY (ARRAY['skip'::text, 'block'::text])))
)
WITH (fillfactor='20');
ALTER TABLE ONLY ostinato_data.subscription FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.subscription OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.dispatch_window(sub ostinato_data.subscription, after bigint, most integer, OUT made integer, OUT reached bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.dispatch_window(sub ostinato_data.subscription, after bigint, most integer, OUT made integer, OUT reached bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.doubt_factor() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.doubt_factor() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.drop_deliveries(sub ostinato_data.subscription, after bigint, reason text) RETURNS text[]
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.drop_deliveries(sub ostinato_data.subscription, after bigint, reason text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.drop_log_week(parent text, week integer) RETURNS TABLE(action text, name text, reason text, rows bigint)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.drop_log_week(parent text, week integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.drop_triggers(machine text, entity text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.drop_triggers(machine text, entity text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.drop_waiting(job_id bigint, reason text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.drop_waiting(job_id bigint, reason text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.drop_week(week integer, cutoff timestamp with time zone, thorough boolean) RETURNS TABLE(action text, name text, reason text, rows bigint)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.drop_week(week integer, cutoff timestamp with time zone, thorough boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.due_chores(OUT chores text[], OUT next_due double precision) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.due_chores(OUT chores text[], OUT next_due double precision) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.due_slots(s ostinato_data.schedule, first_local timestamp without time zone, first_at timestamp with time zone, now timestamp with time zone, most integer) RETURNS TABLE(slot_local timestamp without time zone, slot_at timestamp with time zone, next_at timestamp with time zone)
    LANGUAGE plpgsql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.due_slots(s ostinato_data.schedule, first_local timestamp without time zone, first_at timestamp with time zone, now timestamp with time zone, most integer) OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.alert_firing (
    id bigint NOT NULL,
    alert text NOT NULL COLLATE pg_catalog."C",
    label text NOT NULL COLLATE pg_catalog."C",
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    severity text NOT NULL COLLATE pg_catalog."C",
    since timestamp with time zone NOT NULL,
    fired_at timestamp with time zone,
    good_since timestamp with time zone,
    resolved_at timestamp with time zone,
    value double precision NOT NULL,
    worst double precision NOT NULL,
    message text NOT NULL,
    details json NOT NULL,
    acknowledged_at timestamp with time zone,
    acknowledged_by text,
    owed text COLLATE pg_catalog."C",
    CONSTRAINT alert_firing_check CHECK (((fired_at IS NOT NULL) OR (resolved_at IS NULL))),
    CONSTRAINT alert_firing_owed_check CHECK ((owed = ANY (ARRAY['fired'::text, 'resolved'::text])))
)
WITH (fillfactor='50');
ALTER TABLE ONLY ostinato_data.alert_firing FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.alert_firing OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.emit_alert(type text, firing ostinato_data.alert_firing, at timestamp with time zone) RETURNS bigint
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.emit_alert(type text, firing ostinato_data.alert_firing, at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.end_deliveries(over bigint[], dead bigint[] DEFAULT NULL::bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.end_deliveries(over bigint[], dead bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.end_join(parent_id bigint, join_step integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.end_join(parent_id bigint, join_step integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.enqueue_by_itself(kinds text[], args text[], queues text[], priorities integer[] DEFAULT NULL::integer[], tenant_ids text[] DEFAULT NULL::text[], correlation_ids text[] DEFAULT NULL::text[], limit_keys text[] DEFAULT NULL::text[], max_attempts integer[] DEFAULT NULL::integer[], subjects text[] DEFAULT NULL::text[]) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.enqueue_by_itself(kinds text[], args text[], queues text[], priorities integer[], tenant_ids text[], correlation_ids text[], limit_keys text[], max_attempts integer[], subjects text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.enqueue_each(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], unique_keys text[], max_attempts integer[], limit_scopes text[], subjects text[]) RETURNS SETOF bigint
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.enqueue_each(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], unique_keys text[], max_attempts integer[], limit_scopes text[], subjects text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.erase_subject(tenant_id text, subject text, preview boolean, keep_live boolean, most integer) RETURNS ostinato_data.erasure
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.erase_subject(tenant_id text, subject text, preview boolean, keep_live boolean, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.error_summary(error json, longest integer DEFAULT 200) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.error_summary(error json, longest integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.estimate_rows(name regclass) RETURNS bigint
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.estimate_rows(name regclass) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.event_args(subscription text, "position" bigint, event ostinato_data.event) RETURNS json
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.event_args(subscription text, "position" bigint, event ostinato_data.event) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.event_chores() RETURNS TABLE(name text, due double precision)
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.event_chores() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.expire_waits(job_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.expire_waits(job_ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.fake_now() RETURNS timestamp with time zone
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.fake_now() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.fan_out_cap() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.fan_out_cap() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.fault_lasts() RETURNS interval
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.fault_lasts() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.fill_week(parent text, id text, week integer, closed boolean) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.fill_week(parent text, id text, week integer, closed boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.find_actions(ids bigint[], of_correlation text, of_tenant text, most integer) RETURNS SETOF bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.find_actions(ids bigint[], of_correlation text, of_tenant text, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.find_alert(name text) RETURNS ostinato_data.alert
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.find_alert(name text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.find_audit(by_actor text, of_verb text, of_target text, of_job bigint, since timestamp with time zone, of_tenant text, before bigint, most integer) RETURNS SETOF bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.find_audit(by_actor text, of_verb text, of_target text, of_job bigint, since timestamp with time zone, of_tenant text, before bigint, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.find_ended(in_state text, in_queue text, of_kind text, of_tenant text, before bigint, most integer) RETURNS SETOF bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.find_ended(in_state text, in_queue text, of_kind text, of_tenant text, before bigint, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.find_jobs(in_state text, in_queue text, of_kind text, of_tenant text, before bigint, most integer) RETURNS SETOF bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.find_jobs(in_state text, in_queue text, of_kind text, of_tenant text, before bigint, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.find_machine_table(machine text, entity text, tenant_id text) RETURNS ostinato_data.machine_table
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.find_machine_table(machine text, entity text, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.find_own_alert(name text) RETURNS ostinato_data.alert
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.find_own_alert(name text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.find_ready(in_queue text, of_kind text, of_tenant text, before bigint, most integer) RETURNS SETOF bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.find_ready(in_queue text, of_kind text, of_tenant text, before bigint, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.find_schedule(name text, tenant_id text DEFAULT NULL::text) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.find_schedule(name text, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.fire_alert(declared ostinato_data.alert, firing ostinato_data.alert_firing, at timestamp with time zone, value double precision) RETURNS SETOF ostinato_data.alert_change
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.fire_alert(declared ostinato_data.alert, firing ostinato_data.alert_firing, at timestamp with time zone, value double precision) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.fire_safely(ids bigint[], now timestamp with time zone, OUT fired integer, OUT missed integer, OUT broken integer, OUT queues text[], OUT lateness double precision[]) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.fire_safely(ids bigint[], now timestamp with time zone, OUT fired integer, OUT missed integer, OUT broken integer, OUT queues text[], OUT lateness double precision[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.fire_set(ids bigint[], now timestamp with time zone, OUT fired integer, OUT missed integer, OUT queues text[], OUT lateness double precision[]) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.fire_set(ids bigint[], now timestamp with time zone, OUT fired integer, OUT missed integer, OUT queues text[], OUT lateness double precision[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.fire_slots(schedule_id bigint, ats timestamp with time zone[], of_tenant text) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.fire_slots(schedule_id bigint, ats timestamp with time zone[], of_tenant text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.fire_slots_of(schedule_id bigint, ats timestamp with time zone[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.fire_slots_of(schedule_id bigint, ats timestamp with time zone[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.first_id(at timestamp with time zone) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.first_id(at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.forget_groups(job_id bigint, from_position integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.forget_groups(job_id bigint, from_position integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.forget_run(job_ids bigint[], ended bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.forget_run(job_ids bigint[], ended bigint[]) OWNER TO ostinato_owner;
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
CREATE FUNCTION ostinato_internal.free_keys(limits ostinato_data.queue, keys text[]) RETURNS TABLE(limit_key text, free integer)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_hashjoin TO 'on'
    AS …;
ALTER FUNCTION ostinato_internal.free_keys(limits ostinato_data.queue, keys text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.free_unique_keys(job_ids bigint[], state text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.free_unique_keys(job_ids bigint[], state text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.gap_seconds(expiry double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.gap_seconds(expiry double precision) OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.claim_hint (
    queue text NOT NULL,
    kinds text[] NOT NULL,
    lanes ostinato_data.lanes NOT NULL,
    last_priority smallint,
    seen_priority smallint,
    seen_tenant text,
    seen_key text
)
WITH (fillfactor='20');
ALTER TABLE ONLY ostinato_data.claim_hint FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.claim_hint OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.go_on_from(hint ostinato_data.claim_hint, kinds text[], priority smallint, tenant text, key text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.go_on_from(hint ostinato_data.claim_hint, kinds text[], priority smallint, tenant text, key text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.handed_on(queue text, kinds text[]) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.handed_on(queue text, kinds text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.has_args(args json, wanted jsonb) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.has_args(args json, wanted jsonb) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.has_unsequenced() RETURNS boolean
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.has_unsequenced() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.has_usable_key(session ostinato_data.session, at timestamp with time zone) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.has_usable_key(session ostinato_data.session, at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.hastened_jobs(job_ids bigint[]) RETURNS TABLE(job_id bigint, queue text)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.hastened_jobs(job_ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.held_among(claims bigint[], claim_ids bigint[], job_ids bigint[], attempts integer[]) RETURNS TABLE(n bigint, claim_id bigint)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_nestloop TO 'off'
    SET enable_hashjoin TO 'on'
    AS …;
ALTER FUNCTION ostinato_internal.held_among(claims bigint[], claim_ids bigint[], job_ids bigint[], attempts integer[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.held_jobs(ids bigint[] DEFAULT NULL::bigint[]) RETURNS SETOF ostinato_data.held_job
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.held_jobs(ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.hold_apart(worker_id uuid, queue text, batch ostinato_data.batch, at timestamp with time zone, starts integer, apart text[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_hashjoin TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.hold_apart(worker_id uuid, queue text, batch ostinato_data.batch, at timestamp with time zone, starts integer, apart text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.hold_batch(worker_id uuid, queue text, batch ostinato_data.batch, at timestamp with time zone, starts integer, apart text[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.hold_batch(worker_id uuid, queue text, batch ostinato_data.batch, at timestamp with time zone, starts integer, apart text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.hold_steps() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.hold_steps() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.hold_unique_key(tenant_id text, unique_key text, job_id bigint, policy text, states text[]) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.hold_unique_key(tenant_id text, unique_key text, job_id bigint, policy text, states text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.idle_session() RETURNS interval
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.idle_session() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.ids_of_a_day() RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.ids_of_a_day() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.in_grace(seconds double precision) RETURNS boolean
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.in_grace(seconds double precision) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.is_alert_due(evaluated_at timestamp with time zone, every interval, at timestamp with time zone) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.is_alert_due(evaluated_at timestamp with time zone, every interval, at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.is_api_key_usable(key ostinato_data.api_key, at timestamp with time zone) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.is_api_key_usable(key ostinato_data.api_key, at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.is_archived(name text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.is_archived(name text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.is_awaited(group_id bigint, tenant_id text) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.is_awaited(group_id bigint, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.is_beyond(value double precision, comparison text, threshold double precision) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.is_beyond(value double precision, comparison text, threshold double precision) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.is_day(rule ostinato_data.recurrence, day date) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.is_day(rule ostinato_data.recurrence, day date) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.is_deep(document text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.is_deep(document text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.is_expired(beat_at timestamp with time zone, expiry_seconds double precision, at timestamp with time zone) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.is_expired(beat_at timestamp with time zone, expiry_seconds double precision, at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.is_guilty(job_id bigint, counted integer, max_crashes integer) RETURNS boolean
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.is_guilty(job_id bigint, counted integer, max_crashes integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.is_lapsed(renewed_at timestamp with time zone, seconds double precision, doubted_at timestamp with time zone, at timestamp with time zone) RETURNS boolean
    LANGUAGE sql
    AS …;
ALTER FUNCTION ostinato_internal.is_lapsed(renewed_at timestamp with time zone, seconds double precision, doubted_at timestamp with time zone, at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.is_new_doubt(renewed_at timestamp with time zone, seconds double precision, doubted_at timestamp with time zone, at timestamp with time zone) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.is_new_doubt(renewed_at timestamp with time zone, seconds double precision, doubted_at timestamp with time zone, at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.is_odd_payload(payload text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.is_odd_payload(payload text) OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.lease (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    token bigint NOT NULL,
    attempt integer NOT NULL,
    holder text NOT NULL,
    acquired_at timestamp with time zone NOT NULL,
    renewed_at timestamp with time zone NOT NULL,
    lifetime text NOT NULL COLLATE pg_catalog."C",
    ttl_seconds double precision,
    job_id bigint,
    job_attempt integer,
    doubted_at timestamp with time zone,
    CONSTRAINT lease_check CHECK (
CASE lifetime
    WHEN 'time'::text THEN (ttl_seconds IS NOT NULL)
    WHEN 'attempt'::text THEN (job_attempt IS NOT NULL)
    ELSE (job_id IS NOT NULL)
END),
    CONSTRAINT lease_check1 CHECK (((job_attempt IS NULL) OR (job_id IS NOT NULL))),
    CONSTRAINT lease_lifetime_check CHECK ((lifetime = ANY (ARRAY['time'::text, 'attempt'::text, 'job'::text]))),
    CONSTRAINT lease_ttl_seconds_check CHECK ((ttl_seconds > (0)::double precision))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000', autovacuum_vacuum_cost_delay='0');
ALTER TABLE ONLY ostinato_data.lease FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.lease OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.is_own_lease(held ostinato_data.lease, asked ostinato_data.lease) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.is_own_lease(held ostinato_data.lease, asked ostinato_data.lease) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.is_ready(job_id bigint) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.is_ready(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.is_run(queue text, kind text) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.is_run(queue text, kind text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.is_watchable(name text) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.is_watchable(name text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.jitter(schedule_id bigint, slot_at timestamp with time zone, seconds double precision) RETURNS interval
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.jitter(schedule_id bigint, slot_at timestamp with time zone, seconds double precision) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.job_damage(job_id bigint) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.job_damage(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.job_filter_of(filter json) RETURNS ostinato_data.job_filter
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.job_filter_of(filter json) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.job_summaries(ids bigint[]) RETURNS TABLE(id bigint, kind text, queue text, tenant_id text, correlation_id text, priority smallint, state text, attempt integer, failures integer, crashes integer, created_at timestamp with time zone, run_at timestamp with time zone, finished_at timestamp with time zone, error text, reason text)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.job_summaries(ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.join_key(spawns text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.join_key(spawns text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.json_number(value double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.json_number(value double precision) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.keep_answer(held ostinato_data.idempotency) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.keep_answer(held ostinato_data.idempotency) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.keep_late(job_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.keep_late(job_ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.keep_order(job_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.keep_order(job_ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.lane(tenant_id text, ordering_key text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.lane(tenant_id text, ordering_key text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.lane_ends(queue text, priority smallint, tenant_id text, most bigint) RETURNS TABLE(kind text, "position" bigint)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.lane_ends(queue text, priority smallint, tenant_id text, most bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.last_id() RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.last_id() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.latency_at(counts bigint[], share double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.latency_at(counts bigint[], share double precision) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.latency_bounds() RETURNS double precision[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.latency_bounds() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.leads_to_state(entity text, state_column text, tenant_column text) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.leads_to_state(entity text, state_column text, tenant_column text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.lease_state(lease ostinato_data.lease) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.lease_state(lease ostinato_data.lease) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.limited_lanes(hint ostinato_data.claim_hint) RETURNS TABLE(priority smallint, tenant_id text, n bigint)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.limited_lanes(hint ostinato_data.claim_hint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.line_cap() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.line_cap() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.local_instants(local timestamp without time zone, zone text, gap text, overlap text) RETURNS timestamp with time zone[]
    LANGUAGE plpgsql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.local_instants(local timestamp without time zone, zone text, gap text, overlap text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.lock_api_key(key_id bigint, tenant_id text DEFAULT NULL::text) RETURNS ostinato_data.api_key
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.lock_api_key(key_id bigint, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.lock_claims(claim_ids bigint[], job_ids bigint[], shared boolean DEFAULT false) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.lock_claims(claim_ids bigint[], job_ids bigint[], shared boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.lock_keys(tenant_ids text[], ordering_keys text[], count integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.lock_keys(tenant_ids text[], ordering_keys text[], count integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.lock_lanes(job_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.lock_lanes(job_ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.lock_place(job_id bigint) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.lock_place(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.lock_subscription(name text) RETURNS ostinato_data.subscription
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.lock_subscription(name text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.lock_webhook_endpoint(name text, tenant_id text DEFAULT NULL::text) RETURNS ostinato_data.webhook_endpoint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.lock_webhook_endpoint(name text, tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.log_weeks(parent text) RETURNS SETOF integer
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.log_weeks(parent text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.log_window() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.log_window() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.log_windows() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.log_windows() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.longest_error() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.longest_error() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.longest_message_id() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.longest_message_id() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.longest_name() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.longest_name() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.longest_session() RETURNS interval
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.longest_session() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.longest_text() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.longest_text() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.look_up_lanes(queue text, last_tenant text) RETURNS ostinato_data.lanes
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.look_up_lanes(queue text, last_tenant text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.low_step() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.low_step() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.machine_faults(definition json) RETURNS SETOF text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.machine_faults(definition json) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.make_guard(machine text, entity text, id_column text, state_column text, tenant_column text, attached_by text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.make_guard(machine text, entity text, id_column text, state_column text, tenant_column text, attached_by text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.make_partition(parent text, name text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.make_partition(parent text, name text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.make_ready(job_id bigint, at bigint, attempt integer, failures integer, crashes integer) RETURNS void
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.make_ready(job_id bigint, at bigint, attempt integer, failures integer, crashes integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.make_rule(cron text DEFAULT NULL::text, at_time text DEFAULT NULL::text, weekdays text[] DEFAULT NULL::text[], at text DEFAULT NULL::text, zone text DEFAULT NULL::text, gap text DEFAULT NULL::text, overlap text DEFAULT NULL::text) RETURNS ostinato_data.recurrence
    LANGUAGE plpgsql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.make_rule(cron text, at_time text, weekdays text[], at text, zone text, gap text, overlap text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.make_subject_secret() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.make_subject_secret() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.masked(value json) RETURNS json
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.masked(value json) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.masked_args(kind text, args json) RETURNS json
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.masked_args(kind text, args json) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.may_take_over(held ostinato_data.idempotency) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.may_take_over(held ostinato_data.idempotency) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.most_bytes() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.most_bytes() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.most_catch_up() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.most_catch_up() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.most_field_bytes() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.most_field_bytes() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.most_keys() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.most_keys() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.most_lanes() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.most_lanes() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.most_note_bytes() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.most_note_bytes() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.most_poor_look_ups() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.most_poor_look_ups() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.most_result_bytes() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.most_result_bytes() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.most_rows() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.most_rows() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.most_schedule_bytes() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.most_schedule_bytes() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.most_slots() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.most_slots() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.most_streams() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.most_streams() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.most_tries() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.most_tries() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.move_job(job_id bigint, run_at timestamp with time zone) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.move_job(job_id bigint, run_at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.move_jobs(max_crashes integer, OUT rescued integer, OUT promoted integer) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.move_jobs(max_crashes integer, OUT rescued integer, OUT promoted integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.moving_tenants() RETURNS text[]
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.moving_tenants() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.needed_event(cutoff timestamp with time zone) RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.needed_event(cutoff timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.needed_jobs(first bigint, behind bigint, cutoff timestamp with time zone) RETURNS SETOF bigint
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.needed_jobs(first bigint, behind bigint, cutoff timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.new_place(id bigint, priority integer, keyed boolean, queue text, tenant_id text, kind text, limit_key text, limit_scope text DEFAULT NULL::text) RETURNS SETOF ostinato_data.place
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.new_place(id bigint, priority integer, keyed boolean, queue text, tenant_id text, kind text, limit_key text, limit_scope text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.next_date(rule ostinato_data.recurrence, first date) RETURNS date
    LANGUAGE plpgsql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.next_date(rule ostinato_data.recurrence, first date) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.next_due(s ostinato_data.schedule, after timestamp with time zone, OUT slot_local timestamp without time zone, OUT slot_at timestamp with time zone, OUT next_at timestamp with time zone) RETURNS record
    LANGUAGE plpgsql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.next_due(s ostinato_data.schedule, after timestamp with time zone, OUT slot_local timestamp without time zone, OUT slot_at timestamp with time zone, OUT next_at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.next_jobs(worker_id uuid, queue text, most integer) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.next_jobs(worker_id uuid, queue text, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.next_local(rule ostinato_data.recurrence, after timestamp without time zone) RETURNS timestamp without time zone
    LANGUAGE plpgsql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.next_local(rule ostinato_data.recurrence, after timestamp without time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.next_slot(rule ostinato_data.recurrence, after timestamp with time zone, OUT local timestamp without time zone, OUT at timestamp with time zone) RETURNS record
    LANGUAGE plpgsql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.next_slot(rule ostinato_data.recurrence, after timestamp with time zone, OUT local timestamp without time zone, OUT at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.next_slots(rule ostinato_data.recurrence, n integer DEFAULT 5, after timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS TABLE(slot_local timestamp without time zone, slot_at timestamp with time zone, utc_offset text, note text)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.next_slots(rule ostinato_data.recurrence, n integer, after timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.next_tenant(after text) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.next_tenant(after text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.no_limit() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.no_limit() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.note_deaths(claim_ids bigint[]) RETURNS void
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.note_deaths(claim_ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.note_fault(part text, state text, message text, queue text DEFAULT NULL::text, job_id bigint DEFAULT NULL::bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.note_fault(part text, state text, message text, queue text, job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.note_readings(declared ostinato_data.alert, readings jsonb, at timestamp with time zone) RETURNS SETOF ostinato_data.alert_change
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.note_readings(declared ostinato_data.alert, readings jsonb, at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.note_starts(limits ostinato_data.queue, batch ostinato_data.batch, at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.note_starts(limits ostinato_data.queue, batch ostinato_data.batch, at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.note_subject(tenant_id text, subject text) RETURNS bytea
    LANGUAGE plpgsql STRICT
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.note_subject(tenant_id text, subject text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.note_subjects(tenant_ids text[], subjects text[], tenant_id text, subject text, count integer) RETURNS bytea[]
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.note_subjects(tenant_ids text[], subjects text[], tenant_id text, subject text, count integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.note_transition(machine text, entity text, relation oid, entity_id text, tenant_id text, from_state text, to_state text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.note_transition(machine text, entity text, relation oid, entity_id text, tenant_id text, from_state text, to_state text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.note_webhook_health(endpoint ostinato_data.webhook_endpoint, outcome text, at timestamp with time zone) RETURNS ostinato_data.webhook_endpoint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.note_webhook_health(endpoint ostinato_data.webhook_endpoint, outcome text, at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.noted_subjects() RETURNS bytea[]
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.noted_subjects() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.offset_text(at timestamp with time zone, zone text) RETURNS text
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.offset_text(at timestamp with time zone, zone text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.oldest_wait(queue text) RETURNS double precision
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.oldest_wait(queue text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.one_for_all(anyarray) RETURNS anyarray
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.one_for_all(anyarray) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.open_deliveries(job_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.open_deliveries(job_ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.open_kinds() RETURNS text[]
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.open_kinds() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.open_lanes(sub ostinato_data.subscription, lanes text[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.open_lanes(sub ostinato_data.subscription, lanes text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.others_die(job_id bigint) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.others_die(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.own_cancel_job(job_id bigint, reason text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.own_cancel_job(job_id bigint, reason text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.own_emit_events(types text[], payloads text[], ordering_keys text[], versions integer[], tenant_ids text[], correlation_ids text[], occurred_ats timestamp with time zone[], producers text[], as_of_now boolean, subjects text[]) RETURNS SETOF bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.own_emit_events(types text[], payloads text[], ordering_keys text[], versions integer[], tenant_ids text[], correlation_ids text[], occurred_ats timestamp with time zone[], producers text[], as_of_now boolean, subjects text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.own_enqueue_job(kind text, args json, queue text, priority integer, run_at timestamp with time zone, tenant_id text, correlation_id text, limit_key text, unique_key text, unique_policy text, unique_states text[], max_attempts integer, limit_scope text, subject text, traceparent text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.own_enqueue_job(kind text, args json, queue text, priority integer, run_at timestamp with time zone, tenant_id text, correlation_id text, limit_key text, unique_key text, unique_policy text, unique_states text[], max_attempts integer, limit_scope text, subject text, traceparent text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.own_enqueue_jobs(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], unique_keys text[], max_attempts integer[], limit_scopes text[], subjects text[], traceparent text) RETURNS SETOF bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.own_enqueue_jobs(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], unique_keys text[], max_attempts integer[], limit_scopes text[], subjects text[], traceparent text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.own_erase_subject(tenant_id text, subject text, preview boolean, keep_live boolean, most integer) RETURNS ostinato_data.erasure
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.own_erase_subject(tenant_id text, subject text, preview boolean, keep_live boolean, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.own_filter_tenant(asked text) RETURNS text
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.own_filter_tenant(asked text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.own_fire_slots(schedule_id bigint, ats timestamp with time zone[]) RETURNS bigint[]
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.own_fire_slots(schedule_id bigint, ats timestamp with time zone[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.own_found_actions(ids bigint[], correlation_id text, most integer) RETURNS SETOF bigint
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.own_found_actions(ids bigint[], correlation_id text, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.own_found_audit(by_actor text, of_verb text, of_target text, of_job bigint, since timestamp with time zone, before bigint, most integer) RETURNS SETOF bigint
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.own_found_audit(by_actor text, of_verb text, of_target text, of_job bigint, since timestamp with time zone, before bigint, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.own_found_jobs(in_state text, in_queue text, of_kind text, before bigint, most integer) RETURNS SETOF bigint
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.own_found_jobs(in_state text, in_queue text, of_kind text, before bigint, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.own_held_jobs(ids bigint[]) RETURNS SETOF ostinato_data.held_job
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.own_held_jobs(ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.own_label(declared ostinato_data.alert, label text) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.own_label(declared ostinato_data.alert, label text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.own_lanes() RETURNS TABLE(queue text, priority smallint, tenant_id text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.own_lanes() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.own_limits(job_id bigint) RETURNS SETOF ostinato_data.reached_limit
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.own_limits(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.own_move_job(job_id bigint, run_at timestamp with time zone) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.own_move_job(job_id bigint, run_at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.own_preview_bulk(verb text, state text, f ostinato_data.job_filter, OUT matching bigint, OUT capped boolean, OUT samples bigint[]) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.own_preview_bulk(verb text, state text, f ostinato_data.job_filter, OUT matching bigint, OUT capped boolean, OUT samples bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.own_redrive_jobs(queue text, kind text, tenant_id text, signature text, ids bigint[], most integer, preview boolean, OUT matching bigint, OUT redriven bigint, OUT conflicts bigint, OUT chosen bigint[]) RETURNS record
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.own_redrive_jobs(queue text, kind text, tenant_id text, signature text, ids bigint[], most integer, preview boolean, OUT matching bigint, OUT redriven bigint, OUT conflicts bigint, OUT chosen bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.own_restart_job(job_id bigint, from_step text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.own_restart_job(job_id bigint, from_step text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.own_retry_job(job_id bigint) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.own_retry_job(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.own_searched_jobs(in_state text, f ostinato_data.job_filter, edge bigint, most integer, OUT ids bigint[], OUT next bigint) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.own_searched_jobs(in_state text, f ostinato_data.job_filter, edge bigint, most integer, OUT ids bigint[], OUT next bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.own_start_bulk(verb text, state text, f ostinato_data.job_filter, canary boolean, reason text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.own_start_bulk(verb text, state text, f ostinato_data.job_filter, canary boolean, reason text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.own_stop_bulk(bulk_id bigint) RETURNS text
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.own_stop_bulk(bulk_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.own_tenant() RETURNS text
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.own_tenant() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.page_size(most integer, largest integer DEFAULT 1000) RETURNS integer
    LANGUAGE plpgsql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.page_size(most integer, largest integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.parse_cron(cron text) RETURNS ostinato_data.recurrence
    LANGUAGE plpgsql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.parse_cron(cron text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.parse_cron_field(cron text, field text, what text, low integer, high integer, names text[] DEFAULT '{}'::text[]) RETURNS smallint[]
    LANGUAGE plpgsql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.parse_cron_field(cron text, field text, what text, low integer, high integer, names text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.pick(anyarray, n bigint) RETURNS anyelement
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.pick(anyarray, n bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.place_at(place ostinato_data.place, "position" bigint) RETURNS SETOF ostinato_data.place
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.place_at(place ostinato_data.place, "position" bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.place_cap() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.place_cap() OWNER TO ostinato_owner;
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
CREATE FUNCTION ostinato_internal.place_in_line(line ostinato_data.ready) RETURNS ostinato_data.place
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.place_in_line(line ostinato_data.ready) OWNER TO ostinato_owner;
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
    correlation_id text COLLATE pg_catalog."C",
    unique_states text[],
    limit_scope text COLLATE pg_catalog."C",
    subject bytea,
    erased_at timestamp with time zone,
    parent_id bigint,
    group_id bigint,
    traceparent text COLLATE pg_catalog."C"
)
PARTITION BY RANGE (id);
ALTER TABLE ONLY ostinato_data.job FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.job OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.place_of(job ostinato_data.job, "position" bigint, attempt integer, failures integer, crashes integer) RETURNS ostinato_data.place
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.place_of(job ostinato_data.job, "position" bigint, attempt integer, failures integer, crashes integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.plain_number(value double precision) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.plain_number(value double precision) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.plan_fires(s ostinato_data.schedule, first_local timestamp without time zone, first_at timestamp with time zone, now timestamp with time zone, OUT locals timestamp without time zone[], OUT ats timestamp with time zone[], OUT missed integer, OUT next_local timestamp without time zone, OUT next_slot timestamp with time zone, OUT next_at timestamp with time zone) RETURNS record
    LANGUAGE plpgsql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.plan_fires(s ostinato_data.schedule, first_local timestamp without time zone, first_at timestamp with time zone, now timestamp with time zone, OUT locals timestamp without time zone[], OUT ats timestamp with time zone[], OUT missed integer, OUT next_local timestamp without time zone, OUT next_slot timestamp with time zone, OUT next_at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.poor_look_up() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.poor_look_up() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.portal_tenant(tenant_id text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.portal_tenant(tenant_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.position_at(at timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.position_at(at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.preview_bulk(verb text, state text, f ostinato_data.job_filter, OUT matching bigint, OUT capped boolean, OUT samples bigint[]) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.preview_bulk(verb text, state text, f ostinato_data.job_filter, OUT matching bigint, OUT capped boolean, OUT samples bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.preview_cap() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.preview_cap() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.prune_default(cutoff timestamp with time zone) RETURNS TABLE(action text, name text, reason text, rows bigint)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.prune_default(cutoff timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.prune_leftovers(cutoff timestamp with time zone) RETURNS TABLE(action text, name text, reason text, rows bigint)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.prune_leftovers(cutoff timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.prune_passes() RETURNS bigint
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.prune_passes() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.prune_schedules(cutoff timestamp with time zone) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.prune_schedules(cutoff timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.public_filter(f ostinato_data.job_filter) RETURNS json
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.public_filter(f ostinato_data.job_filter) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.put_behind(job_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.put_behind(job_ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.queue_allowance(limits ostinato_data.queue, wanted integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.queue_allowance(limits ostinato_data.queue, wanted integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.queue_running(queue text) RETURNS integer
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.queue_running(queue text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.raise_low(sub ostinato_data.subscription) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.raise_low(sub ostinato_data.subscription) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.rate_frees_at(queue text, limit_key text, most integer, seconds double precision) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.rate_frees_at(queue text, limit_key text, most integer, seconds double precision) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.reached_limits(job_id bigint) RETURNS SETOF ostinato_data.reached_limit
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.reached_limits(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.read_schedules(schedules json, now timestamp with time zone) RETURNS ostinato_data.schedule[]
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.read_schedules(schedules json, now timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.ready_cap() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.ready_cap() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.ready_keys(queue text, after text) RETURNS SETOF text
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.ready_keys(queue text, after text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.ready_lanes(queue text, after_priority integer DEFAULT '-32768'::integer, after_tenant text DEFAULT ''::text, most integer DEFAULT NULL::integer) RETURNS TABLE(priority smallint, tenant_id text, first bigint)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.ready_lanes(queue text, after_priority integer, after_tenant text, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.ready_lines() RETURNS TABLE(queue text, n bigint, oldest double precision)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.ready_lines() OWNER TO ostinato_owner;
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
    CONSTRAINT scheduled_reason_check CHECK ((reason = ANY (ARRAY['later'::text, 'retry'::text, 'snooze'::text, 'sleep'::text, 'event'::text, 'behind'::text, 'no_worker'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='20000', autovacuum_vacuum_cost_delay='0');
ALTER TABLE ONLY ostinato_data.scheduled FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.scheduled OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.ready_row(scheduled ostinato_data.scheduled, "position" bigint) RETURNS SETOF ostinato_data.place
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.ready_row(scheduled ostinato_data.scheduled, "position" bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.ready_since(job_id bigint) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.ready_since(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.real_clock() RETURNS timestamp with time zone
    LANGUAGE sql PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.real_clock() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.real_time(at timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.real_time(at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.recent_starts(queue text, limit_key text, seconds double precision) RETURNS integer
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.recent_starts(queue text, limit_key text, seconds double precision) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.record(verb text, noun text, target text DEFAULT NULL::text, tenant_id text DEFAULT NULL::text, job_ids bigint[] DEFAULT NULL::bigint[], count bigint DEFAULT 1, filter json DEFAULT NULL::json, detail json DEFAULT NULL::json, why text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.record(verb text, noun text, target text, tenant_id text, job_ids bigint[], count bigint, filter json, detail json, why text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.record_bulk(bulk_id bigint, job_ids bigint[]) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.record_bulk(bulk_id bigint, job_ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.redrive_jobs(queue text, kind text, tenant_id text, signature text, ids bigint[], most integer, preview boolean, OUT matching bigint, OUT redriven bigint, OUT conflicts bigint, OUT chosen bigint[]) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.redrive_jobs(queue text, kind text, tenant_id text, signature text, ids bigint[], most integer, preview boolean, OUT matching bigint, OUT redriven bigint, OUT conflicts bigint, OUT chosen bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.redriven_jobs(ids bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.redriven_jobs(ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.refusal_cap() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.refusal_cap() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.refusal_of(verb text, job_id bigint) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.refusal_of(verb text, job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.refuse_behind(job_id bigint) RETURNS void
    LANGUAGE plpgsql
    AS …;
ALTER FUNCTION ostinato_internal.refuse_behind(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.refuse_event(type text, field text, value text) RETURNS void
    LANGUAGE plpgsql
    AS …;
ALTER FUNCTION ostinato_internal.refuse_event(type text, field text, value text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.refuse_hash() RETURNS void
    LANGUAGE plpgsql
    AS …;
ALTER FUNCTION ostinato_internal.refuse_hash() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.refuse_header_values() RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.refuse_header_values() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.refuse_held(held ostinato_data.lease, hint text) RETURNS void
    LANGUAGE plpgsql
    AS …;
ALTER FUNCTION ostinato_internal.refuse_held(held ostinato_data.lease, hint text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.refuse_key(tenant_id text, scope text, key text, token bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.refuse_key(tenant_id text, scope text, key text, token bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.refuse_large_step(name text, result text) RETURNS void
    LANGUAGE plpgsql
    AS …;
ALTER FUNCTION ostinato_internal.refuse_large_step(name text, result text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.refuse_lease(tenant_id text, name text, token bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.refuse_lease(tenant_id text, name text, token bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.refuse_moved(job_id bigint) RETURNS text
    LANGUAGE plpgsql
    AS …;
ALTER FUNCTION ostinato_internal.refuse_moved(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.refuse_overlooked(job_id bigint) RETURNS text
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.refuse_overlooked(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.refuse_real_clock() RETURNS void
    LANGUAGE plpgsql
    AS …;
ALTER FUNCTION ostinato_internal.refuse_real_clock() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.refuse_row() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.refuse_row() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.refuse_stale(job_id bigint, attempt integer) RETURNS void
    LANGUAGE plpgsql
    AS …;
ALTER FUNCTION ostinato_internal.refuse_stale(job_id bigint, attempt integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.refuse_unknown(job_id bigint) RETURNS void
    LANGUAGE plpgsql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.refuse_unknown(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.refuse_unknown_bulk(bulk_id bigint) RETURNS void
    LANGUAGE plpgsql
    AS …;
ALTER FUNCTION ostinato_internal.refuse_unknown_bulk(bulk_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.rehold_unique_key(job_id bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.rehold_unique_key(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.rejoin_lanes(job_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.rejoin_lanes(job_ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.relation_of(entity text) RETURNS oid
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.relation_of(entity text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.release_followers(claim_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.release_followers(claim_ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.release_held_webhooks(endpoint_id bigint, most integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.release_held_webhooks(endpoint_id bigint, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.rescue_apart(claim_ids bigint[], max_crashes integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.rescue_apart(claim_ids bigint[], max_crashes integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.rescue_claims(claim_ids bigint[], max_crashes integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.rescue_claims(claim_ids bigint[], max_crashes integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.resolve_firing(firing ostinato_data.alert_firing, at timestamp with time zone, value double precision, details json) RETURNS SETOF ostinato_data.alert_change
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.resolve_firing(firing ostinato_data.alert_firing, at timestamp with time zone, value double precision, details json) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.resolve_waits(event_ids bigint[]) RETURNS SETOF text
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.resolve_waits(event_ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.rest_of(batch ostinato_data.batch, claims bigint[]) RETURNS ostinato_data.batch
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.rest_of(batch ostinato_data.batch, claims bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.restart_job(job_id bigint, from_step text) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.restart_job(job_id bigint, from_step text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.retime_schedules(ids bigint[], after timestamp with time zone) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.retime_schedules(ids bigint[], after timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.retried_jobs(ids bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.retried_jobs(ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.retry_job(job_id bigint) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.retry_job(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.ring_ends(job_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.ring_ends(job_ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.rule_condition(rule json, row_name text, state_column text) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.rule_condition(rule json, row_name text, state_column text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.rule_text(s ostinato_data.schedule) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.rule_text(s ostinato_data.schedule) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.running_keys(queue text) RETURNS TABLE(limit_key text, job_id bigint)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.running_keys(queue text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.say_count(n bigint) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.say_count(n bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.say_some(names text[]) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.say_some(names text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.say_span(span interval) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.say_span(span interval) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.say_time(at timestamp with time zone) RETURNS text
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.say_time(at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.scheduled_row(place ostinato_data.place, run_at timestamp with time zone, reason text) RETURNS SETOF ostinato_data.waiting_place
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.scheduled_row(place ostinato_data.place, run_at timestamp with time zone, reason text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.seal(tenant_id text, scope text, key text, value text) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.seal(tenant_id text, scope text, key text, value text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.sealed_request(tenant_id text, scope text, key text, fingerprint text, fields json, declaration text, holder text, lease_seconds double precision, ttl_seconds double precision) RETURNS ostinato_data.idempotency
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.sealed_request(tenant_id text, scope text, key text, fingerprint text, fields json, declaration text, holder text, lease_seconds double precision, ttl_seconds double precision) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.search_bytes() RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.search_bytes() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.search_cap() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.search_cap() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.search_jobs(in_state text, f ostinato_data.job_filter, edge bigint, most integer, oldest boolean DEFAULT false, below bigint DEFAULT NULL::bigint, OUT ids bigint[], OUT next bigint) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.search_jobs(in_state text, f ostinato_data.job_filter, edge bigint, most integer, oldest boolean, below bigint, OUT ids bigint[], OUT next bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.search_window(in_state text, f ostinato_data.job_filter, edge bigint, most integer, oldest boolean) RETURNS SETOF bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.search_window(in_state text, f ostinato_data.job_filter, edge bigint, most integer, oldest boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.seen_series(step integer, since timestamp with time zone, until timestamp with time zone, for_queue text, for_kind text, for_tenant text) RETURNS TABLE(at timestamp with time zone, queue text, kind text, first bigint, done bigint, failed bigint, dead bigint, run_seconds double precision, latency bigint[])
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.seen_series(step integer, since timestamp with time zone, until timestamp with time zone, for_queue text, for_kind text, for_tenant text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.sees_all() RETURNS boolean
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.sees_all() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.served_lanes(tenants text[], gave text[], positions bigint[], share integer, full_batch boolean) RETURNS ostinato_data.lanes
    LANGUAGE plpgsql IMMUTABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_nestloop TO 'off'
    SET enable_hashjoin TO 'on'
    AS …;
ALTER FUNCTION ostinato_internal.served_lanes(tenants text[], gave text[], positions bigint[], share integer, full_batch boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.session_line(session ostinato_data.session) RETURNS ostinato_data.session_line
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.session_line(session ostinato_data.session) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.set_aside_claim(claim_id bigint) RETURNS SETOF bigint
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.set_aside_claim(claim_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.set_aside_next(worker_id uuid, queue text, most integer DEFAULT 1000) RETURNS SETOF bigint
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.set_aside_next(worker_id uuid, queue text, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.set_aside_waiting(queue text, job_ids bigint[]) RETURNS SETOF bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.set_aside_waiting(queue text, job_ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.settle(claim_ids bigint[], job_ids bigint[], attempts integer[]) RETURNS TABLE(n bigint, job_id bigint, attempt integer, failures smallint, crashes smallint, "position" bigint, worker_id uuid, keyed boolean, claim_id bigint, limit_keys text[])
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_nestloop TO 'off'
    SET enable_hashjoin TO 'on'
    AS …;
ALTER FUNCTION ostinato_internal.settle(claim_ids bigint[], job_ids bigint[], attempts integer[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.settle_cancels(most integer DEFAULT 100) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.settle_cancels(most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.settle_groups(job_ids bigint[] DEFAULT NULL::bigint[], most integer DEFAULT 200) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_nestloop TO 'on'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.settle_groups(job_ids bigint[], most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.share_claims(claim_ids bigint[], job_ids bigint[], attempts integer[]) RETURNS TABLE(n bigint)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.share_claims(claim_ids bigint[], job_ids bigint[], attempts integer[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.shelf_batch() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.shelf_batch() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.shelf_kinds() RETURNS TABLE(queue text, kind text)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.shelf_kinds() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.shelf_lanes(queue text) RETURNS TABLE(priority smallint, tenant_id text)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.shelf_lanes(queue text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.shelf_least() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.shelf_least() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.shelf_sample() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.shelf_sample() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.shelve_jobs(queue text, kinds text[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.shelve_jobs(queue text, kinds text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.short_json(value json, longest integer) RETURNS json
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.short_json(value json, longest integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.silenced_until(alert text, label text, at timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.silenced_until(alert text, label text, at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.slot_holders(queue text, slot_key text, few integer DEFAULT 10, OUT who text, OUT holders json) RETURNS record
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.slot_holders(queue text, slot_key text, few integer, OUT who text, OUT holders json) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.slot_key(tenant_id text, limit_key text, limit_scope text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.slot_key(tenant_id text, limit_key text, limit_scope text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.slot_note(local timestamp without time zone, at timestamp with time zone, zone text) RETURNS text
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.slot_note(local timestamp without time zone, at timestamp with time zone, zone text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.small_claim() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.small_claim() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.start_bulk(verb text, state text, f ostinato_data.job_filter, canary boolean, reason text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.start_bulk(verb text, state text, f ostinato_data.job_filter, canary boolean, reason text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.start_next_webhook(endpoint_id bigint, ordering_key text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.start_next_webhook(endpoint_id bigint, ordering_key text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.start_webhook_jobs(ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.start_webhook_jobs(ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.startable_webhooks(ids bigint[]) RETURNS SETOF bigint
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.startable_webhooks(ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.step_position(job_id bigint, step text) RETURNS integer
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.step_position(job_id bigint, step text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.stop_bulk(bulk_id bigint, of_tenant text) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.stop_bulk(bulk_id bigint, of_tenant text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.stop_upkeep() RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.stop_upkeep() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.stored_filter(f ostinato_data.job_filter) RETURNS json
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.stored_filter(f ostinato_data.job_filter) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.subject_hash(tenant_id text, subject text) RETURNS bytea
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.subject_hash(tenant_id text, subject text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.subject_token(hash bytea) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.subject_token(hash bytea) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.sum_counts(counts bigint[]) RETURNS bigint[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.sum_counts(counts bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.suspect_crashes() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.suspect_crashes() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.take_all(queue text, wanted integer, kinds text[]) RETURNS ostinato_data.batch
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.take_all(queue text, wanted integer, kinds text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.take_events(job_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.take_events(job_ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.take_followers(queue text, limits ostinato_data.queue, wanted integer, INOUT batch ostinato_data.batch, OUT behind bigint[]) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.take_followers(queue text, limits ostinato_data.queue, wanted integer, INOUT batch ostinato_data.batch, OUT behind bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.take_key(held ostinato_data.idempotency, asked ostinato_data.idempotency) RETURNS ostinato_data.idempotency
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.take_key(held ostinato_data.idempotency, asked ostinato_data.idempotency) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.take_lanes(queue text, wanted integer, kinds text[], cursor text, suspects boolean, limited boolean) RETURNS ostinato_data.batch
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.take_lanes(queue text, wanted integer, kinds text[], cursor text, suspects boolean, limited boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.take_lease(asked ostinato_data.lease) RETURNS ostinato_data.lease
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.take_lease(asked ostinato_data.lease) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.take_limited(limits ostinato_data.queue, wanted integer, kinds text[], suspects boolean) RETURNS ostinato_data.batch
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_hashjoin TO 'on'
    AS …;
ALTER FUNCTION ostinato_internal.take_limited(limits ostinato_data.queue, wanted integer, kinds text[], suspects boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.take_suspect(queue text, kinds text[], batch ostinato_data.batch) RETURNS ostinato_data.batch
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.take_suspect(queue text, kinds text[], batch ostinato_data.batch) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.take_turns(queue text, wanted integer, kinds text[], INOUT batch ostinato_data.batch, INOUT lanes ostinato_data.lanes, last integer) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.take_turns(queue text, wanted integer, kinds text[], INOUT batch ostinato_data.batch, INOUT lanes ostinato_data.lanes, last integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.take_waiting(job_ids bigint[]) RETURNS TABLE(job_id bigint, attempt integer, failures smallint, crashes smallint)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.take_waiting(job_ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.tell_owed(name text, at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.tell_owed(name text, at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.tenant_filter(asked text) RETURNS text
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.tenant_filter(asked text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.tick() RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.tick() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.tidy_shelf(worker_id uuid, queues text[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.tidy_shelf(worker_id uuid, queues text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.trail_jobs(correlation_id text, tenant_id text, most integer) RETURNS SETOF bigint
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.trail_jobs(correlation_id text, tenant_id text, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.trail_of_actions(ids bigint[], correlation_id text, most integer) RETURNS SETOF ostinato_data.trail_line
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.trail_of_actions(ids bigint[], correlation_id text, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.trail_of_events(ids bigint[]) RETURNS SETOF ostinato_data.trail_line
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.trail_of_events(ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.trail_of_fires(correlation_id text) RETURNS SETOF ostinato_data.trail_line
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.trail_of_fires(correlation_id text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.trail_of_jobs(ids bigint[]) RETURNS SETOF ostinato_data.trail_line
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.trail_of_jobs(ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.trail_of_leases(ids bigint[]) RETURNS SETOF ostinato_data.trail_line
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.trail_of_leases(ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.trail_of_runs(ids bigint[]) RETURNS SETOF ostinato_data.trail_line
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.trail_of_runs(ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.trail_of_steps(ids bigint[]) RETURNS SETOF ostinato_data.trail_line
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.trail_of_steps(ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.trail_of_transitions(correlation_id text, most integer) RETURNS SETOF ostinato_data.trail_line
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.trail_of_transitions(correlation_id text, most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.trail_of_webhooks(ids bigint[]) RETURNS SETOF ostinato_data.trail_line
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.trail_of_webhooks(ids bigint[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.transition_text(target ostinato_data.machine_table, changes json, is_one_state boolean, whose text) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.transition_text(target ostinato_data.machine_table, changes json, is_one_state boolean, whose text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.unrun_lanes(queue text, kinds text[]) RETURNS TABLE(priority smallint, tenant_id text, unrun text[])
    LANGUAGE sql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_hashjoin TO 'on'
    AS …;
ALTER FUNCTION ostinato_internal.unrun_lanes(queue text, kinds text[]) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.unshelve_jobs(worker_id uuid) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.unshelve_jobs(worker_id uuid) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.upkeep_events(cutoff timestamp with time zone, weeks_ahead integer DEFAULT 4) RETURNS TABLE(action text, name text, reason text, rows bigint)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.upkeep_events(cutoff timestamp with time zone, weeks_ahead integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.upkeep_log(parent text, id text, cutoff timestamp with time zone, keep_from bigint DEFAULT NULL::bigint, weeks_ahead integer DEFAULT 4) RETURNS TABLE(action text, name text, reason text, rows bigint)
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.upkeep_log(parent text, id text, cutoff timestamp with time zone, keep_from bigint, weeks_ahead integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.uri_of(text text) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.uri_of(text text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.usual_expiry() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.usual_expiry() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.utc_offset(at timestamp with time zone, zone text) RETURNS interval
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.utc_offset(at timestamp with time zone, zone text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.wait_name(event text, key text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.wait_name(event text, key text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.waited(job_id bigint) RETURNS double precision
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.waited(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.waiting_lanes(for_queue text, for_tenant text) RETURNS TABLE(queue text, priority smallint, tenant_id text)
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.waiting_lanes(for_queue text, for_tenant text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.waiting_queues() RETURNS SETOF text
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.waiting_queues() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.wake_jobs(most integer DEFAULT 5000) RETURNS SETOF text
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.wake_jobs(most integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.wants_event(wanted text[], event_type text) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.wants_event(wanted text[], event_type text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.was_last(job_id bigint, attempt integer, state text DEFAULT 'cancelled'::text) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.was_last(job_id bigint, attempt integer, state text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.watch_canary(b ostinato_data.bulk) RETURNS ostinato_data.bulk
    LANGUAGE plpgsql
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.watch_canary(b ostinato_data.bulk) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.webhook_headers(endpoint ostinato_data.webhook_endpoint) RETURNS json
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.webhook_headers(endpoint ostinato_data.webhook_endpoint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.webhook_retry() RETURNS json
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.webhook_retry() OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.webhook_secrets(endpoint_id bigint) RETURNS text[]
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.webhook_secrets(endpoint_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.week_id(week integer) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.week_id(week integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.week_name(parent text, week integer) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.week_name(parent text, week integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.why_behind(job_id bigint) RETURNS SETOF ostinato_data.reason
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.why_behind(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.why_blocked(queue text, kind text) RETURNS SETOF ostinato_data.reason
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.why_blocked(queue text, kind text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.why_cancelling(job_id bigint) RETURNS SETOF ostinato_data.reason
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.why_cancelling(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.why_claims_fail(queue text) RETURNS SETOF ostinato_data.reason
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.why_claims_fail(queue text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.why_deferred(job_id bigint) RETURNS SETOF ostinato_data.reason
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.why_deferred(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.why_ended(job_id bigint) RETURNS SETOF ostinato_data.reason
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.why_ended(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.why_erased(job_id bigint) RETURNS SETOF ostinato_data.reason
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.why_erased(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.why_joining(job_id bigint) RETURNS SETOF ostinato_data.reason
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.why_joining(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.why_limited(job_id bigint) RETURNS SETOF ostinato_data.reason
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.why_limited(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.why_loop_blocked(worker_id uuid) RETURNS SETOF ostinato_data.reason
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.why_loop_blocked(worker_id uuid) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.why_quarantined(job_id bigint) RETURNS SETOF ostinato_data.reason
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.why_quarantined(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.why_ready(job_id bigint) RETURNS SETOF ostinato_data.reason
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.why_ready(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.why_running(job_id bigint) RETURNS SETOF ostinato_data.reason
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.why_running(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.why_scheduled(job_id bigint) RETURNS SETOF ostinato_data.reason
    LANGUAGE plpgsql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.why_scheduled(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.why_shelved(job_id bigint) RETURNS SETOF ostinato_data.reason
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.why_shelved(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.why_silent(worker_id uuid, worker text, beat_at timestamp with time zone, lease_until timestamp with time zone) RETURNS SETOF ostinato_data.reason
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.why_silent(worker_id uuid, worker text, beat_at timestamp with time zone, lease_until timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.why_suspect(place ostinato_data.ready) RETURNS SETOF ostinato_data.reason
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.why_suspect(place ostinato_data.ready) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.why_turn(place ostinato_data.ready, blocked boolean) RETURNS SETOF ostinato_data.reason
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS …;
ALTER FUNCTION ostinato_internal.why_turn(place ostinato_data.ready, blocked boolean) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.why_unique(job_id bigint, few integer DEFAULT 10) RETURNS SETOF ostinato_data.reason
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.why_unique(job_id bigint, few integer) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.why_waiting(job_id bigint) RETURNS SETOF ostinato_data.reason
    LANGUAGE sql STABLE
    SET search_path TO 'ostinato_data', 'pg_catalog', 'pg_temp'
    AS …;
ALTER FUNCTION ostinato_internal.why_waiting(job_id bigint) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.with_slot(s ostinato_data.schedule, slot_local timestamp without time zone, slot_at timestamp with time zone) RETURNS text
    LANGUAGE sql STABLE
    AS …;
ALTER FUNCTION ostinato_internal.with_slot(s ostinato_data.schedule, slot_local timestamp without time zone, slot_at timestamp with time zone) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.worse(one double precision, other double precision, comparison text) RETURNS double precision
    LANGUAGE sql IMMUTABLE
    AS …;
ALTER FUNCTION ostinato_internal.worse(one double precision, other double precision, comparison text) OWNER TO ostinato_owner;
CREATE FUNCTION ostinato_internal.year_seconds() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS …;
ALTER FUNCTION ostinato_internal.year_seconds() OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.event_log (
    event_id bigint NOT NULL,
    "position" bigint NOT NULL,
    sequenced_at timestamp with time zone NOT NULL,
    type text NOT NULL COLLATE pg_catalog."C",
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    ordering_key text COLLATE pg_catalog."C"
)
PARTITION BY RANGE (event_id);
ALTER TABLE ONLY ostinato_data.event_log FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.event_log OWNER TO ostinato_owner;
CREATE VIEW ostinato.events_outbox WITH (security_invoker='true') AS
 SELECT e.id,
    l."position",
    e.type,
    e.version,
    e.tenant_id,
    e.correlation_id,
    e.occurred_at,
    e.producer,
    e.ordering_key,
    e.payload,
    e.emitted_at,
    l.sequenced_at
   FROM (ostinato_data.event e
     LEFT JOIN ostinato_data.event_log l ON ((l.event_id = e.id)));
ALTER VIEW ostinato.events_outbox OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.alert_silence (
    id bigint NOT NULL,
    alert text NOT NULL COLLATE pg_catalog."C",
    label text COLLATE pg_catalog."C",
    until timestamp with time zone NOT NULL,
    reason text NOT NULL,
    silenced_by text NOT NULL,
    silenced_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY ostinato_data.alert_silence FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.alert_silence OWNER TO ostinato_owner;
ALTER TABLE ostinato_data.api_key ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME ostinato_data.api_key_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE ostinato_data.archive (
    name text NOT NULL COLLATE pg_catalog."C",
    archived_at timestamp with time zone,
    rows bigint,
    bytes bigint,
    first bigint,
    last bigint,
    file text,
    place text,
    sha256 text
);
ALTER TABLE ONLY ostinato_data.archive FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.archive OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.archive_late (
    id bigint NOT NULL,
    source text NOT NULL COLLATE pg_catalog."C",
    line text NOT NULL
);
ALTER TABLE ONLY ostinato_data.archive_late FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.archive_late OWNER TO ostinato_owner;
ALTER TABLE ostinato_data.archive_late ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME ostinato_data.archive_late_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE ostinato_data.archive_rule (
    one boolean DEFAULT true NOT NULL,
    place text NOT NULL,
    since timestamp with time zone NOT NULL,
    CONSTRAINT archive_rule_one_check CHECK (one)
);
ALTER TABLE ONLY ostinato_data.archive_rule FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.archive_rule OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.audit_entry (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    count bigint NOT NULL,
    key_id bigint,
    tenant_id text COLLATE pg_catalog."C",
    verb text NOT NULL COLLATE pg_catalog."C",
    noun text NOT NULL COLLATE pg_catalog."C",
    target text COLLATE pg_catalog."C",
    actor text NOT NULL COLLATE pg_catalog."C",
    actor_type text NOT NULL COLLATE pg_catalog."C",
    login text NOT NULL,
    program text NOT NULL,
    correlation_id text COLLATE pg_catalog."C",
    reason text,
    job_ids bigint[],
    filter json,
    detail json,
    CONSTRAINT audit_entry_actor_type_check CHECK ((actor_type = ANY (ARRAY['user'::text, 'operator'::text, 'login'::text])))
)
PARTITION BY RANGE (id);
ALTER TABLE ONLY ostinato_data.audit_entry FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.audit_entry OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.audit_entry_default (
    id bigint CONSTRAINT audit_entry_id_not_null NOT NULL,
    at timestamp with time zone CONSTRAINT audit_entry_at_not_null NOT NULL,
    count bigint CONSTRAINT audit_entry_count_not_null NOT NULL,
    key_id bigint,
    tenant_id text COLLATE pg_catalog."C",
    verb text CONSTRAINT audit_entry_verb_not_null NOT NULL COLLATE pg_catalog."C",
    noun text CONSTRAINT audit_entry_noun_not_null NOT NULL COLLATE pg_catalog."C",
    target text COLLATE pg_catalog."C",
    actor text CONSTRAINT audit_entry_actor_not_null NOT NULL COLLATE pg_catalog."C",
    actor_type text CONSTRAINT audit_entry_actor_type_not_null NOT NULL COLLATE pg_catalog."C",
    login text CONSTRAINT audit_entry_login_not_null NOT NULL,
    program text CONSTRAINT audit_entry_program_not_null NOT NULL,
    correlation_id text COLLATE pg_catalog."C",
    reason text,
    job_ids bigint[],
    filter json,
    detail json,
    CONSTRAINT audit_entry_actor_type_check CHECK ((actor_type = ANY (ARRAY['user'::text, 'operator'::text, 'login'::text])))
);
ALTER TABLE ONLY ostinato_data.audit_entry_default FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.audit_entry_default OWNER TO ostinato_owner;
CREATE SEQUENCE ostinato_data.audit_id_seq
    START WITH 1
    INCREMENT BY 1
    MINVALUE 0
    MAXVALUE 9999999999
    CACHE 1
    CYCLE;
ALTER SEQUENCE ostinato_data.audit_id_seq OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.backup (
    label text NOT NULL COLLATE pg_catalog."C",
    repository text NOT NULL,
    taken_at timestamp with time zone NOT NULL,
    bytes bigint NOT NULL,
    timeline integer,
    verified_at timestamp with time zone
);
ALTER TABLE ONLY ostinato_data.backup FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.backup OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.bulk_refusal (
    bulk_id bigint NOT NULL,
    job_id bigint NOT NULL,
    tenant_id text COLLATE pg_catalog."C",
    reason text NOT NULL
);
ALTER TABLE ONLY ostinato_data.bulk_refusal FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.bulk_refusal OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.cancel_request (
    job_id bigint NOT NULL,
    requested_at timestamp with time zone NOT NULL,
    reason text NOT NULL
);
ALTER TABLE ONLY ostinato_data.cancel_request FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.cancel_request OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.child_tick (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    group_id bigint NOT NULL,
    failed_id bigint,
    done integer DEFAULT 0 NOT NULL,
    failed integer DEFAULT 0 NOT NULL,
    cancelled integer DEFAULT 0 NOT NULL,
    cancel boolean DEFAULT false NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000', autovacuum_vacuum_cost_delay='0');
ALTER TABLE ONLY ostinato_data.child_tick FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.child_tick OWNER TO ostinato_owner;
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
    limit_keys text[] COLLATE pg_catalog."C",
    job_id bigint,
    split_from bigint,
    waiting integer DEFAULT 0 NOT NULL,
    alone boolean DEFAULT false NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000', autovacuum_vacuum_cost_delay='0');
ALTER TABLE ONLY ostinato_data.claim FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.claim OWNER TO ostinato_owner;
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
CREATE TABLE ostinato_data.death (
    worker_id uuid NOT NULL,
    died_at timestamp with time zone NOT NULL,
    begun bigint[] NOT NULL,
    alone boolean NOT NULL
);
ALTER TABLE ONLY ostinato_data.death FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.death OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.deferral (
    job_id bigint NOT NULL,
    attempt integer NOT NULL,
    times integer NOT NULL,
    first_at timestamp with time zone NOT NULL,
    last_at timestamp with time zone NOT NULL,
    error json NOT NULL
)
WITH (fillfactor='70');
ALTER TABLE ONLY ostinato_data.deferral FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.deferral OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.delivery (
    job_id bigint NOT NULL,
    "position" bigint CONSTRAINT delivery_position_not_null1 NOT NULL,
    open boolean NOT NULL,
    subscription text CONSTRAINT delivery_subscription_not_null1 NOT NULL COLLATE pg_catalog."C",
    lane text COLLATE pg_catalog."C"
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='20000', autovacuum_vacuum_cost_delay='0');
ALTER TABLE ONLY ostinato_data.delivery FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.delivery OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.doorbell (
    queue text NOT NULL COLLATE pg_catalog."C",
    rung_at timestamp with time zone NOT NULL
)
WITH (fillfactor='20');
ALTER TABLE ONLY ostinato_data.doorbell FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.doorbell OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.event_default (
    id bigint CONSTRAINT event_id_not_null NOT NULL,
    occurred_at timestamp with time zone CONSTRAINT event_occurred_at_not_null NOT NULL,
    emitted_at timestamp with time zone CONSTRAINT event_emitted_at_not_null NOT NULL,
    version integer CONSTRAINT event_version_not_null NOT NULL,
    type text CONSTRAINT event_type_not_null NOT NULL COLLATE pg_catalog."C",
    tenant_id text CONSTRAINT event_tenant_id_not_null NOT NULL COLLATE pg_catalog."C",
    correlation_id text CONSTRAINT event_correlation_id_not_null NOT NULL COLLATE pg_catalog."C",
    producer text CONSTRAINT event_producer_not_null NOT NULL COLLATE pg_catalog."C",
    ordering_key text COLLATE pg_catalog."C",
    payload json CONSTRAINT event_payload_not_null NOT NULL,
    subject bytea,
    erased_at timestamp with time zone
);
ALTER TABLE ONLY ostinato_data.event_default FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.event_default OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.event_log_default (
    event_id bigint CONSTRAINT event_log_event_id_not_null NOT NULL,
    "position" bigint CONSTRAINT event_log_position_not_null NOT NULL,
    sequenced_at timestamp with time zone CONSTRAINT event_log_sequenced_at_not_null NOT NULL,
    type text CONSTRAINT event_log_type_not_null NOT NULL COLLATE pg_catalog."C",
    tenant_id text CONSTRAINT event_log_tenant_id_not_null NOT NULL COLLATE pg_catalog."C",
    ordering_key text COLLATE pg_catalog."C"
);
ALTER TABLE ONLY ostinato_data.event_log_default FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.event_log_default OWNER TO ostinato_owner;
CREATE SEQUENCE ostinato_data.event_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE ostinato_data.event_seq OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.event_sequencer (
    only_row boolean DEFAULT true NOT NULL,
    "position" bigint NOT NULL,
    safe_seq bigint NOT NULL,
    pending_seq bigint NOT NULL,
    pending_xid xid8 NOT NULL,
    CONSTRAINT event_sequencer_only_row_check CHECK (only_row)
)
WITH (fillfactor='20');
ALTER TABLE ONLY ostinato_data.event_sequencer FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.event_sequencer OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.event_type (
    name text NOT NULL COLLATE pg_catalog."C",
    version integer NOT NULL,
    payload_schema json,
    registered_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY ostinato_data.event_type FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.event_type OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.event_unsequenced (
    seq bigint NOT NULL,
    event_id bigint NOT NULL,
    type text NOT NULL COLLATE pg_catalog."C",
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    ordering_key text COLLATE pg_catalog."C"
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='20000', autovacuum_vacuum_cost_delay='0');
ALTER TABLE ONLY ostinato_data.event_unsequenced FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.event_unsequenced OWNER TO ostinato_owner;
CREATE SEQUENCE ostinato_data.idempotency_token_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE ostinato_data.idempotency_token_seq OWNER TO ostinato_owner;
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
    correlation_id text COLLATE pg_catalog."C",
    unique_states text[],
    limit_scope text COLLATE pg_catalog."C",
    subject bytea,
    erased_at timestamp with time zone,
    parent_id bigint,
    group_id bigint,
    traceparent text COLLATE pg_catalog."C"
);
ALTER TABLE ONLY ostinato_data.job_default FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.job_default OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.job_group (
    id bigint NOT NULL,
    parent_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    failed_id bigint,
    walked_to bigint,
    "position" integer,
    join_step integer,
    total integer DEFAULT 0 NOT NULL,
    done integer DEFAULT 0 NOT NULL,
    failed integer DEFAULT 0 NOT NULL,
    cancelled integer DEFAULT 0 NOT NULL,
    state text DEFAULT 'open'::text NOT NULL COLLATE pg_catalog."C",
    on_failure text COLLATE pg_catalog."C",
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT job_group_on_failure_check CHECK ((on_failure = ANY (ARRAY['fail'::text, 'collect'::text, 'ignore'::text]))),
    CONSTRAINT job_group_state_check CHECK ((state = ANY (ARRAY['open'::text, 'cancelling'::text, 'closed'::text])))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');
ALTER TABLE ONLY ostinato_data.job_group FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.job_group OWNER TO ostinato_owner;
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
CREATE TABLE ostinato_data.job_wait (
    job_id bigint NOT NULL,
    registered_at timestamp with time zone NOT NULL,
    deadline timestamp with time zone,
    "position" integer NOT NULL,
    attempt integer NOT NULL,
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    event text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C"
);
ALTER TABLE ONLY ostinato_data.job_wait FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.job_wait OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.job_wake (
    job_id bigint NOT NULL
);
ALTER TABLE ONLY ostinato_data.job_wake FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.job_wake OWNER TO ostinato_owner;
CREATE UNLOGGED TABLE ostinato_data.job_watch (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    job_id bigint NOT NULL,
    until timestamp with time zone NOT NULL
);
ALTER TABLE ONLY ostinato_data.job_watch FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.job_watch OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.kind (
    name text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    priority smallint NOT NULL,
    timeout_seconds double precision,
    retry json NOT NULL,
    args_schema json,
    registered_at timestamp with time zone NOT NULL,
    open boolean,
    secret_args text[] DEFAULT '{}'::text[] NOT NULL
);
ALTER TABLE ONLY ostinato_data.kind FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.kind OWNER TO ostinato_owner;
CREATE SEQUENCE ostinato_data.lease_token_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE ostinato_data.lease_token_seq OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.machine (
    name text NOT NULL COLLATE pg_catalog."C",
    initial text NOT NULL COLLATE pg_catalog."C",
    states text[] NOT NULL COLLATE pg_catalog."C",
    definition json NOT NULL,
    installed_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY ostinato_data.machine FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.machine OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.machine_transition (
    machine text NOT NULL COLLATE pg_catalog."C",
    event text NOT NULL COLLATE pg_catalog."C",
    from_state text NOT NULL COLLATE pg_catalog."C",
    to_state text NOT NULL COLLATE pg_catalog."C",
    guard text NOT NULL
);
ALTER TABLE ONLY ostinato_data.machine_transition FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.machine_transition OWNER TO ostinato_owner;
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
CREATE TABLE ostinato_data.schedule_due (
    schedule_id bigint NOT NULL,
    next_at timestamp with time zone NOT NULL,
    slot_at timestamp with time zone NOT NULL,
    slot_local timestamp without time zone NOT NULL,
    missed integer DEFAULT 0 NOT NULL,
    tenant_id text NOT NULL COLLATE pg_catalog."C"
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='2000', autovacuum_vacuum_cost_delay='0');
ALTER TABLE ONLY ostinato_data.schedule_due FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.schedule_due OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.schedule_fire (
    day_id bigint NOT NULL,
    schedule_id bigint NOT NULL,
    slot_at timestamp with time zone NOT NULL,
    slot_local timestamp without time zone NOT NULL,
    fired_at timestamp with time zone NOT NULL,
    lateness double precision NOT NULL,
    job_id bigint NOT NULL,
    missed integer NOT NULL,
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    zone text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT schedule_fire_check CHECK ((day_id = (GREATEST((0)::bigint, ((floor((EXTRACT(epoch FROM slot_at) / (86400)::numeric)))::bigint - 20454)) * '10000000000'::bigint)))
)
PARTITION BY RANGE (day_id);
ALTER TABLE ONLY ostinato_data.schedule_fire FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.schedule_fire OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.schedule_fire_default (
    day_id bigint CONSTRAINT schedule_fire_day_id_not_null NOT NULL,
    schedule_id bigint CONSTRAINT schedule_fire_schedule_id_not_null NOT NULL,
    slot_at timestamp with time zone CONSTRAINT schedule_fire_slot_at_not_null NOT NULL,
    slot_local timestamp without time zone CONSTRAINT schedule_fire_slot_local_not_null NOT NULL,
    fired_at timestamp with time zone CONSTRAINT schedule_fire_fired_at_not_null NOT NULL,
    lateness double precision CONSTRAINT schedule_fire_lateness_not_null NOT NULL,
    job_id bigint CONSTRAINT schedule_fire_job_id_not_null NOT NULL,
    missed integer CONSTRAINT schedule_fire_missed_not_null NOT NULL,
    tenant_id text CONSTRAINT schedule_fire_tenant_id_not_null NOT NULL COLLATE pg_catalog."C",
    zone text CONSTRAINT schedule_fire_zone_not_null NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT schedule_fire_check CHECK ((day_id = (GREATEST((0)::bigint, ((floor((EXTRACT(epoch FROM slot_at) / (86400)::numeric)))::bigint - 20454)) * '10000000000'::bigint)))
);
ALTER TABLE ONLY ostinato_data.schedule_fire_default FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.schedule_fire_default OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.series (
    step smallint NOT NULL,
    at timestamp with time zone NOT NULL,
    queue text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    first bigint NOT NULL,
    done bigint NOT NULL,
    failed bigint NOT NULL,
    dead bigint NOT NULL,
    run_seconds double precision NOT NULL,
    latency bigint[] NOT NULL,
    CONSTRAINT series_step_check CHECK ((step = ANY (ARRAY[60, 3600])))
)
WITH (fillfactor='70');
ALTER TABLE ONLY ostinato_data.series FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.series OWNER TO ostinato_owner;
ALTER TABLE ostinato_data.session ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME ostinato_data.session_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE ostinato_data.step (
    job_id bigint NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    until timestamp with time zone,
    event_id bigint,
    "position" integer NOT NULL,
    attempt integer NOT NULL,
    duration_ms integer,
    type text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    result json,
    CONSTRAINT step_type_check CHECK ((type = ANY (ARRAY['call'::text, 'sleep'::text, 'event'::text, 'timeout'::text])))
)
PARTITION BY RANGE (job_id);
ALTER TABLE ONLY ostinato_data.step FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.step OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.step_default (
    job_id bigint CONSTRAINT step_job_id_not_null NOT NULL,
    finished_at timestamp with time zone CONSTRAINT step_finished_at_not_null NOT NULL,
    until timestamp with time zone,
    event_id bigint,
    "position" integer CONSTRAINT step_position_not_null NOT NULL,
    attempt integer CONSTRAINT step_attempt_not_null NOT NULL,
    duration_ms integer,
    type text CONSTRAINT step_type_not_null NOT NULL COLLATE pg_catalog."C",
    name text CONSTRAINT step_name_not_null NOT NULL COLLATE pg_catalog."C",
    result json,
    CONSTRAINT step_type_check CHECK ((type = ANY (ARRAY['call'::text, 'sleep'::text, 'event'::text, 'timeout'::text])))
);
ALTER TABLE ONLY ostinato_data.step_default FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.step_default OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.subject_secret (
    only_row boolean DEFAULT true NOT NULL,
    inner_pad bytea NOT NULL,
    outer_pad bytea NOT NULL,
    CONSTRAINT subject_secret_inner_pad_check CHECK ((length(inner_pad) = 64)),
    CONSTRAINT subject_secret_only_row_check CHECK (only_row),
    CONSTRAINT subject_secret_outer_pad_check CHECK ((length(outer_pad) = 64))
);
ALTER TABLE ONLY ostinato_data.subject_secret FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.subject_secret OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.tenant_place (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    changed_at timestamp with time zone NOT NULL,
    move_id uuid,
    state text NOT NULL COLLATE pg_catalog."C",
    cell text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT tenant_place_state_check CHECK ((state = ANY (ARRAY['draining'::text, 'closed'::text, 'leaving'::text, 'coming'::text, 'here'::text, 'left'::text])))
);
ALTER TABLE ONLY ostinato_data.tenant_place FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.tenant_place OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.tenant_series (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    step smallint NOT NULL,
    at timestamp with time zone NOT NULL,
    first bigint NOT NULL,
    done bigint NOT NULL,
    failed bigint NOT NULL,
    dead bigint NOT NULL,
    run_seconds double precision NOT NULL,
    latency bigint[] NOT NULL,
    CONSTRAINT tenant_series_step_check CHECK ((step = ANY (ARRAY[60, 3600])))
)
WITH (fillfactor='70');
ALTER TABLE ONLY ostinato_data.tenant_series FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.tenant_series OWNER TO ostinato_owner;
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
CREATE TABLE ostinato_data.transition (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    job_id bigint,
    attempt integer,
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    entity text NOT NULL COLLATE pg_catalog."C",
    entity_id text NOT NULL COLLATE pg_catalog."C",
    machine text NOT NULL COLLATE pg_catalog."C",
    event text NOT NULL COLLATE pg_catalog."C",
    from_state text NOT NULL COLLATE pg_catalog."C",
    to_state text NOT NULL COLLATE pg_catalog."C",
    actor text NOT NULL,
    correlation_id text COLLATE pg_catalog."C",
    why text
)
PARTITION BY RANGE (id);
ALTER TABLE ONLY ostinato_data.transition FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.transition OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.transition_default (
    id bigint CONSTRAINT transition_id_not_null NOT NULL,
    at timestamp with time zone CONSTRAINT transition_at_not_null NOT NULL,
    job_id bigint,
    attempt integer,
    tenant_id text CONSTRAINT transition_tenant_id_not_null NOT NULL COLLATE pg_catalog."C",
    entity text CONSTRAINT transition_entity_not_null NOT NULL COLLATE pg_catalog."C",
    entity_id text CONSTRAINT transition_entity_id_not_null NOT NULL COLLATE pg_catalog."C",
    machine text CONSTRAINT transition_machine_not_null NOT NULL COLLATE pg_catalog."C",
    event text CONSTRAINT transition_event_not_null NOT NULL COLLATE pg_catalog."C",
    from_state text CONSTRAINT transition_from_state_not_null NOT NULL COLLATE pg_catalog."C",
    to_state text CONSTRAINT transition_to_state_not_null NOT NULL COLLATE pg_catalog."C",
    actor text CONSTRAINT transition_actor_not_null NOT NULL,
    correlation_id text COLLATE pg_catalog."C",
    why text
);
ALTER TABLE ONLY ostinato_data.transition_default FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.transition_default OWNER TO ostinato_owner;
CREATE UNLOGGED TABLE ostinato_data.transition_pass (
    xid xid8 NOT NULL,
    id bigint NOT NULL,
    relation oid NOT NULL,
    entity text NOT NULL COLLATE pg_catalog."C",
    machine text NOT NULL COLLATE pg_catalog."C",
    event text NOT NULL COLLATE pg_catalog."C",
    actor text NOT NULL,
    why text,
    correlation_id text COLLATE pg_catalog."C",
    job_id bigint,
    attempt integer,
    correlation_ids jsonb
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000', autovacuum_vacuum_cost_delay='0');
ALTER TABLE ONLY ostinato_data.transition_pass FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.transition_pass OWNER TO ostinato_owner;
CREATE SEQUENCE ostinato_data.transition_pass_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE ostinato_data.transition_pass_seq OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.wait_gate (
    only_row boolean NOT NULL,
    CONSTRAINT wait_gate_only_row_check CHECK (only_row)
);
ALTER TABLE ONLY ostinato_data.wait_gate FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.wait_gate OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.webhook_attempt (
    id bigint NOT NULL,
    delivery_id bigint NOT NULL,
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    attempt integer NOT NULL,
    at timestamp with time zone NOT NULL,
    outcome text NOT NULL COLLATE pg_catalog."C",
    status integer,
    duration_ms integer NOT NULL,
    answer text,
    error text,
    next_at timestamp with time zone
)
PARTITION BY RANGE (id);
ALTER TABLE ONLY ostinato_data.webhook_attempt FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.webhook_attempt OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.webhook_attempt_default (
    id bigint CONSTRAINT webhook_attempt_id_not_null NOT NULL,
    delivery_id bigint CONSTRAINT webhook_attempt_delivery_id_not_null NOT NULL,
    tenant_id text CONSTRAINT webhook_attempt_tenant_id_not_null NOT NULL COLLATE pg_catalog."C",
    attempt integer CONSTRAINT webhook_attempt_attempt_not_null NOT NULL,
    at timestamp with time zone CONSTRAINT webhook_attempt_at_not_null NOT NULL,
    outcome text CONSTRAINT webhook_attempt_outcome_not_null NOT NULL COLLATE pg_catalog."C",
    status integer,
    duration_ms integer CONSTRAINT webhook_attempt_duration_ms_not_null NOT NULL,
    answer text,
    error text,
    next_at timestamp with time zone
);
ALTER TABLE ONLY ostinato_data.webhook_attempt_default FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.webhook_attempt_default OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.webhook_delivery (
    id bigint NOT NULL,
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    endpoint_id bigint NOT NULL,
    message_id bigint NOT NULL,
    seq bigint NOT NULL,
    ordering_key text COLLATE pg_catalog."C",
    state text NOT NULL COLLATE pg_catalog."C",
    job_id bigint,
    attempts integer DEFAULT 0 NOT NULL,
    last_status integer,
    last_error text,
    created_at timestamp with time zone NOT NULL,
    settled_at timestamp with time zone,
    CONSTRAINT webhook_delivery_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'waiting'::text, 'held'::text, 'delivered'::text, 'dead'::text])))
)
WITH (fillfactor='80');
ALTER TABLE ONLY ostinato_data.webhook_delivery FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.webhook_delivery OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.webhook_message (
    id bigint NOT NULL,
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    event_id text NOT NULL COLLATE pg_catalog."C",
    event_type text NOT NULL COLLATE pg_catalog."C",
    correlation_id text NOT NULL COLLATE pg_catalog."C",
    body text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    subject bytea
);
ALTER TABLE ONLY ostinato_data.webhook_message FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.webhook_message OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.webhook_receipt (
    tenant_id text NOT NULL COLLATE pg_catalog."C",
    source text NOT NULL COLLATE pg_catalog."C",
    message_id text NOT NULL COLLATE pg_catalog."C",
    received_at timestamp with time zone NOT NULL,
    keep_until timestamp with time zone NOT NULL
);
ALTER TABLE ONLY ostinato_data.webhook_receipt FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.webhook_receipt OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.webhook_secret (
    id bigint NOT NULL,
    endpoint_id bigint NOT NULL,
    secret text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    hint text NOT NULL
);
ALTER TABLE ONLY ostinato_data.webhook_secret FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.webhook_secret OWNER TO ostinato_owner;
CREATE TABLE ostinato_data.worker (
    id uuid NOT NULL,
    name text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    beat_at timestamp with time zone NOT NULL,
    expiry_seconds double precision NOT NULL,
    draining boolean DEFAULT false NOT NULL,
    contract integer NOT NULL,
    queues text[] NOT NULL,
    kinds text[] NOT NULL,
    blocked_by text,
    drain_asked_at timestamp with time zone,
    release text,
    places integer
)
WITH (fillfactor='50');
ALTER TABLE ONLY ostinato_data.worker FORCE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.worker OWNER TO ostinato_owner;
ALTER TABLE ONLY ostinato_data.audit_entry ATTACH PARTITION ostinato_data.audit_entry_default DEFAULT;
ALTER TABLE ONLY ostinato_data.event ATTACH PARTITION ostinato_data.event_default DEFAULT;
ALTER TABLE ONLY ostinato_data.event_log ATTACH PARTITION ostinato_data.event_log_default DEFAULT;
ALTER TABLE ONLY ostinato_data.job ATTACH PARTITION ostinato_data.job_default DEFAULT;
ALTER TABLE ONLY ostinato_data.metric_sample ATTACH PARTITION ostinato_data.metric_sample_default DEFAULT;
ALTER TABLE ONLY ostinato_data.outcome ATTACH PARTITION ostinato_data.outcome_default DEFAULT;
ALTER TABLE ONLY ostinato_data.schedule_fire ATTACH PARTITION ostinato_data.schedule_fire_default DEFAULT;
ALTER TABLE ONLY ostinato_data.step ATTACH PARTITION ostinato_data.step_default DEFAULT;
ALTER TABLE ONLY ostinato_data.transition ATTACH PARTITION ostinato_data.transition_default DEFAULT;
ALTER TABLE ONLY ostinato_data.webhook_attempt ATTACH PARTITION ostinato_data.webhook_attempt_default DEFAULT;
ALTER TABLE ONLY ostinato_data.alert_firing
    ADD CONSTRAINT alert_firing_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.alert
    ADD CONSTRAINT alert_pkey PRIMARY KEY (name);
ALTER TABLE ONLY ostinato_data.alert_silence
    ADD CONSTRAINT alert_silence_alert_label_key UNIQUE NULLS NOT DISTINCT (alert, label);
ALTER TABLE ONLY ostinato_data.alert_silence
    ADD CONSTRAINT alert_silence_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.api_key
    ADD CONSTRAINT api_key_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.api_key
    ADD CONSTRAINT api_key_tenant_id_id_key UNIQUE (tenant_id, id);
ALTER TABLE ONLY ostinato_data.archive_late
    ADD CONSTRAINT archive_late_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.archive
    ADD CONSTRAINT archive_pkey PRIMARY KEY (name);
ALTER TABLE ONLY ostinato_data.archive_rule
    ADD CONSTRAINT archive_rule_pkey PRIMARY KEY (one);
ALTER TABLE ONLY ostinato_data.audit_entry
    ADD CONSTRAINT audit_entry_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.audit_entry_default
    ADD CONSTRAINT audit_entry_default_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.backup
    ADD CONSTRAINT backup_pkey PRIMARY KEY (label);
ALTER TABLE ONLY ostinato_data.bulk
    ADD CONSTRAINT bulk_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.bulk_refusal
    ADD CONSTRAINT bulk_refusal_pkey PRIMARY KEY (bulk_id, job_id);
ALTER TABLE ONLY ostinato_data.cancel_request
    ADD CONSTRAINT cancel_request_pkey PRIMARY KEY (job_id);
ALTER TABLE ONLY ostinato_data.claim_hint
    ADD CONSTRAINT claim_hint_pkey PRIMARY KEY (queue, kinds);
ALTER TABLE ONLY ostinato_data.claim
    ADD CONSTRAINT claim_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.dead_letter
    ADD CONSTRAINT dead_letter_pkey PRIMARY KEY (job_id);
ALTER TABLE ONLY ostinato_data.deferral
    ADD CONSTRAINT deferral_pkey PRIMARY KEY (job_id);
ALTER TABLE ONLY ostinato_data.delivery
    ADD CONSTRAINT delivery_pkey PRIMARY KEY (job_id);
ALTER TABLE ONLY ostinato_data.doorbell
    ADD CONSTRAINT doorbell_pkey PRIMARY KEY (queue);
ALTER TABLE ONLY ostinato_data.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.event_default
    ADD CONSTRAINT event_default_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.event_log
    ADD CONSTRAINT event_log_pkey PRIMARY KEY (event_id);
ALTER TABLE ONLY ostinato_data.event_log_default
    ADD CONSTRAINT event_log_default_pkey PRIMARY KEY (event_id);
ALTER TABLE ONLY ostinato_data.event_sequencer
    ADD CONSTRAINT event_sequencer_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY ostinato_data.event_type
    ADD CONSTRAINT event_type_pkey PRIMARY KEY (name, version);
ALTER TABLE ONLY ostinato_data.event_unsequenced
    ADD CONSTRAINT event_unsequenced_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY ostinato_data.fault
    ADD CONSTRAINT fault_pkey PRIMARY KEY (part);
ALTER TABLE ONLY ostinato_data.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (tenant_id, scope, key);
ALTER TABLE ONLY ostinato_data.job
    ADD CONSTRAINT job_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.job_default
    ADD CONSTRAINT job_default_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.job_group
    ADD CONSTRAINT job_group_pkey PRIMARY KEY (tenant_id, id);
ALTER TABLE ONLY ostinato_data.job_progress
    ADD CONSTRAINT job_progress_pkey PRIMARY KEY (job_id);
ALTER TABLE ONLY ostinato_data.job_unique
    ADD CONSTRAINT job_unique_pkey PRIMARY KEY (tenant_id, unique_key);
ALTER TABLE ONLY ostinato_data.job_wait
    ADD CONSTRAINT job_wait_pkey PRIMARY KEY (job_id);
ALTER TABLE ONLY ostinato_data.job_wake
    ADD CONSTRAINT job_wake_pkey PRIMARY KEY (job_id);
ALTER TABLE ONLY ostinato_data.job_watch
    ADD CONSTRAINT job_watch_pkey PRIMARY KEY (tenant_id, job_id);
ALTER TABLE ONLY ostinato_data.kind
    ADD CONSTRAINT kind_pkey PRIMARY KEY (name);
ALTER TABLE ONLY ostinato_data.lease
    ADD CONSTRAINT lease_pkey PRIMARY KEY (tenant_id, name);
ALTER TABLE ONLY ostinato_data.machine
    ADD CONSTRAINT machine_pkey PRIMARY KEY (name);
ALTER TABLE ONLY ostinato_data.machine_table
    ADD CONSTRAINT machine_table_pkey PRIMARY KEY (entity, machine);
ALTER TABLE ONLY ostinato_data.machine_transition
    ADD CONSTRAINT machine_transition_pkey PRIMARY KEY (machine, event, from_state);
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
ALTER TABLE ONLY ostinato_data.quarantine
    ADD CONSTRAINT quarantine_pkey PRIMARY KEY (job_id);
ALTER TABLE ONLY ostinato_data.queue
    ADD CONSTRAINT queue_pkey PRIMARY KEY (name);
ALTER TABLE ONLY ostinato_data.schedule_due
    ADD CONSTRAINT schedule_due_pkey PRIMARY KEY (schedule_id);
ALTER TABLE ONLY ostinato_data.schedule_fire
    ADD CONSTRAINT schedule_fire_pkey PRIMARY KEY (schedule_id, slot_at, day_id);
ALTER TABLE ONLY ostinato_data.schedule_fire_default
    ADD CONSTRAINT schedule_fire_default_pkey PRIMARY KEY (schedule_id, slot_at, day_id);
ALTER TABLE ONLY ostinato_data.schedule
    ADD CONSTRAINT schedule_of_tenant UNIQUE (tenant_id, id);
ALTER TABLE ONLY ostinato_data.schedule
    ADD CONSTRAINT schedule_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.schedule
    ADD CONSTRAINT schedule_tenant_id_name_key UNIQUE (tenant_id, name);
ALTER TABLE ONLY ostinato_data.scheduled
    ADD CONSTRAINT scheduled_pkey PRIMARY KEY (job_id);
ALTER TABLE ONLY ostinato_data.series
    ADD CONSTRAINT series_pkey PRIMARY KEY (step, at, queue, kind);
ALTER TABLE ONLY ostinato_data.session
    ADD CONSTRAINT session_hash_key UNIQUE (hash);
ALTER TABLE ONLY ostinato_data.session
    ADD CONSTRAINT session_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.step
    ADD CONSTRAINT step_pkey PRIMARY KEY (job_id, "position");
ALTER TABLE ONLY ostinato_data.step_default
    ADD CONSTRAINT step_default_pkey PRIMARY KEY (job_id, "position");
ALTER TABLE ONLY ostinato_data.subject_secret
    ADD CONSTRAINT subject_secret_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY ostinato_data.subscription
    ADD CONSTRAINT subscription_pkey PRIMARY KEY (name);
ALTER TABLE ONLY ostinato_data.tenant_place
    ADD CONSTRAINT tenant_place_pkey PRIMARY KEY (tenant_id);
ALTER TABLE ONLY ostinato_data.tenant_series
    ADD CONSTRAINT tenant_series_pkey PRIMARY KEY (tenant_id, step, at);
ALTER TABLE ONLY ostinato_data.test_clock
    ADD CONSTRAINT test_clock_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY ostinato_data.tick
    ADD CONSTRAINT tick_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY ostinato_data.transition
    ADD CONSTRAINT transition_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.transition_default
    ADD CONSTRAINT transition_default_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.transition_pass
    ADD CONSTRAINT transition_pass_pkey PRIMARY KEY (xid, id);
ALTER TABLE ONLY ostinato_data.wait_gate
    ADD CONSTRAINT wait_gate_pkey PRIMARY KEY (only_row);
ALTER TABLE ONLY ostinato_data.webhook_attempt
    ADD CONSTRAINT webhook_attempt_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.webhook_attempt_default
    ADD CONSTRAINT webhook_attempt_default_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.webhook_delivery
    ADD CONSTRAINT webhook_delivery_endpoint_id_message_id_key UNIQUE (endpoint_id, message_id);
ALTER TABLE ONLY ostinato_data.webhook_delivery
    ADD CONSTRAINT webhook_delivery_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.webhook_endpoint
    ADD CONSTRAINT webhook_endpoint_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.webhook_endpoint
    ADD CONSTRAINT webhook_endpoint_tenant_id_id_key UNIQUE (tenant_id, id);
ALTER TABLE ONLY ostinato_data.webhook_endpoint
    ADD CONSTRAINT webhook_endpoint_tenant_id_name_key UNIQUE (tenant_id, name);
ALTER TABLE ONLY ostinato_data.webhook_message
    ADD CONSTRAINT webhook_message_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.webhook_message
    ADD CONSTRAINT webhook_message_tenant_id_event_id_key UNIQUE (tenant_id, event_id);
ALTER TABLE ONLY ostinato_data.webhook_receipt
    ADD CONSTRAINT webhook_receipt_pkey PRIMARY KEY (tenant_id, source, message_id);
ALTER TABLE ONLY ostinato_data.webhook_secret
    ADD CONSTRAINT webhook_secret_pkey PRIMARY KEY (id);
ALTER TABLE ONLY ostinato_data.worker
    ADD CONSTRAINT worker_pkey PRIMARY KEY (id);
CREATE INDEX alert_firing_alert ON ostinato_data.alert_firing USING btree (alert, id);
CREATE UNIQUE INDEX alert_firing_open ON ostinato_data.alert_firing USING btree (alert, label) WHERE (resolved_at IS NULL);
CREATE INDEX alert_firing_owed ON ostinato_data.alert_firing USING btree (alert, label) WHERE (owed IS NOT NULL);
CREATE INDEX alert_firing_resolved ON ostinato_data.alert_firing USING btree (resolved_at) WHERE (resolved_at IS NOT NULL);
CREATE INDEX api_key_replaces ON ostinato_data.api_key USING btree (replaces) WHERE (replaces IS NOT NULL);
CREATE INDEX audit_entry_correlation ON ONLY ostinato_data.audit_entry USING btree (correlation_id) WHERE (correlation_id IS NOT NULL);
CREATE INDEX audit_entry_default_correlation_id_idx ON ostinato_data.audit_entry_default USING btree (correlation_id) WHERE (correlation_id IS NOT NULL);
CREATE INDEX audit_entry_jobs ON ONLY ostinato_data.audit_entry USING gin (job_ids) WHERE (job_ids IS NOT NULL);
CREATE INDEX audit_entry_default_job_ids_idx ON ostinato_data.audit_entry_default USING gin (job_ids) WHERE (job_ids IS NOT NULL);
CREATE INDEX audit_entry_target ON ONLY ostinato_data.audit_entry USING btree ("left"(target, 200), tenant_id, id) WHERE (target IS NOT NULL);
CREATE INDEX audit_entry_default_left_tenant_id_id_idx ON ostinato_data.audit_entry_default USING btree ("left"(target, 200), tenant_id, id) WHERE (target IS NOT NULL);
CREATE INDEX audit_entry_tenant ON ONLY ostinato_data.audit_entry USING btree (tenant_id, id);
CREATE INDEX audit_entry_default_tenant_id_id_idx ON ostinato_data.audit_entry_default USING btree (tenant_id, id);
CREATE INDEX bulk_tenant ON ostinato_data.bulk USING btree (tenant_id, id);
CREATE INDEX child_tick_group ON ostinato_data.child_tick USING btree (tenant_id, group_id);
CREATE UNIQUE INDEX claim_own ON ostinato_data.claim USING btree (job_id) WHERE (job_id IS NOT NULL);
CREATE INDEX claim_split ON ostinato_data.claim USING btree (split_from) WHERE (split_from IS NOT NULL);
CREATE INDEX claim_worker ON ostinato_data.claim USING btree (worker_id);
CREATE INDEX dead_letter_signature ON ostinato_data.dead_letter USING btree (signature, job_id);
CREATE INDEX dead_letter_tenant ON ostinato_data.dead_letter USING btree (tenant_id, job_id);
CREATE INDEX death_died ON ostinato_data.death USING btree (died_at);
CREATE INDEX delivery_behind ON ostinato_data.delivery USING btree (subscription, lane, "position", job_id) WHERE ((NOT open) AND (lane IS NOT NULL));
CREATE INDEX delivery_open ON ostinato_data.delivery USING btree (subscription, lane, "position") WHERE (open AND (lane IS NOT NULL));
CREATE INDEX delivery_position ON ostinato_data.delivery USING btree (subscription, "position");
CREATE INDEX event_correlation ON ONLY ostinato_data.event USING btree (correlation_id);
CREATE INDEX event_default_correlation_id_idx ON ostinato_data.event_default USING btree (correlation_id);
CREATE INDEX event_subject ON ONLY ostinato_data.event USING btree (subject) WHERE (subject IS NOT NULL);
CREATE INDEX event_default_subject_idx ON ostinato_data.event_default USING btree (subject) WHERE (subject IS NOT NULL);
CREATE INDEX event_tenant ON ONLY ostinato_data.event USING btree (tenant_id, id);
CREATE INDEX event_default_tenant_id_id_idx ON ostinato_data.event_default USING btree (tenant_id, id);
CREATE INDEX event_log_key ON ONLY ostinato_data.event_log USING btree (ordering_key, type, tenant_id, "position") WHERE (ordering_key IS NOT NULL);
CREATE INDEX event_log_default_ordering_key_type_tenant_id_position_idx ON ostinato_data.event_log_default USING btree (ordering_key, type, tenant_id, "position") WHERE (ordering_key IS NOT NULL);
CREATE INDEX event_log_position ON ONLY ostinato_data.event_log USING btree ("position");
CREATE INDEX event_log_default_position_idx ON ostinato_data.event_log_default USING btree ("position");
CREATE INDEX idempotency_expires ON ostinato_data.idempotency USING btree (expires_at);
CREATE INDEX idempotency_subjects ON ostinato_data.idempotency USING gin (subjects) WHERE (subjects IS NOT NULL);
CREATE INDEX job_children ON ONLY ostinato_data.job USING btree (group_id, id) WHERE (group_id IS NOT NULL);
CREATE INDEX job_correlation ON ONLY ostinato_data.job USING btree (correlation_id) WHERE (correlation_id IS NOT NULL);
CREATE INDEX job_default_correlation_id_idx ON ostinato_data.job_default USING btree (correlation_id) WHERE (correlation_id IS NOT NULL);
CREATE INDEX job_default_group_id_id_idx ON ostinato_data.job_default USING btree (group_id, id) WHERE (group_id IS NOT NULL);
CREATE INDEX job_subject ON ONLY ostinato_data.job USING btree (subject) WHERE (subject IS NOT NULL);
CREATE INDEX job_default_subject_idx ON ostinato_data.job_default USING btree (subject) WHERE (subject IS NOT NULL);
CREATE INDEX job_tenant ON ONLY ostinato_data.job USING btree (tenant_id, id) WHERE (tenant_id <> 'default'::text);
CREATE INDEX job_default_tenant_id_id_idx ON ostinato_data.job_default USING btree (tenant_id, id) WHERE (tenant_id <> 'default'::text);
CREATE INDEX job_group_cancelling ON ostinato_data.job_group USING btree (id) WHERE (state = 'cancelling'::text);
CREATE UNIQUE INDEX job_group_step ON ostinato_data.job_group USING btree (parent_id, "position");
CREATE UNIQUE INDEX job_unique_job ON ostinato_data.job_unique USING btree (job_id);
CREATE INDEX job_wait_event ON ostinato_data.job_wait USING btree (tenant_id, event, key);
CREATE INDEX job_watch_job ON ostinato_data.job_watch USING btree (job_id);
CREATE INDEX metric_sample_name_at ON ONLY ostinato_data.metric_sample USING btree (name, at);
CREATE INDEX metric_sample_default_name_at_idx ON ostinato_data.metric_sample_default USING btree (name, at);
CREATE INDEX rate_use_window ON ostinato_data.rate_use USING btree (queue, limit_key, started_at) INCLUDE (started);
CREATE INDEX ready_lane ON ostinato_data.ready USING btree (queue, priority, tenant_id, "position");
CREATE INDEX ready_limited ON ostinato_data.ready USING btree (queue, limit_key, priority, "position") WHERE (limit_key IS NOT NULL);
CREATE INDEX ready_moved ON ostinato_data.ready USING btree (job_id) WHERE ("position" <> job_id);
CREATE INDEX ready_suspect ON ostinato_data.ready USING btree (queue, "position") WHERE (crashes >= 2);
CREATE INDEX schedule_due_next ON ostinato_data.schedule_due USING btree (next_at);
CREATE INDEX schedule_due_tenant ON ostinato_data.schedule_due USING btree (tenant_id, next_at);
CREATE INDEX schedule_key ON ostinato_data.schedule USING btree (tenant_id, key) WHERE (key IS NOT NULL);
CREATE INDEX schedule_owner ON ostinato_data.schedule USING btree (owner) WHERE (owner IS NOT NULL);
CREATE INDEX scheduled_due ON ostinato_data.scheduled USING btree (run_at);
CREATE INDEX scheduled_shelf ON ostinato_data.scheduled USING btree (queue, kind, job_id) WHERE (reason = 'no_worker'::text);
CREATE INDEX scheduled_tenant ON ostinato_data.scheduled USING btree (tenant_id, job_id);
CREATE INDEX session_expires ON ostinato_data.session USING btree (expires_at);
CREATE INDEX session_key ON ostinato_data.session USING btree (key_id) WHERE (key_id IS NOT NULL);
CREATE INDEX tenant_place_moving ON ostinato_data.tenant_place USING btree (tenant_id) WHERE (state = ANY (ARRAY['draining'::text, 'closed'::text, 'leaving'::text, 'coming'::text]));
CREATE INDEX tenant_series_at ON ostinato_data.tenant_series USING btree (step, at);
CREATE INDEX transition_correlation ON ONLY ostinato_data.transition USING btree (correlation_id) WHERE (correlation_id IS NOT NULL);
CREATE INDEX transition_default_correlation_id_idx ON ostinato_data.transition_default USING btree (correlation_id) WHERE (correlation_id IS NOT NULL);
CREATE INDEX transition_entity ON ONLY ostinato_data.transition USING btree (entity, entity_id, id);
CREATE INDEX transition_default_entity_entity_id_id_idx ON ostinato_data.transition_default USING btree (entity, entity_id, id);
CREATE INDEX webhook_attempt_delivery ON ONLY ostinato_data.webhook_attempt USING btree (delivery_id, id);
CREATE INDEX webhook_attempt_default_delivery_id_id_idx ON ostinato_data.webhook_attempt_default USING btree (delivery_id, id);
CREATE INDEX webhook_delivery_delivered ON ostinato_data.webhook_delivery USING btree (id) WHERE (state = 'delivered'::text);
CREATE INDEX webhook_delivery_endpoint ON ostinato_data.webhook_delivery USING btree (endpoint_id, id);
CREATE INDEX webhook_delivery_held ON ostinato_data.webhook_delivery USING btree (endpoint_id, seq, id) WHERE (state = 'held'::text);
CREATE INDEX webhook_delivery_job ON ostinato_data.webhook_delivery USING btree (job_id) WHERE (state = 'pending'::text);
CREATE INDEX webhook_delivery_key ON ostinato_data.webhook_delivery USING btree (endpoint_id, ordering_key, seq, id) WHERE (state = ANY (ARRAY['pending'::text, 'waiting'::text, 'held'::text]));
CREATE INDEX webhook_delivery_message ON ostinato_data.webhook_delivery USING btree (message_id);
CREATE INDEX webhook_delivery_pending ON ostinato_data.webhook_delivery USING btree (endpoint_id, id) WHERE (state = 'pending'::text);
CREATE INDEX webhook_message_subject ON ostinato_data.webhook_message USING btree (subject) WHERE (subject IS NOT NULL);
CREATE INDEX webhook_receipt_age ON ostinato_data.webhook_receipt USING btree (keep_until);
CREATE INDEX webhook_secret_endpoint ON ostinato_data.webhook_secret USING btree (endpoint_id, id);
CREATE INDEX webhook_secret_expiry ON ostinato_data.webhook_secret USING btree (expires_at) WHERE (expires_at IS NOT NULL);
ALTER INDEX ostinato_data.audit_entry_correlation ATTACH PARTITION ostinato_data.audit_entry_default_correlation_id_idx;
ALTER INDEX ostinato_data.audit_entry_jobs ATTACH PARTITION ostinato_data.audit_entry_default_job_ids_idx;
ALTER INDEX ostinato_data.audit_entry_target ATTACH PARTITION ostinato_data.audit_entry_default_left_tenant_id_id_idx;
ALTER INDEX ostinato_data.audit_entry_pkey ATTACH PARTITION ostinato_data.audit_entry_default_pkey;
ALTER INDEX ostinato_data.audit_entry_tenant ATTACH PARTITION ostinato_data.audit_entry_default_tenant_id_id_idx;
ALTER INDEX ostinato_data.event_correlation ATTACH PARTITION ostinato_data.event_default_correlation_id_idx;
ALTER INDEX ostinato_data.event_pkey ATTACH PARTITION ostinato_data.event_default_pkey;
ALTER INDEX ostinato_data.event_subject ATTACH PARTITION ostinato_data.event_default_subject_idx;
ALTER INDEX ostinato_data.event_tenant ATTACH PARTITION ostinato_data.event_default_tenant_id_id_idx;
ALTER INDEX ostinato_data.event_log_key ATTACH PARTITION ostinato_data.event_log_default_ordering_key_type_tenant_id_position_idx;
ALTER INDEX ostinato_data.event_log_pkey ATTACH PARTITION ostinato_data.event_log_default_pkey;
ALTER INDEX ostinato_data.event_log_position ATTACH PARTITION ostinato_data.event_log_default_position_idx;
ALTER INDEX ostinato_data.job_correlation ATTACH PARTITION ostinato_data.job_default_correlation_id_idx;
ALTER INDEX ostinato_data.job_children ATTACH PARTITION ostinato_data.job_default_group_id_id_idx;
ALTER INDEX ostinato_data.job_pkey ATTACH PARTITION ostinato_data.job_default_pkey;
ALTER INDEX ostinato_data.job_subject ATTACH PARTITION ostinato_data.job_default_subject_idx;
ALTER INDEX ostinato_data.job_tenant ATTACH PARTITION ostinato_data.job_default_tenant_id_id_idx;
ALTER INDEX ostinato_data.metric_sample_name_at ATTACH PARTITION ostinato_data.metric_sample_default_name_at_idx;
ALTER INDEX ostinato_data.metric_sample_pkey ATTACH PARTITION ostinato_data.metric_sample_default_pkey;
ALTER INDEX ostinato_data.outcome_pkey ATTACH PARTITION ostinato_data.outcome_default_pkey;
ALTER INDEX ostinato_data.schedule_fire_pkey ATTACH PARTITION ostinato_data.schedule_fire_default_pkey;
ALTER INDEX ostinato_data.step_pkey ATTACH PARTITION ostinato_data.step_default_pkey;
ALTER INDEX ostinato_data.transition_correlation ATTACH PARTITION ostinato_data.transition_default_correlation_id_idx;
ALTER INDEX ostinato_data.transition_entity ATTACH PARTITION ostinato_data.transition_default_entity_entity_id_id_idx;
ALTER INDEX ostinato_data.transition_pkey ATTACH PARTITION ostinato_data.transition_default_pkey;
ALTER INDEX ostinato_data.webhook_attempt_delivery ATTACH PARTITION ostinato_data.webhook_attempt_default_delivery_id_id_idx;
ALTER INDEX ostinato_data.webhook_attempt_pkey ATTACH PARTITION ostinato_data.webhook_attempt_default_pkey;
CREATE TRIGGER door BEFORE INSERT OR UPDATE OF kind, queue ON ostinato_data.schedule FOR EACH ROW EXECUTE FUNCTION ostinato_data.check_schedule_door();
CREATE TRIGGER keep BEFORE DELETE OR UPDATE ON ostinato_data.audit_entry FOR EACH ROW EXECUTE FUNCTION ostinato_data.keep_audit();
CREATE TRIGGER keep_all BEFORE TRUNCATE ON ostinato_data.audit_entry FOR EACH STATEMENT EXECUTE FUNCTION ostinato_data.keep_audit();
CREATE TRIGGER keep_all BEFORE TRUNCATE ON ostinato_data.audit_entry_default FOR EACH STATEMENT EXECUTE FUNCTION ostinato_data.keep_audit();
CREATE TRIGGER refuse_rewrite BEFORE DELETE OR UPDATE OR TRUNCATE ON ostinato_data.transition FOR EACH STATEMENT EXECUTE FUNCTION ostinato_data.refuse_rewrite();
CREATE TRIGGER stamp BEFORE INSERT ON ostinato_data.audit_entry FOR EACH ROW EXECUTE FUNCTION ostinato_data.stamp_audit();
ALTER TABLE ONLY ostinato_data.api_key
    ADD CONSTRAINT api_key_tenant_id_replaces_fkey FOREIGN KEY (tenant_id, replaces) REFERENCES ostinato_data.api_key(tenant_id, id);
ALTER TABLE ONLY ostinato_data.schedule_due
    ADD CONSTRAINT schedule_due_of_tenant FOREIGN KEY (tenant_id, schedule_id) REFERENCES ostinato_data.schedule(tenant_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY ostinato_data.webhook_delivery
    ADD CONSTRAINT webhook_delivery_message_id_fkey FOREIGN KEY (message_id) REFERENCES ostinato_data.webhook_message(id) ON DELETE CASCADE;
ALTER TABLE ONLY ostinato_data.webhook_delivery
    ADD CONSTRAINT webhook_delivery_tenant_id_endpoint_id_fkey FOREIGN KEY (tenant_id, endpoint_id) REFERENCES ostinato_data.webhook_endpoint(tenant_id, id) ON DELETE CASCADE;
ALTER TABLE ONLY ostinato_data.webhook_secret
    ADD CONSTRAINT webhook_secret_endpoint_id_fkey FOREIGN KEY (endpoint_id) REFERENCES ostinato_data.webhook_endpoint(id) ON DELETE CASCADE;
ALTER TABLE ostinato_data.alert ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.alert_firing ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.alert_silence ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.api_key ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.archive ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.archive_late ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.archive_rule ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.audit_entry ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.audit_entry_default ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.backup ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.bulk ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.bulk_refusal ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.cancel_request ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.child_tick ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.claim ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.claim_hint ENABLE ROW LEVEL SECURITY;
CREATE POLICY clock ON ostinato_data.test_clock FOR SELECT TO ostinato_tenant USING (true);
ALTER TABLE ostinato_data.dead_letter ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.death ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.deferral ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.delivery ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.doorbell ENABLE ROW LEVEL SECURITY;
CREATE POLICY engine ON ostinato_data.alert TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.alert_firing TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.alert_silence TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.api_key TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.archive TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.archive_late TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.archive_rule TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.audit_entry TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.audit_entry_default TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.backup TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.bulk TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.bulk_refusal TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.cancel_request TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.child_tick TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.claim TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.claim_hint TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.dead_letter TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.death TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.deferral TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.delivery TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.doorbell TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.event TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.event_default TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.event_log TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.event_log_default TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.event_sequencer TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.event_type TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.event_unsequenced TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.fault TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.idempotency TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.job TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.job_default TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.job_group TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.job_progress TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.job_unique TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.job_wait TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.job_wake TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.job_watch TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.kind TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.lease TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.machine TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.machine_table TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.machine_transition TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.metric_sample TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.metric_sample_default TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.outcome TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.outcome_default TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.quarantine TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.queue TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.rate_use TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.ready TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.schedule TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.schedule_due TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.schedule_fire TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.schedule_fire_default TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.scheduled TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.series TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.session TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.step TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.step_default TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.subscription TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.tenant_place TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.tenant_series TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.test_clock TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.tick TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.transition TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.transition_default TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.transition_pass TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.wait_gate TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.webhook_attempt TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.webhook_attempt_default TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.webhook_delivery TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.webhook_endpoint TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.webhook_message TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.webhook_receipt TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.webhook_secret TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
CREATE POLICY engine ON ostinato_data.worker TO ostinato_owner, ostinato_worker USING (true) WITH CHECK (true);
ALTER TABLE ostinato_data.event ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.event_default ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.event_log ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.event_log_default ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.event_sequencer ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.event_type ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.event_unsequenced ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.fault ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.idempotency ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.job ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.job_default ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.job_group ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.job_progress ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.job_unique ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.job_wait ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.job_wake ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.job_watch ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.kind ENABLE ROW LEVEL SECURITY;
CREATE POLICY kinds ON ostinato_data.kind FOR SELECT TO ostinato_tenant USING (true);
ALTER TABLE ostinato_data.lease ENABLE ROW LEVEL SECURITY;
CREATE POLICY look ON ostinato_data.migration FOR SELECT TO ostinato_worker USING (true);
ALTER TABLE ostinato_data.machine ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.machine_table ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.machine_transition ENABLE ROW LEVEL SECURITY;
CREATE POLICY machines ON ostinato_data.machine FOR SELECT TO ostinato_tenant USING (true);
CREATE POLICY machines ON ostinato_data.machine_table FOR SELECT TO ostinato_tenant USING (true);
CREATE POLICY machines ON ostinato_data.machine_transition FOR SELECT TO ostinato_tenant USING (true);
ALTER TABLE ostinato_data.metric_sample ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.metric_sample_default ENABLE ROW LEVEL SECURITY;
CREATE POLICY migrate ON ostinato_data.migration TO ostinato_owner USING (true) WITH CHECK (true);
ALTER TABLE ostinato_data.migration ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.outcome ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.outcome_default ENABLE ROW LEVEL SECURITY;
CREATE POLICY owner ON ostinato_data.subject_secret TO ostinato_owner USING (true) WITH CHECK (true);
ALTER TABLE ostinato_data.quarantine ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.queue ENABLE ROW LEVEL SECURITY;
CREATE POLICY queues ON ostinato_data.queue FOR SELECT TO ostinato_tenant USING ((NULLIF(current_setting('app.tenant_id'::text, true), ''::text) IS NOT NULL));
ALTER TABLE ostinato_data.rate_use ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.ready ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.schedule ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.schedule_due ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.schedule_fire ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.schedule_fire_default ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.scheduled ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.series ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.session ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.step ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.step_default ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.subject_secret ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.subscription ENABLE ROW LEVEL SECURITY;
CREATE POLICY tenant ON ostinato_data.audit_entry TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.bulk TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.bulk_refusal TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.cancel_request FOR SELECT TO ostinato_tenant USING ((EXISTS ( SELECT
   FROM ostinato_data.job j
  WHERE (j.id = cancel_request.job_id))));
CREATE POLICY tenant ON ostinato_data.child_tick TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.dead_letter TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.deferral FOR SELECT TO ostinato_tenant USING ((EXISTS ( SELECT
   FROM ostinato_data.job j
  WHERE (j.id = deferral.job_id))));
CREATE POLICY tenant ON ostinato_data.delivery FOR SELECT TO ostinato_tenant USING ((EXISTS ( SELECT
   FROM ostinato_data.job j
  WHERE (j.id = delivery.job_id))));
CREATE POLICY tenant ON ostinato_data.event TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.event_default TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.event_log TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.event_log_default TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.event_unsequenced TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.idempotency TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.job TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.job_group TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.job_progress FOR SELECT TO ostinato_tenant USING ((EXISTS ( SELECT
   FROM ostinato_data.job j
  WHERE (j.id = job_progress.job_id))));
CREATE POLICY tenant ON ostinato_data.job_unique TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.job_wait FOR SELECT TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.job_watch TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.lease TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.outcome FOR SELECT TO ostinato_tenant USING ((EXISTS ( SELECT
   FROM ostinato_data.job j
  WHERE (j.id = outcome.job_id))));
CREATE POLICY tenant ON ostinato_data.quarantine FOR SELECT TO ostinato_tenant USING ((EXISTS ( SELECT
   FROM ostinato_data.job j
  WHERE (j.id = quarantine.job_id))));
CREATE POLICY tenant ON ostinato_data.ready TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.schedule TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.schedule_due TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.schedule_fire TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.scheduled TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.step FOR SELECT TO ostinato_tenant USING ((EXISTS ( SELECT
   FROM ostinato_data.job j
  WHERE (j.id = step.job_id))));
CREATE POLICY tenant ON ostinato_data.tenant_place TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.tenant_series TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.transition TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.webhook_attempt TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.webhook_delivery TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.webhook_endpoint TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
CREATE POLICY tenant ON ostinato_data.webhook_message TO ostinato_tenant USING ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text))) WITH CHECK ((tenant_id = NULLIF(current_setting('app.tenant_id'::text, true), ''::text)));
ALTER TABLE ostinato_data.tenant_place ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.tenant_series ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.test_clock ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.tick ENABLE ROW LEVEL SECURITY;
CREATE POLICY tick ON ostinato_data.tick FOR SELECT TO ostinato_tenant USING (true);
ALTER TABLE ostinato_data.transition ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.transition_default ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.transition_pass ENABLE ROW LEVEL SECURITY;
CREATE POLICY types ON ostinato_data.event_type FOR SELECT TO ostinato_tenant USING (true);
ALTER TABLE ostinato_data.wait_gate ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.webhook_attempt ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.webhook_attempt_default ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.webhook_delivery ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.webhook_endpoint ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.webhook_message ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.webhook_receipt ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.webhook_secret ENABLE ROW LEVEL SECURITY;
ALTER TABLE ostinato_data.worker ENABLE ROW LEVEL SECURITY;
CREATE POLICY workers ON ostinato_data.worker FOR SELECT TO ostinato_tenant USING ((NULLIF(current_setting('app.tenant_id'::text, true), ''::text) IS NOT NULL));
GRANT USAGE ON SCHEMA ostinato TO ostinato_worker;
GRANT USAGE ON SCHEMA ostinato TO ostinato_tenant;
GRANT USAGE ON SCHEMA ostinato_data TO ostinato_worker;
GRANT USAGE ON SCHEMA ostinato_data TO ostinato_tenant;
GRANT USAGE ON SCHEMA ostinato_internal TO ostinato_worker;
GRANT USAGE ON SCHEMA ostinato_internal TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.abandon_idempotent(scope text, key text, token bigint, forget boolean, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.abandon_idempotent(scope text, key text, token bigint, forget boolean, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.abandon_idempotent(scope text, key text, token bigint, forget boolean, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.accept_webhook(source text, message_id text, keep_seconds double precision, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.accept_webhook(source text, message_id text, keep_seconds double precision, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.accept_webhook(source text, message_id text, keep_seconds double precision, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.acknowledge_alert(name text, label text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.acknowledge_alert(name text, label text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.acknowledge_alert(name text, label text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.acquire_lease(name text, holder text, ttl_seconds double precision, job_id bigint, job_attempt integer, tenant_id text, OUT acquired boolean, OUT token bigint, OUT attempt integer, OUT held_by text, OUT since timestamp with time zone, OUT until timestamp with time zone, OUT lifetime text, OUT held_job_id bigint, OUT held_job_attempt integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.acquire_lease(name text, holder text, ttl_seconds double precision, job_id bigint, job_attempt integer, tenant_id text, OUT acquired boolean, OUT token bigint, OUT attempt integer, OUT held_by text, OUT since timestamp with time zone, OUT until timestamp with time zone, OUT lifetime text, OUT held_job_id bigint, OUT held_job_attempt integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.acquire_lease(name text, holder text, ttl_seconds double precision, job_id bigint, job_attempt integer, tenant_id text, OUT acquired boolean, OUT token bigint, OUT attempt integer, OUT held_by text, OUT since timestamp with time zone, OUT until timestamp with time zone, OUT lifetime text, OUT held_job_id bigint, OUT held_job_attempt integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.act_as(actor text, reason text, user_id text, key_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.act_as(actor text, reason text, user_id text, key_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.act_as(actor text, reason text, user_id text, key_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.acting_tenant() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.acting_tenant() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.acting_tenant() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.alert_failures() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.alert_failures() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.alert_failures() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.allowed_events(machine text, state text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.allowed_events(machine text, state text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.allowed_events(machine text, state text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.arrive(tenant_id text, move_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.arrive(tenant_id text, move_id uuid) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.arrive(tenant_id text, move_id uuid) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.attach_machine(machine text, entity text, id_column text, state_column text, tenant_column text) FROM PUBLIC;
REVOKE ALL ON FUNCTION ostinato.await_jobs(worker_id uuid, queue text, wanted integer, patience double precision, kinds text[], cursor text, suspects boolean, starts integer, apart text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.await_jobs(worker_id uuid, queue text, wanted integer, patience double precision, kinds text[], cursor text, suspects boolean, starts integer, apart text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.await_jobs(worker_id uuid, queue text, wanted integer, patience double precision, kinds text[], cursor text, suspects boolean, starts integer, apart text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.begin_idempotent(scope text, key text, fingerprint text, fields json, declaration text, holder text, lease_seconds double precision, ttl_seconds double precision, tenant_id text, wait boolean, OUT decision text, OUT token bigint, OUT attempt integer, OUT held_by text, OUT since timestamp with time zone, OUT until timestamp with time zone, OUT answer json, OUT resource text, OUT finished_at timestamp with time zone, OUT expires_at timestamp with time zone, OUT differing text[], OUT declaration_changed boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.begin_idempotent(scope text, key text, fingerprint text, fields json, declaration text, holder text, lease_seconds double precision, ttl_seconds double precision, tenant_id text, wait boolean, OUT decision text, OUT token bigint, OUT attempt integer, OUT held_by text, OUT since timestamp with time zone, OUT until timestamp with time zone, OUT answer json, OUT resource text, OUT finished_at timestamp with time zone, OUT expires_at timestamp with time zone, OUT differing text[], OUT declaration_changed boolean) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.begin_idempotent(scope text, key text, fingerprint text, fields json, declaration text, holder text, lease_seconds double precision, ttl_seconds double precision, tenant_id text, wait boolean, OUT decision text, OUT token bigint, OUT attempt integer, OUT held_by text, OUT since timestamp with time zone, OUT until timestamp with time zone, OUT answer json, OUT resource text, OUT finished_at timestamp with time zone, OUT expires_at timestamp with time zone, OUT differing text[], OUT declaration_changed boolean) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.begin_idempotent(scope character varying, key text, fingerprint text, fields jsonb, declaration text, holder text, lease_seconds double precision, ttl_seconds double precision, tenant_id text, wait boolean, OUT decision text, OUT token bigint, OUT attempt integer, OUT held_by text, OUT since timestamp with time zone, OUT until timestamp with time zone, OUT answer json, OUT resource text, OUT finished_at timestamp with time zone, OUT expires_at timestamp with time zone, OUT differing text[], OUT declaration_changed boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.begin_idempotent(scope character varying, key text, fingerprint text, fields jsonb, declaration text, holder text, lease_seconds double precision, ttl_seconds double precision, tenant_id text, wait boolean, OUT decision text, OUT token bigint, OUT attempt integer, OUT held_by text, OUT since timestamp with time zone, OUT until timestamp with time zone, OUT answer json, OUT resource text, OUT finished_at timestamp with time zone, OUT expires_at timestamp with time zone, OUT differing text[], OUT declaration_changed boolean) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.begin_idempotent(scope character varying, key text, fingerprint text, fields jsonb, declaration text, holder text, lease_seconds double precision, ttl_seconds double precision, tenant_id text, wait boolean, OUT decision text, OUT token bigint, OUT attempt integer, OUT held_by text, OUT since timestamp with time zone, OUT until timestamp with time zone, OUT answer json, OUT resource text, OUT finished_at timestamp with time zone, OUT expires_at timestamp with time zone, OUT differing text[], OUT declaration_changed boolean) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.begin_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], alone boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.begin_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], alone boolean) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.begin_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], alone boolean) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.begin_request(request json, OUT token bigint, OUT answer json, OUT replayed boolean, OUT refused json) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.begin_request(request json, OUT token bigint, OUT answer json, OUT replayed boolean, OUT refused json) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.begin_request(request json, OUT token bigint, OUT answer json, OUT replayed boolean, OUT refused json) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.cancel_job(job_id bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.cancel_job(job_id bigint, reason text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.cancel_job(job_id bigint, reason text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.cancel_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], reasons text[], durations integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.cancel_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], reasons text[], durations integer[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.cancel_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], reasons text[], durations integer[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.catch_up_schedule(name text, since timestamp with time zone, until timestamp with time zone, tenant_id text, most integer, preview boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.catch_up_schedule(name text, since timestamp with time zone, until timestamp with time zone, tenant_id text, most integer, preview boolean) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.catch_up_schedule(name text, since timestamp with time zone, until timestamp with time zone, tenant_id text, most integer, preview boolean) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.change_webhook_endpoint(name text, tenant_id text, url text, event_types text[], description text, headers json, retry json, timeout_seconds double precision, disable_after_seconds double precision, header_values text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.change_webhook_endpoint(name text, tenant_id text, url text, event_types text[], description text, headers json, retry json, timeout_seconds double precision, disable_after_seconds double precision, header_values text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.change_webhook_endpoint(name text, tenant_id text, url text, event_types text[], description text, headers json, retry json, timeout_seconds double precision, disable_after_seconds double precision, header_values text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.change_webhook_endpoint(name character varying, tenant_id text, url text, event_types text[], description text, headers jsonb, retry jsonb, timeout_seconds double precision, disable_after_seconds double precision, header_values text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.change_webhook_endpoint(name character varying, tenant_id text, url text, event_types text[], description text, headers jsonb, retry jsonb, timeout_seconds double precision, disable_after_seconds double precision, header_values text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.change_webhook_endpoint(name character varying, tenant_id text, url text, event_types text[], description text, headers jsonb, retry jsonb, timeout_seconds double precision, disable_after_seconds double precision, header_values text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.check_open_kind(kind text, queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.check_open_kind(kind text, queue text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.check_open_kind(kind text, queue text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.claim_jobs(worker_id uuid, queue text, wanted integer, kinds text[], cursor text, suspects boolean, starts integer, apart text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.claim_jobs(worker_id uuid, queue text, wanted integer, kinds text[], cursor text, suspects boolean, starts integer, apart text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.claim_jobs(worker_id uuid, queue text, wanted integer, kinds text[], cursor text, suspects boolean, starts integer, apart text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.close_pass(pass_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.close_pass(pass_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.close_pass(pass_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.close_portals(tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.close_portals(tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.close_portals(tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.close_session(session_id bigint, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.close_session(session_id bigint, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.close_session(session_id bigint, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.complete_job(job_id bigint, attempt integer, result anycompatible, duration_ms integer, claim_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.complete_job(job_id bigint, attempt integer, result anycompatible, duration_ms integer, claim_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.complete_job(job_id bigint, attempt integer, result anycompatible, duration_ms integer, claim_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.complete_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], durations integer[], results text[], in_transaction boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.complete_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], durations integer[], results text[], in_transaction boolean) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.complete_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], durations integer[], results text[], in_transaction boolean) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.complete_webhook_deliveries(deliveries json) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.complete_webhook_deliveries(deliveries json) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.complete_webhook_deliveries(deliveries json) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.configure_queue(name text, concurrency integer, rate_count integer, rate_seconds double precision, key_concurrency integer, key_rate_count integer, key_rate_seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.configure_queue(name text, concurrency integer, rate_count integer, rate_seconds double precision, key_concurrency integer, key_rate_count integer, key_rate_seconds double precision) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.configure_queue(name text, concurrency integer, rate_count integer, rate_seconds double precision, key_concurrency integer, key_rate_count integer, key_rate_seconds double precision) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.contract(OUT current integer, OUT oldest integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.contract(OUT current integer, OUT oldest integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.contract(OUT current integer, OUT oldest integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.correlation(given text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.correlation(given text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.correlation(given text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.count_held_jobs(tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.count_held_jobs(tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.count_held_jobs(tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.count_sealed(entity text, "column" text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.count_sealed(entity text, "column" text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.count_sealed(entity text, "column" text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.count_states(machine text, most integer, sample integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.count_states(machine text, most integer, sample integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.count_states(machine text, most integer, sample integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.create_api_key(key_id bigint, hash bytea, tenant_id text, subject text, roles text[], name text, expires_seconds double precision, replaces bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.create_api_key(key_id bigint, hash bytea, tenant_id text, subject text, roles text[], name text, expires_seconds double precision, replaces bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.create_api_key(key_id bigint, hash bytea, tenant_id text, subject text, roles text[], name text, expires_seconds double precision, replaces bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.create_webhook_endpoint(name text, url text, event_types text[], tenant_id text, description text, headers json, retry json, timeout_seconds double precision, disable_after_seconds double precision, ordered boolean, endpoint_id bigint, secret text, secret_hint text, header_values text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.create_webhook_endpoint(name text, url text, event_types text[], tenant_id text, description text, headers json, retry json, timeout_seconds double precision, disable_after_seconds double precision, ordered boolean, endpoint_id bigint, secret text, secret_hint text, header_values text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.create_webhook_endpoint(name text, url text, event_types text[], tenant_id text, description text, headers json, retry json, timeout_seconds double precision, disable_after_seconds double precision, ordered boolean, endpoint_id bigint, secret text, secret_hint text, header_values text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.create_webhook_endpoint(name character varying, url text, event_types text[], tenant_id text, description text, headers jsonb, retry jsonb, timeout_seconds double precision, disable_after_seconds double precision, ordered boolean, endpoint_id bigint, secret text, secret_hint text, header_values text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.create_webhook_endpoint(name character varying, url text, event_types text[], tenant_id text, description text, headers jsonb, retry jsonb, timeout_seconds double precision, disable_after_seconds double precision, ordered boolean, endpoint_id bigint, secret text, secret_hint text, header_values text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.create_webhook_endpoint(name character varying, url text, event_types text[], tenant_id text, description text, headers jsonb, retry jsonb, timeout_seconds double precision, disable_after_seconds double precision, ordered boolean, endpoint_id bigint, secret text, secret_hint text, header_values text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.dead_letter_groups(most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.dead_letter_groups(most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.dead_letter_groups(most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.declare_alerts(owners text[], alerts anycompatible) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.declare_alerts(owners text[], alerts anycompatible) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.declare_alerts(owners text[], alerts anycompatible) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.defer_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[], errors text[], signatures text[], reasons text[], durations integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.defer_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[], errors text[], signatures text[], reasons text[], durations integer[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.defer_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[], errors text[], signatures text[], reasons text[], durations integer[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.delete_schedule(name text, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.delete_schedule(name text, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.delete_schedule(name text, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.discard(subscription text, positions bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.discard(subscription text, positions bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.discard(subscription text, positions bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.dispatch_events(most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.dispatch_events(most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.dispatch_events(most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.drain_worker(worker_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.drain_worker(worker_id uuid) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.drain_worker(worker_id uuid) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.drop_subscription(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.drop_subscription(name text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.drop_subscription(name text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.due_alerts(every interval) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.due_alerts(every interval) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.due_alerts(every interval) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.due_for_archive(retention_days integer, audit_days integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.due_for_archive(retention_days integer, audit_days integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.due_for_archive(retention_days integer, audit_days integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.emit_event(type text, payload json, ordering_key text, version integer, tenant_id text, correlation_id text, occurred_at timestamp with time zone, producer text, subject text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.emit_event(type text, payload json, ordering_key text, version integer, tenant_id text, correlation_id text, occurred_at timestamp with time zone, producer text, subject text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.emit_event(type text, payload json, ordering_key text, version integer, tenant_id text, correlation_id text, occurred_at timestamp with time zone, producer text, subject text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.emit_event(type character varying, payload jsonb, ordering_key text, version integer, tenant_id text, correlation_id text, occurred_at timestamp with time zone, producer text, subject text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.emit_event(type character varying, payload jsonb, ordering_key text, version integer, tenant_id text, correlation_id text, occurred_at timestamp with time zone, producer text, subject text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.emit_event(type character varying, payload jsonb, ordering_key text, version integer, tenant_id text, correlation_id text, occurred_at timestamp with time zone, producer text, subject text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.emit_events(types text[], payloads text[], ordering_keys text[], versions integer[], tenant_ids text[], correlation_ids text[], occurred_ats timestamp with time zone[], producers text[], as_of_now boolean, subjects text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.emit_events(types text[], payloads text[], ordering_keys text[], versions integer[], tenant_ids text[], correlation_ids text[], occurred_ats timestamp with time zone[], producers text[], as_of_now boolean, subjects text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.emit_events(types text[], payloads text[], ordering_keys text[], versions integer[], tenant_ids text[], correlation_ids text[], occurred_ats timestamp with time zone[], producers text[], as_of_now boolean, subjects text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.engine_stats(OUT ready bigint, OUT scheduled bigint, OUT due bigint, OUT running bigint, OUT dead bigint, OUT estimated text[], OUT workers bigint, OUT expired_workers bigint, OUT oldest_ready double precision, OUT xmin_age bigint, OUT ready_dead_tuples bigint, OUT default_bytes bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.engine_stats(OUT ready bigint, OUT scheduled bigint, OUT due bigint, OUT running bigint, OUT dead bigint, OUT estimated text[], OUT workers bigint, OUT expired_workers bigint, OUT oldest_ready double precision, OUT xmin_age bigint, OUT ready_dead_tuples bigint, OUT default_bytes bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.engine_stats(OUT ready bigint, OUT scheduled bigint, OUT due bigint, OUT running bigint, OUT dead bigint, OUT estimated text[], OUT workers bigint, OUT expired_workers bigint, OUT oldest_ready double precision, OUT xmin_age bigint, OUT ready_dead_tuples bigint, OUT default_bytes bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.enqueue_job(kind text, args json, queue text, priority integer, run_at timestamp with time zone, tenant_id text, correlation_id text, limit_key text, unique_key text, unique_policy text, unique_states text[], max_attempts integer, limit_scope text, subject text, traceparent text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.enqueue_job(kind text, args json, queue text, priority integer, run_at timestamp with time zone, tenant_id text, correlation_id text, limit_key text, unique_key text, unique_policy text, unique_states text[], max_attempts integer, limit_scope text, subject text, traceparent text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.enqueue_job(kind text, args json, queue text, priority integer, run_at timestamp with time zone, tenant_id text, correlation_id text, limit_key text, unique_key text, unique_policy text, unique_states text[], max_attempts integer, limit_scope text, subject text, traceparent text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.enqueue_job(kind character varying, args jsonb, queue text, priority integer, run_at timestamp with time zone, tenant_id text, correlation_id text, limit_key text, unique_key text, unique_policy text, unique_states text[], max_attempts integer, limit_scope text, subject text, traceparent text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.enqueue_job(kind character varying, args jsonb, queue text, priority integer, run_at timestamp with time zone, tenant_id text, correlation_id text, limit_key text, unique_key text, unique_policy text, unique_states text[], max_attempts integer, limit_scope text, subject text, traceparent text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.enqueue_job(kind character varying, args jsonb, queue text, priority integer, run_at timestamp with time zone, tenant_id text, correlation_id text, limit_key text, unique_key text, unique_policy text, unique_states text[], max_attempts integer, limit_scope text, subject text, traceparent text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.enqueue_job_as(as_tenant text, as_correlation text, as_user text, as_key bigint, kind text, args json, place text, queue text, priority integer, run_at timestamp with time zone, delay double precision, limit_key text, unique_key text, max_attempts integer, subject text, request json, reason text, traceparent text, OUT answer json, OUT replayed boolean, OUT refused json, OUT queues text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.enqueue_job_as(as_tenant text, as_correlation text, as_user text, as_key bigint, kind text, args json, place text, queue text, priority integer, run_at timestamp with time zone, delay double precision, limit_key text, unique_key text, max_attempts integer, subject text, request json, reason text, traceparent text, OUT answer json, OUT replayed boolean, OUT refused json, OUT queues text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.enqueue_job_as(as_tenant text, as_correlation text, as_user text, as_key bigint, kind text, args json, place text, queue text, priority integer, run_at timestamp with time zone, delay double precision, limit_key text, unique_key text, max_attempts integer, subject text, request json, reason text, traceparent text, OUT answer json, OUT replayed boolean, OUT refused json, OUT queues text[]) TO ostinato_api;
REVOKE ALL ON FUNCTION ostinato.enqueue_jobs(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], unique_keys text[], max_attempts integer[], limit_scopes text[], subjects text[], parent_id bigint, group_id bigint, traceparent text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.enqueue_jobs(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], unique_keys text[], max_attempts integer[], limit_scopes text[], subjects text[], parent_id bigint, group_id bigint, traceparent text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.enqueue_jobs(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], unique_keys text[], max_attempts integer[], limit_scopes text[], subjects text[], parent_id bigint, group_id bigint, traceparent text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.enqueue_or_attach(name text, kind text, args json, queue text, priority integer, run_at timestamp with time zone, tenant_id text, correlation_id text, limit_key text, max_attempts integer, limit_scope text, subject text, OUT job_id bigint, OUT attached boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.enqueue_or_attach(name text, kind text, args json, queue text, priority integer, run_at timestamp with time zone, tenant_id text, correlation_id text, limit_key text, max_attempts integer, limit_scope text, subject text, OUT job_id bigint, OUT attached boolean) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.enqueue_or_attach(name text, kind text, args json, queue text, priority integer, run_at timestamp with time zone, tenant_id text, correlation_id text, limit_key text, max_attempts integer, limit_scope text, subject text, OUT job_id bigint, OUT attached boolean) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.enqueue_or_attach(name character varying, kind text, args jsonb, queue text, priority integer, run_at timestamp with time zone, tenant_id text, correlation_id text, limit_key text, max_attempts integer, limit_scope text, subject text, OUT job_id bigint, OUT attached boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.enqueue_or_attach(name character varying, kind text, args jsonb, queue text, priority integer, run_at timestamp with time zone, tenant_id text, correlation_id text, limit_key text, max_attempts integer, limit_scope text, subject text, OUT job_id bigint, OUT attached boolean) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.enqueue_or_attach(name character varying, kind text, args jsonb, queue text, priority integer, run_at timestamp with time zone, tenant_id text, correlation_id text, limit_key text, max_attempts integer, limit_scope text, subject text, OUT job_id bigint, OUT attached boolean) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.enter_flow(tenant_id text, correlation_id text, subject text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.enter_flow(tenant_id text, correlation_id text, subject text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.enter_flow(tenant_id text, correlation_id text, subject text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.enter_session(ticket bytea, hash bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.enter_session(ticket bytea, hash bytea) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.enter_session(ticket bytea, hash bytea) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.enter_tenant(tenant_id text, correlation_id text, user_id text, key_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.enter_tenant(tenant_id text, correlation_id text, user_id text, key_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.enter_tenant(tenant_id text, correlation_id text, user_id text, key_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.erase_subject(subject text, tenant_id text, preview boolean, keep_live boolean, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.erase_subject(subject text, tenant_id text, preview boolean, keep_live boolean, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.erase_subject(subject text, tenant_id text, preview boolean, keep_live boolean, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.evaluate_alerts(every interval, names text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.evaluate_alerts(every interval, names text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.evaluate_alerts(every interval, names text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.event_deliveries(event_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.event_deliveries(event_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.event_deliveries(event_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.existing_weeks() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.existing_weeks() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.existing_weeks() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.fail_alerts(names text[], every interval, error text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.fail_alerts(names text[], every interval, error text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.fail_alerts(names text[], every interval, error text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.fail_job(job_id bigint, attempt integer, error anycompatible, delay_seconds double precision, signature text, claim_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.fail_job(job_id bigint, attempt integer, error anycompatible, delay_seconds double precision, signature text, claim_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.fail_job(job_id bigint, attempt integer, error anycompatible, delay_seconds double precision, signature text, claim_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.fail_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[], errors text[], signatures text[], reasons text[], durations integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.fail_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[], errors text[], signatures text[], reasons text[], durations integer[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.fail_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[], errors text[], signatures text[], reasons text[], durations integer[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.fan_out_webhooks(most integer, OUT events integer, OUT deliveries integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.fan_out_webhooks(most integer, OUT events integer, OUT deliveries integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.fan_out_webhooks(most integer, OUT events integer, OUT deliveries integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.fence_job(job_id bigint, attempt integer, claim_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.fence_job(job_id bigint, attempt integer, claim_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.fence_job(job_id bigint, attempt integer, claim_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.fence_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.fence_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.fence_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.find_api_key(key_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.find_api_key(key_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.find_api_key(key_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.find_dead_letters(queue text, kind text, tenant_id text, signature text, ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.find_dead_letters(queue text, kind text, tenant_id text, signature text, ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.find_dead_letters(queue text, kind text, tenant_id text, signature text, ids bigint[]) TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.session TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.find_sessions(hashes bytea[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.find_sessions(hashes bytea[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.find_sessions(hashes bytea[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.find_webhook_deliveries(name text, tenant_id text, states text[], since timestamp with time zone, event_ids text[], ids bigint[], most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.find_webhook_deliveries(name text, tenant_id text, states text[], since timestamp with time zone, event_ids text[], ids bigint[], most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.find_webhook_deliveries(name text, tenant_id text, states text[], since timestamp with time zone, event_ids text[], ids bigint[], most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.finish_idempotent(scope text, key text, token bigint, answer json, resource text, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.finish_idempotent(scope text, key text, token bigint, answer json, resource text, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.finish_idempotent(scope text, key text, token bigint, answer json, resource text, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.finish_idempotent(scope character varying, key text, token bigint, answer jsonb, resource text, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.finish_idempotent(scope character varying, key text, token bigint, answer jsonb, resource text, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.finish_idempotent(scope character varying, key text, token bigint, answer jsonb, resource text, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.finish_late(name text, rows bigint, bytes bigint, sha256 text, file text, place text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.finish_late(name text, rows bigint, bytes bigint, sha256 text, file text, place text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.finish_late(name text, rows bigint, bytes bigint, sha256 text, file text, place text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.finish_request(request json, token bigint, answer json) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.finish_request(request json, token bigint, answer json) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.finish_request(request json, token bigint, answer json) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.fire_schedules(most integer, OUT looked integer, OUT undone integer, OUT fired integer, OUT missed integer, OUT broken integer, OUT queues text[], OUT lateness double precision[], OUT next_due double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.fire_schedules(most integer, OUT looked integer, OUT undone integer, OUT fired integer, OUT missed integer, OUT broken integer, OUT queues text[], OUT lateness double precision[], OUT next_due double precision) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.fire_schedules(most integer, OUT looked integer, OUT undone integer, OUT fired integer, OUT missed integer, OUT broken integer, OUT queues text[], OUT lateness double precision[], OUT next_due double precision) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.follow_jobs(job_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.follow_jobs(job_ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.follow_jobs(job_ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.forget_backup(label text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.forget_backup(label text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.forget_backup(label text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.give_up_move(tenant_id text, move_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.give_up_move(tenant_id text, move_id uuid) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.give_up_move(tenant_id text, move_id uuid) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.guard_lease(name text, token bigint, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.guard_lease(name text, token bigint, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.guard_lease(name text, token bigint, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.hasten_jobs(job_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.hasten_jobs(job_ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.hasten_jobs(job_ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.heal_lanes() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.heal_lanes() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.heal_lanes() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.heal_webhooks(most integer, endpoints integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.heal_webhooks(most integer, endpoints integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.heal_webhooks(most integer, endpoints integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.heartbeat_worker(worker_id uuid, draining boolean, blocked_by text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.heartbeat_worker(worker_id uuid, draining boolean, blocked_by text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.heartbeat_worker(worker_id uuid, draining boolean, blocked_by text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.install_machine(definition json) FROM PUBLIC;
REVOKE ALL ON FUNCTION ostinato.is_sealed(value text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.is_sealed(value text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.is_sealed(value text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.job_attempts(job_id bigint, most integer, longest integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.job_attempts(job_id bigint, most integer, longest integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.job_attempts(job_id bigint, most integer, longest integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.job_groups(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.job_groups(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.job_groups(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.job_state(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.job_state(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.job_state(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.job_steps(job_id bigint, most integer, longest integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.job_steps(job_id bigint, most integer, longest integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.job_steps(job_id bigint, most integer, longest integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.job_tree(job_id bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.job_tree(job_id bigint, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.job_tree(job_id bigint, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.join_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], positions integer[], spawns text[], policies text[], timeouts double precision[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.join_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], positions integer[], spawns text[], policies text[], timeouts double precision[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.join_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], positions integer[], spawns text[], policies text[], timeouts double precision[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.key_lock(tenant_id text, scope text, key text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.key_lock(tenant_id text, scope text, key text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.key_lock(tenant_id text, scope text, key text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.kind_schema(kind text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.kind_schema(kind text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.kind_schema(kind text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.knows_tenant(tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.knows_tenant(tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.knows_tenant(tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.last_fires(schedule_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.last_fires(schedule_ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.last_fires(schedule_ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.last_position() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.last_position() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.last_position() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.leave_lanes(job_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.leave_lanes(job_ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.leave_lanes(job_ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.limit_statements(seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.limit_statements(seconds double precision) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.limit_statements(seconds double precision) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.limited_queues(queues text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.limited_queues(queues text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.limited_queues(queues text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_alerts(tenant_id text, name text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_alerts(tenant_id text, name text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_alerts(tenant_id text, name text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_api_keys(tenant_id text, usable boolean, before bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_api_keys(tenant_id text, usable boolean, before bigint, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_api_keys(tenant_id text, usable boolean, before bigint, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_archive(after text, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_archive(after text, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_archive(after text, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_audit(actor text, verb text, target text, since timestamp with time zone, tenant_id text, before bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_audit(actor text, verb text, target text, since timestamp with time zone, tenant_id text, before bigint, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_audit(actor text, verb text, target text, since timestamp with time zone, tenant_id text, before bigint, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_backups(most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_backups(most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_backups(most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_bulk_refusals(bulk_id bigint, after bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_bulk_refusals(bulk_id bigint, after bigint, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_bulk_refusals(bulk_id bigint, after bigint, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_bulks(bulk_id bigint, before bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_bulks(bulk_id bigint, before bigint, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_bulks(bulk_id bigint, before bigint, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_buried(subscription text, before bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_buried(subscription text, before bigint, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_buried(subscription text, before bigint, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_children(parent_id bigint, group_id bigint, after bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_children(parent_id bigint, group_id bigint, after bigint, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_children(parent_id bigint, group_id bigint, after bigint, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_dead_letters(INOUT queue text, INOUT kind text, INOUT tenant_id text, INOUT signature text, before bigint, most integer, OUT job_id bigint, OUT attempt integer, OUT died_at timestamp with time zone, OUT reason text, OUT error text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_dead_letters(INOUT queue text, INOUT kind text, INOUT tenant_id text, INOUT signature text, before bigint, most integer, OUT job_id bigint, OUT attempt integer, OUT died_at timestamp with time zone, OUT reason text, OUT error text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_dead_letters(INOUT queue text, INOUT kind text, INOUT tenant_id text, INOUT signature text, before bigint, most integer, OUT job_id bigint, OUT attempt integer, OUT died_at timestamp with time zone, OUT reason text, OUT error text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_events(type text, ordering_key text, tenant_id text, correlation_id text, before bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_events(type text, ordering_key text, tenant_id text, correlation_id text, before bigint, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_events(type text, ordering_key text, tenant_id text, correlation_id text, before bigint, most integer) TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.fault TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.list_faults(within interval) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_faults(within interval) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_faults(within interval) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_fires(name text, tenant_id text, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_fires(name text, tenant_id text, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_fires(name text, tenant_id text, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_firings(name text, tenant text, open boolean, before bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_firings(name text, tenant text, open boolean, before bigint, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_firings(name text, tenant text, open boolean, before bigint, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_idempotency(of_scope text, prefix text, tenant_id text, after_tenant text, after_scope text, after_key text, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_idempotency(of_scope text, prefix text, tenant_id text, after_tenant text, after_scope text, after_key text, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_idempotency(of_scope text, prefix text, tenant_id text, after_tenant text, after_scope text, after_key text, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_jobs(INOUT state text, INOUT queue text, INOUT kind text, INOUT tenant_id text, INOUT correlation_id text, before bigint, most integer, ids bigint[], OUT id bigint, OUT priority smallint, OUT attempt integer, OUT failures integer, OUT created_at timestamp with time zone, OUT run_at timestamp with time zone, OUT finished_at timestamp with time zone, OUT error text, OUT reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_jobs(INOUT state text, INOUT queue text, INOUT kind text, INOUT tenant_id text, INOUT correlation_id text, before bigint, most integer, ids bigint[], OUT id bigint, OUT priority smallint, OUT attempt integer, OUT failures integer, OUT created_at timestamp with time zone, OUT run_at timestamp with time zone, OUT finished_at timestamp with time zone, OUT error text, OUT reason text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_jobs(INOUT state text, INOUT queue text, INOUT kind text, INOUT tenant_id text, INOUT correlation_id text, before bigint, most integer, ids bigint[], OUT id bigint, OUT priority smallint, OUT attempt integer, OUT failures integer, OUT created_at timestamp with time zone, OUT run_at timestamp with time zone, OUT finished_at timestamp with time zone, OUT error text, OUT reason text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_leases(prefix text, tenant_id text, most integer, after_tenant text, after_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_leases(prefix text, tenant_id text, most integer, after_tenant text, after_name text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_leases(prefix text, tenant_id text, most integer, after_tenant text, after_name text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_places(after text, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_places(after text, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_places(after text, most integer) TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.quarantine TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.quarantine TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_quarantine() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_quarantine() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_quarantine() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_queues(most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_queues(most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_queues(most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_samples(name text, since timestamp with time zone, until timestamp with time zone, step interval) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_samples(name text, since timestamp with time zone, until timestamp with time zone, step interval) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_samples(name text, since timestamp with time zone, until timestamp with time zone, step interval) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_schedules(tenant_id text, key text, owner text, kind text, after_tenant text, after_name text, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_schedules(tenant_id text, key text, owner text, kind text, after_tenant text, after_name text, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_schedules(tenant_id text, key text, owner text, kind text, after_tenant text, after_name text, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_series(since timestamp with time zone, until timestamp with time zone, step integer, queue text, kind text, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_series(since timestamp with time zone, until timestamp with time zone, step integer, queue text, kind text, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_series(since timestamp with time zone, until timestamp with time zone, step integer, queue text, kind text, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_sessions(tenant_id text, most integer, before bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_sessions(tenant_id text, most integer, before bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_sessions(tenant_id text, most integer, before bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_silences(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_silences(name text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_silences(name text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_subscriptions() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_subscriptions() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_subscriptions() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_tenants(after text, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_tenants(after text, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_tenants(after text, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_to_seal(entity text, "column" text, bound_to text[], newest text, most integer, skip text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_to_seal(entity text, "column" text, bound_to text[], newest text, most integer, skip text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_to_seal(entity text, "column" text, bound_to text[], newest text, most integer, skip text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_transitions(entity text, entity_id text, tenant_id text, before bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_transitions(entity text, entity_id text, tenant_id text, before bigint, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_transitions(entity text, entity_id text, tenant_id text, before bigint, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_webhook_attempts(name text, tenant_id text, delivery_id bigint, before bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_webhook_attempts(name text, tenant_id text, delivery_id bigint, before bigint, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_webhook_attempts(name text, tenant_id text, delivery_id bigint, before bigint, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_webhook_deliveries(name text, tenant_id text, state text, before bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_webhook_deliveries(name text, tenant_id text, state text, before bigint, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_webhook_deliveries(name text, tenant_id text, state text, before bigint, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_webhook_endpoints(tenant_id text, name text, failing boolean, after text[], most integer, sample integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_webhook_endpoints(tenant_id text, name text, failing boolean, after text[], most integer, sample integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_webhook_endpoints(tenant_id text, name text, failing boolean, after text[], most integer, sample integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.list_workers(most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.list_workers(most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.list_workers(most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.load_steps(job_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.load_steps(job_ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.load_steps(job_ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.local_instant(local timestamp without time zone, zone text, gap text, overlap text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.local_instant(local timestamp without time zone, zone text, gap text, overlap text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.local_instant(local timestamp without time zone, zone text, gap text, overlap text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.machine_gaps() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.machine_gaps() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.machine_gaps() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.make_answer(status integer, body text, header text, value text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.make_answer(status integer, body text, header text, value text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.make_answer(status integer, body text, header text, value text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.match_api_keys(key_ids bigint[], hashes bytea[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.match_api_keys(key_ids bigint[], hashes bytea[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.match_api_keys(key_ids bigint[], hashes bytea[]) TO ostinato_api;
REVOKE ALL ON FUNCTION ostinato.measure_alert(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.measure_alert(name text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.measure_alert(name text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.mend_webhooks(most integer, endpoints integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.mend_webhooks(most integer, endpoints integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.mend_webhooks(most integer, endpoints integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.move_job(job_id bigint, run_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.move_job(job_id bigint, run_at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.move_job(job_id bigint, run_at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.move_schedule(name text, cron text, zone text, gap text, overlap text, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.move_schedule(name text, cron text, zone text, gap text, overlap text, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.move_schedule(name text, cron text, zone text, gap text, overlap text, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.move_test_clock(by interval) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.move_test_clock(by interval) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.move_test_clock(by interval) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.never() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.never() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.never() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.new_id(at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.new_id(at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.new_id(at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.next_api_key_id() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.next_api_key_id() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.next_api_key_id() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.next_fires(name text, n integer, after timestamp with time zone, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.next_fires(name text, n integer, after timestamp with time zone, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.next_fires(name text, n integer, after timestamp with time zone, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.next_time(kinds text[], timeouts boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.next_time(kinds text[], timeouts boolean) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.next_time(kinds text[], timeouts boolean) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.note_action(verb text, noun text, target text, tenant_id text, job_ids bigint[], count bigint, filter json, detail json) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.note_action(verb text, noun text, target text, tenant_id text, job_ids bigint[], count bigint, filter json, detail json) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.note_action(verb text, noun text, target text, tenant_id text, job_ids bigint[], count bigint, filter json, detail json) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.note_action(verb character varying, noun text, target text, tenant_id text, job_ids bigint[], count bigint, filter jsonb, detail jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.note_action(verb character varying, noun text, target text, tenant_id text, job_ids bigint[], count bigint, filter jsonb, detail jsonb) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.note_action(verb character varying, noun text, target text, tenant_id text, job_ids bigint[], count bigint, filter jsonb, detail jsonb) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.note_api_key_use(key_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.note_api_key_use(key_ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.note_api_key_use(key_ids bigint[]) TO ostinato_api;
REVOKE ALL ON FUNCTION ostinato.note_fault(part text, message text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.note_fault(part text, message text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.note_fault(part text, message text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.note_progress(claim_ids bigint[], job_ids bigint[], attempts integer[], done double precision[], totals double precision[], notes text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.note_progress(claim_ids bigint[], job_ids bigint[], attempts integer[], done double precision[], totals double precision[], notes text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.note_progress(claim_ids bigint[], job_ids bigint[], attempts integer[], done double precision[], totals double precision[], notes text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.now() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.now() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.now() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.observe() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.observe() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.observe() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.observe_declared() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.observe_declared() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.observe_declared() TO ostinato_api;
REVOKE ALL ON FUNCTION ostinato.older_transactions(of text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.older_transactions(of text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.older_transactions(of text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.only_read() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.only_read() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.only_read() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.open_group(job_id bigint, "position" integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.open_group(job_id bigint, "position" integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.open_group(job_id bigint, "position" integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.open_pass(machine text, entity text, event text, by text, why text, correlation_id text, job_id bigint, attempt integer, correlation_ids jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.open_pass(machine text, entity text, event text, by text, why text, correlation_id text, job_id bigint, attempt integer, correlation_ids jsonb) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.open_pass(machine text, entity text, event text, by text, why text, correlation_id text, job_id bigint, attempt integer, correlation_ids jsonb) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.open_portal(hash bytea, seconds double precision, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.open_portal(hash bytea, seconds double precision, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.open_portal(hash bytea, seconds double precision, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.open_session(hash bytea, tenant_id text, subject text, roles text[], key_id bigint, ticket_seconds double precision, ends_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.open_session(hash bytea, tenant_id text, subject text, roles text[], key_id bigint, ticket_seconds double precision, ends_at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.open_session(hash bytea, tenant_id text, subject text, roles text[], key_id bigint, ticket_seconds double precision, ends_at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.open_waits(kinds text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.open_waits(kinds text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.open_waits(kinds text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.own_alerts() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.own_alerts() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.own_alerts() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.own_firings(name text, open boolean, before bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.own_firings(name text, open boolean, before bigint, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.own_firings(name text, open boolean, before bigint, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.own_signal_job(job_id bigint, payload anycompatible) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.own_signal_job(job_id bigint, payload anycompatible) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.own_signal_job(job_id bigint, payload anycompatible) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.pause_queue(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.pause_queue(name text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.pause_queue(name text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.pause_schedule(name text, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.pause_schedule(name text, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.pause_schedule(name text, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.pause_subscription(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.pause_subscription(name text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.pause_subscription(name text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.pause_webhook_endpoint(name text, reason text, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.pause_webhook_endpoint(name text, reason text, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.pause_webhook_endpoint(name text, reason text, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.poll_jobs(worker_id uuid, queues text[], max_crashes integer, OUT rescued integer, OUT promoted integer, OUT ready_queues text[], OUT next_due double precision, OUT cancels bigint[], OUT chores text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.poll_jobs(worker_id uuid, queues text[], max_crashes integer, OUT rescued integer, OUT promoted integer, OUT ready_queues text[], OUT next_due double precision, OUT cancels bigint[], OUT chores text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.poll_jobs(worker_id uuid, queues text[], max_crashes integer, OUT rescued integer, OUT promoted integer, OUT ready_queues text[], OUT next_due double precision, OUT cancels bigint[], OUT chores text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.preview_bulk(verb text, state text, filter anycompatible, OUT matching bigint, OUT capped boolean, OUT samples bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.preview_bulk(verb text, state text, filter anycompatible, OUT matching bigint, OUT capped boolean, OUT samples bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.preview_bulk(verb text, state text, filter anycompatible, OUT matching bigint, OUT capped boolean, OUT samples bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.preview_fires(cron text, at_time text, weekdays text[], at text, zone text, gap text, overlap text, n integer, after timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.preview_fires(cron text, at_time text, weekdays text[], at text, zone text, gap text, overlap text, n integer, after timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.preview_fires(cron text, at_time text, weekdays text[], at text, zone text, gap text, overlap text, n integer, after timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.probe_webhook_endpoint(name text, of_tenant text, OUT verdict text, OUT tenant_id text, OUT endpoint_id bigint, OUT endpoint text, OUT url text, OUT headers json, OUT secrets text[], OUT event_id text, OUT body text, OUT timeout_seconds double precision, OUT retry json, OUT sent_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.probe_webhook_endpoint(name text, of_tenant text, OUT verdict text, OUT tenant_id text, OUT endpoint_id bigint, OUT endpoint text, OUT url text, OUT headers json, OUT secrets text[], OUT event_id text, OUT body text, OUT timeout_seconds double precision, OUT retry json, OUT sent_at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.probe_webhook_endpoint(name text, of_tenant text, OUT verdict text, OUT tenant_id text, OUT endpoint_id bigint, OUT endpoint text, OUT url text, OUT headers json, OUT secrets text[], OUT event_id text, OUT body text, OUT timeout_seconds double precision, OUT retry json, OUT sent_at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.promote_jobs(most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.promote_jobs(most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.promote_jobs(most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.protect_table(entity text, tenant_column text) FROM PUBLIC;
REVOKE ALL ON FUNCTION ostinato.prune_alerts(retention_days integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.prune_alerts(retention_days integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.prune_alerts(retention_days integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.prune_api_keys(keep_days integer, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.prune_api_keys(keep_days integer, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.prune_api_keys(keep_days integer, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.prune_idempotency(most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.prune_idempotency(most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.prune_idempotency(most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.prune_leases(keep_seconds double precision, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.prune_leases(keep_seconds double precision, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.prune_leases(keep_seconds double precision, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.prune_series(retention_days integer, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.prune_series(retention_days integer, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.prune_series(retention_days integer, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.prune_sessions(most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.prune_sessions(most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.prune_sessions(most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.prune_webhooks(retention_days integer, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.prune_webhooks(retention_days integer, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.prune_webhooks(retention_days integer, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.queue_rates(since timestamp with time zone, until timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.queue_rates(since timestamp with time zone, until timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.queue_rates(since timestamp with time zone, until timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.queue_shares(queue text, cap integer, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.queue_shares(queue text, cap integer, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.queue_shares(queue text, cap integer, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.recompute_schedules(zones text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.recompute_schedules(zones text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.recompute_schedules(zones text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.reconcile_worker(worker_id uuid, held bigint[], seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.reconcile_worker(worker_id uuid, held bigint[], seconds double precision) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.reconcile_worker(worker_id uuid, held bigint[], seconds double precision) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.record_archive(name text, rows bigint, bytes bigint, sha256 text, file text, place text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.record_archive(name text, rows bigint, bytes bigint, sha256 text, file text, place text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.record_archive(name text, rows bigint, bytes bigint, sha256 text, file text, place text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.record_backup(label text, repository text, taken_at timestamp with time zone, bytes bigint, verified boolean, timeline integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.record_backup(label text, repository text, taken_at timestamp with time zone, bytes bigint, verified boolean, timeline integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.record_backup(label text, repository text, taken_at timestamp with time zone, bytes bigint, verified boolean, timeline integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.record_series(rows jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.record_series(rows jsonb) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.record_series(rows jsonb) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.redeliver(subscription text, positions bigint[], most integer, preview boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.redeliver(subscription text, positions bigint[], most integer, preview boolean) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.redeliver(subscription text, positions bigint[], most integer, preview boolean) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.redeliver_webhooks(name text, ids bigint[], tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.redeliver_webhooks(name text, ids bigint[], tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.redeliver_webhooks(name text, ids bigint[], tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.redrive_jobs(queue text, kind text, tenant_id text, signature text, ids bigint[], most integer, preview boolean, OUT matching bigint, OUT redriven bigint, OUT conflicts bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.redrive_jobs(queue text, kind text, tenant_id text, signature text, ids bigint[], most integer, preview boolean, OUT matching bigint, OUT redriven bigint, OUT conflicts bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.redrive_jobs(queue text, kind text, tenant_id text, signature text, ids bigint[], most integer, preview boolean, OUT matching bigint, OUT redriven bigint, OUT conflicts bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.refuse_filtered_reads() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.refuse_filtered_reads() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.refuse_filtered_reads() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.register_event_types(names text[], versions integer[], schemas text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.register_event_types(names text[], versions integer[], schemas text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.register_event_types(names text[], versions integer[], schemas text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.register_kinds(names text[], queues text[], priorities integer[], timeouts double precision[], retries text[], schemas text[], secrets text[], opens boolean[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.register_kinds(names text[], queues text[], priorities integer[], timeouts double precision[], retries text[], schemas text[], secrets text[], opens boolean[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.register_kinds(names text[], queues text[], priorities integer[], timeouts double precision[], retries text[], schemas text[], secrets text[], opens boolean[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.register_worker(name text, queues text[], kinds text[], expiry_seconds double precision, contract integer, release text, places integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.register_worker(name text, queues text[], kinds text[], expiry_seconds double precision, contract integer, release text, places integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.register_worker(name text, queues text[], kinds text[], expiry_seconds double precision, contract integer, release text, places integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.rehearse_alert(name text, label text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.rehearse_alert(name text, label text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.rehearse_alert(name text, label text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.rekind_jobs(old text, new text, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.rekind_jobs(old text, new text, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.rekind_jobs(old text, new text, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.release_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.release_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.release_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.release_lease(name text, token bigint, force boolean, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.release_lease(name text, token bigint, force boolean, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.release_lease(name text, token bigint, force boolean, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.remove_webhook_endpoint(name text, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.remove_webhook_endpoint(name text, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.remove_webhook_endpoint(name text, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.renew_idempotent(scope text, key text, token bigint, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.renew_idempotent(scope text, key text, token bigint, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.renew_idempotent(scope text, key text, token bigint, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.renew_lease(name text, token bigint, ttl_seconds double precision, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.renew_lease(name text, token bigint, ttl_seconds double precision, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.renew_lease(name text, token bigint, ttl_seconds double precision, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.replay(subscription text, from_position bigint, from_time timestamp with time zone, preview boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.replay(subscription text, from_position bigint, from_time timestamp with time zone, preview boolean) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.replay(subscription text, from_position bigint, from_time timestamp with time zone, preview boolean) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.require_archive(place text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.require_archive(place text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.require_archive(place text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.rescue_jobs(max_crashes integer, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.rescue_jobs(max_crashes integer, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.rescue_jobs(max_crashes integer, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.reseal(entity text, "column" text, places text[], olds text[], news text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.reseal(entity text, "column" text, places text[], olds text[], news text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.reseal(entity text, "column" text, places text[], olds text[], news text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.reseal_args(job_ids bigint[], olds text[], news text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.reseal_args(job_ids bigint[], olds text[], news text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.reseal_args(job_ids bigint[], olds text[], news text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.restart_job(job_id bigint, from_step text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.restart_job(job_id bigint, from_step text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.restart_job(job_id bigint, from_step text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.restore_job(job_id bigint, discard boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.restore_job(job_id bigint, discard boolean) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.restore_job(job_id bigint, discard boolean) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.resume_queue(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.resume_queue(name text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.resume_queue(name text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.resume_schedule(name text, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.resume_schedule(name text, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.resume_schedule(name text, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.resume_subscription(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.resume_subscription(name text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.resume_subscription(name text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.resume_webhook_endpoint(name text, tenant_id text, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.resume_webhook_endpoint(name text, tenant_id text, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.resume_webhook_endpoint(name text, tenant_id text, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.retry_job(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.retry_job(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.retry_job(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.revoke_api_key(key_id bigint, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.revoke_api_key(key_id bigint, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.revoke_api_key(key_id bigint, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.ring_at_commit(queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.ring_at_commit(queue text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.ring_at_commit(queue text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.ring_doorbell(queue text, softly boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.ring_doorbell(queue text, softly boolean) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.ring_doorbell(queue text, softly boolean) TO ostinato_api;
REVOKE ALL ON FUNCTION ostinato.rotate_api_key(key_id bigint, new_id bigint, new_hash bytea, overlap_seconds double precision, expires_seconds double precision, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.rotate_api_key(key_id bigint, new_id bigint, new_hash bytea, overlap_seconds double precision, expires_seconds double precision, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.rotate_api_key(key_id bigint, new_id bigint, new_hash bytea, overlap_seconds double precision, expires_seconds double precision, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.rotate_webhook_secret(name text, overlap_seconds double precision, tenant_id text, secret text, secret_hint text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.rotate_webhook_secret(name text, overlap_seconds double precision, tenant_id text, secret text, secret_hint text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.rotate_webhook_secret(name text, overlap_seconds double precision, tenant_id text, secret text, secret_hint text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.run_bulk(bulk_id bigint, OUT state text, OUT waiting boolean, OUT done bigint, OUT refused bigint, OUT matching bigint, OUT capped boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.run_bulk(bulk_id bigint, OUT state text, OUT waiting boolean, OUT done bigint, OUT refused bigint, OUT matching bigint, OUT capped boolean) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.run_bulk(bulk_id bigint, OUT state text, OUT waiting boolean, OUT done bigint, OUT refused bigint, OUT matching bigint, OUT capped boolean) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.run_schedule(name text, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.run_schedule(name text, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.run_schedule(name text, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.sample_metrics(every interval) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.sample_metrics(every interval) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.sample_metrics(every interval) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.save_step(job_id bigint, attempt integer, "position" integer, name text, result json, duration_ms integer, claim_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.save_step(job_id bigint, attempt integer, "position" integer, name text, result json, duration_ms integer, claim_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.save_step(job_id bigint, attempt integer, "position" integer, name text, result json, duration_ms integer, claim_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.save_step(job_id bigint, attempt integer, "position" integer, name character varying, result jsonb, duration_ms integer, claim_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.save_step(job_id bigint, attempt integer, "position" integer, name character varying, result jsonb, duration_ms integer, claim_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.save_step(job_id bigint, attempt integer, "position" integer, name character varying, result jsonb, duration_ms integer, claim_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.save_steps(claim_ids bigint[], job_ids bigint[], attempts integer[], positions integer[], names text[], results text[], durations integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.save_steps(claim_ids bigint[], job_ids bigint[], attempts integer[], positions integer[], names text[], results text[], durations integer[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.save_steps(claim_ids bigint[], job_ids bigint[], attempts integer[], positions integer[], names text[], results text[], durations integer[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.seal_group(job_id bigint, group_id bigint, total integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.seal_group(job_id bigint, group_id bigint, total integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.seal_group(job_id bigint, group_id bigint, total integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.search_jobs(state text, filter anycompatible, before bigint, most integer, OUT ids bigint[], OUT next bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.search_jobs(state text, filter anycompatible, before bigint, most integer, OUT ids bigint[], OUT next bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.search_jobs(state text, filter anycompatible, before bigint, most integer, OUT ids bigint[], OUT next bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.secret_jobs(after bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.secret_jobs(after bigint, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.secret_jobs(after bigint, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.secret_kinds() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.secret_kinds() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.secret_kinds() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.sequence_events(most integer, OUT stamped integer, OUT queues text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.sequence_events(most integer, OUT stamped integer, OUT queues text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.sequence_events(most integer, OUT stamped integer, OUT queues text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.server_connections() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.server_connections() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.server_connections() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.set_aside_damaged(worker_id uuid, queues text[], held bigint[], named bigint[], state text, message text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.set_aside_damaged(worker_id uuid, queues text[], held bigint[], named bigint[], state text, message text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.set_aside_damaged(worker_id uuid, queues text[], held bigint[], named bigint[], state text, message text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.set_aside_held(claim_ids bigint[], job_ids bigint[], attempts integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.set_aside_held(claim_ids bigint[], job_ids bigint[], attempts integer[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.set_aside_held(claim_ids bigint[], job_ids bigint[], attempts integer[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.set_place(tenant_id text, state text, cell text, move_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.set_place(tenant_id text, state text, cell text, move_id uuid) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.set_place(tenant_id text, state text, cell text, move_id uuid) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.set_test_clock(frozen timestamp with time zone, shift interval) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.set_test_clock(frozen timestamp with time zone, shift interval) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.set_test_clock(frozen timestamp with time zone, shift interval) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.settle_webhook_delivery(delivery_id bigint, job_id bigint, outcome text, status integer, duration_ms integer, answer text, error text, retry_seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.settle_webhook_delivery(delivery_id bigint, job_id bigint, outcome text, status integer, duration_ms integer, answer text, error text, retry_seconds double precision) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.settle_webhook_delivery(delivery_id bigint, job_id bigint, outcome text, status integer, duration_ms integer, answer text, error text, retry_seconds double precision) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.show_archive_rule() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.show_archive_rule() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.show_archive_rule() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.show_cell_number() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.show_cell_number() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.show_cell_number() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.show_event(event_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.show_event(event_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.show_event(event_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.show_job(job_id bigint, OUT id bigint, OUT kind text, OUT queue text, OUT tenant_id text, OUT correlation_id text, OUT priority smallint, OUT state text, OUT reason text, OUT attempt integer, OUT failures integer, OUT crashes integer, OUT max_attempts smallint, OUT created_at timestamp with time zone, OUT asked_run_at timestamp with time zone, OUT run_at timestamp with time zone, OUT finished_at timestamp with time zone, OUT duration_ms integer, OUT args json, OUT result json, OUT error json, OUT limit_key text, OUT unique_key text, OUT unique_states text[], OUT worker_id uuid, OUT worker_name text, OUT claimed_at timestamp with time zone, OUT lease_until timestamp with time zone, OUT cancel_requested_at timestamp with time zone, OUT cancel_reason text, OUT progress_done double precision, OUT progress_total double precision, OUT progress_note text, OUT progress_at timestamp with time zone, OUT parent_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.show_job(job_id bigint, OUT id bigint, OUT kind text, OUT queue text, OUT tenant_id text, OUT correlation_id text, OUT priority smallint, OUT state text, OUT reason text, OUT attempt integer, OUT failures integer, OUT crashes integer, OUT max_attempts smallint, OUT created_at timestamp with time zone, OUT asked_run_at timestamp with time zone, OUT run_at timestamp with time zone, OUT finished_at timestamp with time zone, OUT duration_ms integer, OUT args json, OUT result json, OUT error json, OUT limit_key text, OUT unique_key text, OUT unique_states text[], OUT worker_id uuid, OUT worker_name text, OUT claimed_at timestamp with time zone, OUT lease_until timestamp with time zone, OUT cancel_requested_at timestamp with time zone, OUT cancel_reason text, OUT progress_done double precision, OUT progress_total double precision, OUT progress_note text, OUT progress_at timestamp with time zone, OUT parent_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.show_job(job_id bigint, OUT id bigint, OUT kind text, OUT queue text, OUT tenant_id text, OUT correlation_id text, OUT priority smallint, OUT state text, OUT reason text, OUT attempt integer, OUT failures integer, OUT crashes integer, OUT max_attempts smallint, OUT created_at timestamp with time zone, OUT asked_run_at timestamp with time zone, OUT run_at timestamp with time zone, OUT finished_at timestamp with time zone, OUT duration_ms integer, OUT args json, OUT result json, OUT error json, OUT limit_key text, OUT unique_key text, OUT unique_states text[], OUT worker_id uuid, OUT worker_name text, OUT claimed_at timestamp with time zone, OUT lease_until timestamp with time zone, OUT cancel_requested_at timestamp with time zone, OUT cancel_reason text, OUT progress_done double precision, OUT progress_total double precision, OUT progress_note text, OUT progress_at timestamp with time zone, OUT parent_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.show_job_as(as_tenant text, as_correlation text, as_user text, as_key bigint, job_id bigint, parts integer, longest integer, most_events integer, most_lines integer, OUT job json, OUT attempts json, OUT steps json, OUT events json, OUT trail json) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.show_job_as(as_tenant text, as_correlation text, as_user text, as_key bigint, job_id bigint, parts integer, longest integer, most_events integer, most_lines integer, OUT job json, OUT attempts json, OUT steps json, OUT events json, OUT trail json) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.show_job_as(as_tenant text, as_correlation text, as_user text, as_key bigint, job_id bigint, parts integer, longest integer, most_events integer, most_lines integer, OUT job json, OUT attempts json, OUT steps json, OUT events json, OUT trail json) TO ostinato_api;
REVOKE ALL ON FUNCTION ostinato.show_lease(lease text, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.show_lease(lease text, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.show_lease(lease text, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.show_place(tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.show_place(tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.show_place(tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.show_replication() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.show_replication() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.show_replication() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.show_schedule(name text, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.show_schedule(name text, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.show_schedule(name text, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.signal_job(job_id bigint, payload anycompatible) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.signal_job(job_id bigint, payload anycompatible) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.signal_job(job_id bigint, payload anycompatible) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.silence_alert(name text, until timestamp with time zone, reason text, label text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.silence_alert(name text, until timestamp with time zone, reason text, label text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.silence_alert(name text, until timestamp with time zone, reason text, label text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.sleep_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], positions integer[], seconds double precision[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.sleep_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], positions integer[], seconds double precision[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.sleep_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], positions integer[], seconds double precision[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.snooze_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[], reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.snooze_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[], reason text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.snooze_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], delays double precision[], reason text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.split_claims(claim_ids bigint[], job_ids bigint[], attempts integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.split_claims(claim_ids bigint[], job_ids bigint[], attempts integer[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.split_claims(claim_ids bigint[], job_ids bigint[], attempts integer[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.start_bulk(verb text, state text, filter anycompatible, canary boolean, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.start_bulk(verb text, state text, filter anycompatible, canary boolean, reason text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.start_bulk(verb text, state text, filter anycompatible, canary boolean, reason text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.start_webhook_deliveries(delivery_ids bigint[], job_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.start_webhook_deliveries(delivery_ids bigint[], job_ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.start_webhook_deliveries(delivery_ids bigint[], job_ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.start_webhook_delivery(delivery_id bigint, job_id bigint, OUT verdict text, OUT tenant_id text, OUT endpoint_id bigint, OUT endpoint text, OUT url text, OUT headers json, OUT secrets text[], OUT event_id text, OUT body text, OUT timeout_seconds double precision, OUT retry json, OUT sent_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.start_webhook_delivery(delivery_id bigint, job_id bigint, OUT verdict text, OUT tenant_id text, OUT endpoint_id bigint, OUT endpoint text, OUT url text, OUT headers json, OUT secrets text[], OUT event_id text, OUT body text, OUT timeout_seconds double precision, OUT retry json, OUT sent_at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.start_webhook_delivery(delivery_id bigint, job_id bigint, OUT verdict text, OUT tenant_id text, OUT endpoint_id bigint, OUT endpoint text, OUT url text, OUT headers json, OUT secrets text[], OUT event_id text, OUT body text, OUT timeout_seconds double precision, OUT retry json, OUT sent_at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.stop_bulk(bulk_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.stop_bulk(bulk_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.stop_bulk(bulk_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.subject(given text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.subject(given text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.subject(given text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.subscribe(name text, types text[], tenant_id text, kind text, on_poison text, start text, start_position bigint, start_time timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.subscribe(name text, types text[], tenant_id text, kind text, on_poison text, start text, start_position bigint, start_time timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.subscribe(name text, types text[], tenant_id text, kind text, on_poison text, start text, start_position bigint, start_time timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.take_late(most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.take_late(most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.take_late(most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.tenant(given text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.tenant(given text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.tenant(given text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.trail(correlation_id text, for_tenant text, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.trail(correlation_id text, for_tenant text, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.trail(correlation_id text, for_tenant text, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.transition(machine text, entity text, id text, event text, by text, why text, correlation_id text, changes json, tenant_id text, job_id bigint, attempt integer, lease text, token bigint, lease_tenant text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.transition(machine text, entity text, id text, event text, by text, why text, correlation_id text, changes json, tenant_id text, job_id bigint, attempt integer, lease text, token bigint, lease_tenant text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.transition(machine text, entity text, id text, event text, by text, why text, correlation_id text, changes json, tenant_id text, job_id bigint, attempt integer, lease text, token bigint, lease_tenant text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.transition(machine character varying, entity text, id text, event text, by text, why text, correlation_id text, changes jsonb, tenant_id text, job_id bigint, attempt integer, lease text, token bigint, lease_tenant text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.transition(machine character varying, entity text, id text, event text, by text, why text, correlation_id text, changes jsonb, tenant_id text, job_id bigint, attempt integer, lease text, token bigint, lease_tenant text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.transition(machine character varying, entity text, id text, event text, by text, why text, correlation_id text, changes jsonb, tenant_id text, job_id bigint, attempt integer, lease text, token bigint, lease_tenant text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.transition_all(machine text, entity text, ids text[], event text, by text, why text, correlation_id text, changes json, tenant_id text, job_id bigint, attempt integer, lease text, token bigint, lease_tenant text, skip boolean, correlation_ids text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.transition_all(machine text, entity text, ids text[], event text, by text, why text, correlation_id text, changes json, tenant_id text, job_id bigint, attempt integer, lease text, token bigint, lease_tenant text, skip boolean, correlation_ids text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.transition_all(machine text, entity text, ids text[], event text, by text, why text, correlation_id text, changes json, tenant_id text, job_id bigint, attempt integer, lease text, token bigint, lease_tenant text, skip boolean, correlation_ids text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.transition_all(machine character varying, entity text, ids text[], event text, by text, why text, correlation_id text, changes jsonb, tenant_id text, job_id bigint, attempt integer, lease text, token bigint, lease_tenant text, skip boolean, correlation_ids text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.transition_all(machine character varying, entity text, ids text[], event text, by text, why text, correlation_id text, changes jsonb, tenant_id text, job_id bigint, attempt integer, lease text, token bigint, lease_tenant text, skip boolean, correlation_ids text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.transition_all(machine character varying, entity text, ids text[], event text, by text, why text, correlation_id text, changes jsonb, tenant_id text, job_id bigint, attempt integer, lease text, token bigint, lease_tenant text, skip boolean, correlation_ids text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.unregister_worker(worker_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.unregister_worker(worker_id uuid) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.unregister_worker(worker_id uuid) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.unrun_kind_jobs() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.unrun_kind_jobs() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.unrun_kind_jobs() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.unrun_kinds() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.unrun_kinds() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.unrun_kinds() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.unsilence_alert(name text, label text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.unsilence_alert(name text, label text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.unsilence_alert(name text, label text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.upcoming_schedules(tenant_id text, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.upcoming_schedules(tenant_id text, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.upcoming_schedules(tenant_id text, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.upkeep_logs(retention_days integer, weeks_ahead integer, audit_days integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.upkeep_logs(retention_days integer, weeks_ahead integer, audit_days integer) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.upkeep_partitions(retention_days integer, weeks_ahead integer, thorough boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.upkeep_partitions(retention_days integer, weeks_ahead integer, thorough boolean) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato.upsert_schedule(name text, kind text, args json, cron text, at_time time without time zone, weekdays text[], at timestamp without time zone, zone text, gap text, overlap text, key text, owner text, queue text, priority integer, catch_up text, catch_up_most integer, catch_up_seconds double precision, grace_seconds double precision, jitter_seconds double precision, starts_at timestamp with time zone, ends_at timestamp with time zone, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.upsert_schedule(name text, kind text, args json, cron text, at_time time without time zone, weekdays text[], at timestamp without time zone, zone text, gap text, overlap text, key text, owner text, queue text, priority integer, catch_up text, catch_up_most integer, catch_up_seconds double precision, grace_seconds double precision, jitter_seconds double precision, starts_at timestamp with time zone, ends_at timestamp with time zone, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.upsert_schedule(name text, kind text, args json, cron text, at_time time without time zone, weekdays text[], at timestamp without time zone, zone text, gap text, overlap text, key text, owner text, queue text, priority integer, catch_up text, catch_up_most integer, catch_up_seconds double precision, grace_seconds double precision, jitter_seconds double precision, starts_at timestamp with time zone, ends_at timestamp with time zone, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.upsert_schedule(name character varying, kind text, args jsonb, cron text, at_time time without time zone, weekdays text[], at timestamp without time zone, zone text, gap text, overlap text, key text, owner text, queue text, priority integer, catch_up text, catch_up_most integer, catch_up_seconds double precision, grace_seconds double precision, jitter_seconds double precision, starts_at timestamp with time zone, ends_at timestamp with time zone, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.upsert_schedule(name character varying, kind text, args jsonb, cron text, at_time time without time zone, weekdays text[], at timestamp without time zone, zone text, gap text, overlap text, key text, owner text, queue text, priority integer, catch_up text, catch_up_most integer, catch_up_seconds double precision, grace_seconds double precision, jitter_seconds double precision, starts_at timestamp with time zone, ends_at timestamp with time zone, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.upsert_schedule(name character varying, kind text, args jsonb, cron text, at_time time without time zone, weekdays text[], at timestamp without time zone, zone text, gap text, overlap text, key text, owner text, queue text, priority integer, catch_up text, catch_up_most integer, catch_up_seconds double precision, grace_seconds double precision, jitter_seconds double precision, starts_at timestamp with time zone, ends_at timestamp with time zone, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.upsert_schedules(schedules anycompatible) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.upsert_schedules(schedules anycompatible) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.upsert_schedules(schedules anycompatible) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.use_test_clock() FROM PUBLIC;
REVOKE ALL ON FUNCTION ostinato.wait_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], positions integer[], events text[], keys text[], timeouts double precision[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.wait_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], positions integer[], events text[], keys text[], timeouts double precision[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.wait_jobs(claim_ids bigint[], job_ids bigint[], attempts integer[], positions integer[], events text[], keys text[], timeouts double precision[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.watch_alerts(every interval, names text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.watch_alerts(every interval, names text[]) TO ostinato_api;
REVOKE ALL ON FUNCTION ostinato.watch_due_alerts(every interval) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.watch_due_alerts(every interval) TO ostinato_api;
REVOKE ALL ON FUNCTION ostinato.watch_failed_alerts(names text[], every interval, seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.watch_failed_alerts(names text[], every interval, seconds double precision) TO ostinato_api;
REVOKE ALL ON FUNCTION ostinato.watch_job(job_id bigint, seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.watch_job(job_id bigint, seconds double precision) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.watch_job(job_id bigint, seconds double precision) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.webhook_endpoint_id(name text, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.webhook_endpoint_id(name text, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.webhook_endpoint_id(name text, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.week_of(at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.week_of(at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.week_of(at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.why(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.why(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.why(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato.worker_jobs(worker_id uuid, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato.worker_jobs(worker_id uuid, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato.worker_jobs(worker_id uuid, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_data.check_schedule_door() FROM PUBLIC;
REVOKE ALL ON FUNCTION ostinato_data.keep_audit() FROM PUBLIC;
REVOKE ALL ON FUNCTION ostinato_data.protect(name text, tenants boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION ostinato_data.refuse_rewrite() FROM PUBLIC;
REVOKE ALL ON FUNCTION ostinato_data.stamp_audit() FROM PUBLIC;
REVOKE ALL ON FUNCTION ostinato_internal.able_workers(queue text, kind text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.able_workers(queue text, kind text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.able_workers(queue text, kind text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.actor() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.actor() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.actor() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.add_batch(a ostinato_data.batch, b ostinato_data.batch) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.add_batch(a ostinato_data.batch, b ostinato_data.batch) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.add_batch(a ostinato_data.batch, b ostinato_data.batch) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.add_counts(a bigint[], b bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.add_counts(a bigint[], b bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.add_counts(a bigint[], b bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.add_cursor(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.add_cursor(name text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.add_cursor(name text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.add_log_week(parent text, id text, week integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.add_log_week(parent text, id text, week integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.add_log_week(parent text, id text, week integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.add_webhook_deliveries(after bigint, upto bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.add_webhook_deliveries(after bigint, upto bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.add_webhook_deliveries(after bigint, upto bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.add_week(week integer, thorough boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.add_week(week integer, thorough boolean) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.add_week(week integer, thorough boolean) TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.alert TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato_internal.alert_message(declared ostinato_data.alert, label text, value double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.alert_message(declared ostinato_data.alert, label text, value double precision) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.alert_message(declared ostinato_data.alert, label text, value double precision) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.alert_readings(declared ostinato_data.alert, figures jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.alert_readings(declared ostinato_data.alert, figures jsonb) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.alert_readings(declared ostinato_data.alert, figures jsonb) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.allowed_words(machine text, state text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.allowed_words(machine text, state text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.allowed_words(machine text, state text) TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.api_key TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato_internal.api_key_line(key ostinato_data.api_key, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.api_key_line(key ostinato_data.api_key, at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.api_key_line(key ostinato_data.api_key, at timestamp with time zone) TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.bulk TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.bulk TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.apply_bulk(b ostinato_data.bulk, ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.apply_bulk(b ostinato_data.bulk, ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.apply_bulk(b ostinato_data.bulk, ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.are_fresh(lanes ostinato_data.lanes) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.are_fresh(lanes ostinato_data.lanes) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.are_fresh(lanes ostinato_data.lanes) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.blank_subject(hash bytea, tenant_id text, jobs bigint[], events bigint[], running bigint[], preview boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.blank_subject(hash bytea, tenant_id text, jobs bigint[], events bigint[], running bigint[], preview boolean) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.blank_subject(hash bytea, tenant_id text, jobs bigint[], events bigint[], running bigint[], preview boolean) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.bulk_batch() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.bulk_batch() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.bulk_batch() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.bulk_states(verb text, state text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.bulk_states(verb text, state text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.bulk_states(verb text, state text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.buried_jobs(subscription text, positions bigint[], after bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.buried_jobs(subscription text, positions bigint[], after bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.buried_jobs(subscription text, positions bigint[], after bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.bury_webhooks(endpoint_id bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.bury_webhooks(endpoint_id bigint, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.bury_webhooks(endpoint_id bigint, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.cancel_group(tenant_id text, group_id bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.cancel_group(tenant_id text, group_id bigint, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.cancel_group(tenant_id text, group_id bigint, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.cancel_job(job_id bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.cancel_job(job_id bigint, reason text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.cancel_job(job_id bigint, reason text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.cancelled_jobs(ids bigint[], reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.cancelled_jobs(ids bigint[], reason text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.cancelled_jobs(ids bigint[], reason text) TO ostinato_tenant;
GRANT SELECT ON TABLE ostinato_data.machine_table TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.machine_table TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.changed_columns(target ostinato_data.machine_table, changes json) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.changed_columns(target ostinato_data.machine_table, changes json) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.changed_columns(target ostinato_data.machine_table, changes json) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_api_key(key ostinato_data.api_key) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_api_key(key ostinato_data.api_key) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_api_key(key ostinato_data.api_key) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_args(kind text, args text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_args(kind text, args text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_args(kind text, args text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_events(types text[], payloads text[], ordering_keys text[], versions integer[], tenant_ids text[], correlation_ids text[], occurred_ats timestamp with time zone[], producers text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_events(types text[], payloads text[], ordering_keys text[], versions integer[], tenant_ids text[], correlation_ids text[], occurred_ats timestamp with time zone[], producers text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_events(types text[], payloads text[], ordering_keys text[], versions integer[], tenant_ids text[], correlation_ids text[], occurred_ats timestamp with time zone[], producers text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_header_values(headers json, header_values text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_header_values(headers json, header_values text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_header_values(headers json, header_values text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_here(tenant_ids text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_here(tenant_ids text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_here(tenant_ids text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_idempotent(tenant_id text, scope text, key text, fingerprint text, fields json, declaration text, lease_seconds double precision, ttl_seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_idempotent(tenant_id text, scope text, key text, fingerprint text, fields json, declaration text, lease_seconds double precision, ttl_seconds double precision) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_idempotent(tenant_id text, scope text, key text, fingerprint text, fields json, declaration text, lease_seconds double precision, ttl_seconds double precision) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_job(job_id bigint, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_job(job_id bigint, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_job(job_id bigint, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_lease(tenant_id text, name text, holder text, ttl_seconds double precision, job_id bigint, job_attempt integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_lease(tenant_id text, name text, holder text, ttl_seconds double precision, job_id bigint, job_attempt integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_lease(tenant_id text, name text, holder text, ttl_seconds double precision, job_id bigint, job_attempt integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_lengths(count integer, VARIADIC lengths integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_lengths(count integer, VARIADIC lengths integer[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_lengths(count integer, VARIADIC lengths integer[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_name(what text, value text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_name(what text, value text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_name(what text, value text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_not_erased(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_not_erased(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_not_erased(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_open_queue(queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_open_queue(queue text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_open_queue(queue text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_options(priority integer, max_attempts integer, run_at timestamp with time zone, limit_key text, correlation_id text, limit_scope text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_options(priority integer, max_attempts integer, run_at timestamp with time zone, limit_key text, correlation_id text, limit_scope text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_options(priority integer, max_attempts integer, run_at timestamp with time zone, limit_key text, correlation_id text, limit_scope text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_own_jobs(tenant_ids text[], kinds text[], queues text[], limit_scopes text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_own_jobs(tenant_ids text[], kinds text[], queues text[], limit_scopes text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_own_jobs(tenant_ids text[], kinds text[], queues text[], limit_scopes text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_own_rows(tenant_ids text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_own_rows(tenant_ids text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_own_rows(tenant_ids text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_parts(kind text, tenant_id text, args text, queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_parts(kind text, tenant_id text, args text, queue text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_parts(kind text, tenant_id text, args text, queue text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_payload(type text, payload text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_payload(type text, payload text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_payload(type text, payload text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_policies(gap text, overlap text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_policies(gap text, overlap text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_policies(gap text, overlap text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_reason(reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_reason(reason text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_reason(reason text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_registered(type text, version integer, payload text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_registered(type text, version integer, payload text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_registered(type text, version integer, payload text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_rows(entity text, condition text, rule text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_rows(entity text, condition text, rule text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_rows(entity text, condition text, rule text) TO ostinato_tenant;
GRANT USAGE ON SEQUENCE ostinato_data.schedule_id_seq TO ostinato_worker;
GRANT USAGE ON SEQUENCE ostinato_data.schedule_id_seq TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.schedule TO ostinato_worker;
GRANT SELECT,DELETE ON TABLE ostinato_data.schedule TO ostinato_tenant;
GRANT INSERT(created_at) ON TABLE ostinato_data.schedule TO ostinato_tenant;
GRANT INSERT(timed_at),UPDATE(timed_at) ON TABLE ostinato_data.schedule TO ostinato_tenant;
GRANT INSERT(starts_at),UPDATE(starts_at) ON TABLE ostinato_data.schedule TO ostinato_tenant;
GRANT INSERT(ends_at),UPDATE(ends_at) ON TABLE ostinato_data.schedule TO ostinato_tenant;
GRANT INSERT(catch_up_seconds),UPDATE(catch_up_seconds) ON TABLE ostinato_data.schedule TO ostinato_tenant;
GRANT INSERT(grace_seconds),UPDATE(grace_seconds) ON TABLE ostinato_data.schedule TO ostinato_tenant;
GRANT INSERT(jitter_seconds),UPDATE(jitter_seconds) ON TABLE ostinato_data.schedule TO ostinato_tenant;
GRANT INSERT(catch_up_most),UPDATE(catch_up_most) ON TABLE ostinato_data.schedule TO ostinato_tenant;
GRANT INSERT(priority),UPDATE(priority) ON TABLE ostinato_data.schedule TO ostinato_tenant;
GRANT INSERT(paused),UPDATE(paused) ON TABLE ostinato_data.schedule TO ostinato_tenant;
GRANT INSERT(catch_up),UPDATE(catch_up) ON TABLE ostinato_data.schedule TO ostinato_tenant;
GRANT INSERT(tenant_id) ON TABLE ostinato_data.schedule TO ostinato_tenant;
GRANT INSERT(name),UPDATE(name) ON TABLE ostinato_data.schedule TO ostinato_tenant;
GRANT INSERT(key),UPDATE(key) ON TABLE ostinato_data.schedule TO ostinato_tenant;
GRANT INSERT(owner),UPDATE(owner) ON TABLE ostinato_data.schedule TO ostinato_tenant;
GRANT INSERT(kind),UPDATE(kind) ON TABLE ostinato_data.schedule TO ostinato_tenant;
GRANT INSERT(queue),UPDATE(queue) ON TABLE ostinato_data.schedule TO ostinato_tenant;
GRANT INSERT(args),UPDATE(args) ON TABLE ostinato_data.schedule TO ostinato_tenant;
GRANT INSERT(cron),UPDATE(cron) ON TABLE ostinato_data.schedule TO ostinato_tenant;
GRANT INSERT(recurrence),UPDATE(recurrence) ON TABLE ostinato_data.schedule TO ostinato_tenant;
GRANT INSERT(error),UPDATE(error) ON TABLE ostinato_data.schedule TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_schedule(s ostinato_data.schedule) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_schedule(s ostinato_data.schedule) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_schedule(s ostinato_data.schedule) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_secret_args(kind text, args json, secret_args text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_secret_args(kind text, args json, secret_args text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_secret_args(kind text, args json, secret_args text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_sets(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], max_attempts integer[], limit_scopes text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_sets(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], max_attempts integer[], limit_scopes text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_sets(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], max_attempts integer[], limit_scopes text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_timed(ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_timed(ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_timed(ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_transitions(target ostinato_data.machine_table, ids text[], event text, skip boolean, found_ids text[], from_states text[], to_states text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_transitions(target ostinato_data.machine_table, ids text[], event text, skip boolean, found_ids text[], from_states text[], to_states text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_transitions(target ostinato_data.machine_table, ids text[], event text, skip boolean, found_ids text[], from_states text[], to_states text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_wanted_args(wanted jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_wanted_args(wanted jsonb) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_wanted_args(wanted jsonb) TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.webhook_endpoint TO ostinato_worker;
GRANT SELECT(id) ON TABLE ostinato_data.webhook_endpoint TO ostinato_tenant;
GRANT SELECT(tenant_id) ON TABLE ostinato_data.webhook_endpoint TO ostinato_tenant;
GRANT SELECT(name) ON TABLE ostinato_data.webhook_endpoint TO ostinato_tenant;
GRANT SELECT(url) ON TABLE ostinato_data.webhook_endpoint TO ostinato_tenant;
GRANT SELECT(event_types) ON TABLE ostinato_data.webhook_endpoint TO ostinato_tenant;
GRANT SELECT(state) ON TABLE ostinato_data.webhook_endpoint TO ostinato_tenant;
GRANT SELECT(reason) ON TABLE ostinato_data.webhook_endpoint TO ostinato_tenant;
GRANT SELECT(description) ON TABLE ostinato_data.webhook_endpoint TO ostinato_tenant;
GRANT SELECT(retry) ON TABLE ostinato_data.webhook_endpoint TO ostinato_tenant;
GRANT SELECT(timeout_seconds) ON TABLE ostinato_data.webhook_endpoint TO ostinato_tenant;
GRANT SELECT(disable_after_seconds) ON TABLE ostinato_data.webhook_endpoint TO ostinato_tenant;
GRANT SELECT(ordered) ON TABLE ostinato_data.webhook_endpoint TO ostinato_tenant;
GRANT SELECT(created_at) ON TABLE ostinato_data.webhook_endpoint TO ostinato_tenant;
GRANT SELECT(changed_at) ON TABLE ostinato_data.webhook_endpoint TO ostinato_tenant;
GRANT SELECT(failing_since) ON TABLE ostinato_data.webhook_endpoint TO ostinato_tenant;
GRANT SELECT(from_position) ON TABLE ostinato_data.webhook_endpoint TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_webhook_endpoint(endpoint ostinato_data.webhook_endpoint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_webhook_endpoint(endpoint ostinato_data.webhook_endpoint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_webhook_endpoint(endpoint ostinato_data.webhook_endpoint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_webhook_headers(headers json) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_webhook_headers(headers json) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_webhook_headers(headers json) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_webhook_secret(secret text, hint text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_webhook_secret(secret text, hint text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_webhook_secret(secret text, hint text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.check_zone(zone text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.check_zone(zone text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.check_zone(zone text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.checked_trace(traceparent text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.checked_trace(traceparent text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.checked_trace(traceparent text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.children_event() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.children_event() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.children_event() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.chores() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.chores() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.chores() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.claim_of(job_id bigint, attempt integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.claim_of(job_id bigint, attempt integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.claim_of(job_id bigint, attempt integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.claims_named(claim_ids bigint[], job_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.claims_named(claim_ids bigint[], job_ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.claims_named(claim_ids bigint[], job_ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.close_parent(parent text, id text, week integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.close_parent(parent text, id text, week integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.close_parent(parent text, id text, week integer) TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.event TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.event TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.cloudevent_of(event ostinato_data.event, "position" bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.cloudevent_of(event ostinato_data.event, "position" bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.cloudevent_of(event ostinato_data.event, "position" bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.column_type(entity text, name text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.column_type(entity text, name text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.column_type(entity text, name text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.complete_webhook_delivery(delivery_id bigint, job_id bigint, attempt integer, claim_id bigint, status integer, duration_ms integer, answer text, job_ms integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.complete_webhook_delivery(delivery_id bigint, job_id bigint, attempt integer, claim_id bigint, status integer, duration_ms integer, answer text, job_ms integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.complete_webhook_delivery(delivery_id bigint, job_id bigint, attempt integer, claim_id bigint, status integer, duration_ms integer, answer text, job_ms integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.correlations_of(target ostinato_data.machine_table, ids text[], correlation_ids text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.correlations_of(target ostinato_data.machine_table, ids text[], correlation_ids text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.correlations_of(target ostinato_data.machine_table, ids text[], correlation_ids text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.count_children(job_ids bigint[], outcome text, by integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.count_children(job_ids bigint[], outcome text, by integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.count_children(job_ids bigint[], outcome text, by integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.count_firing() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.count_firing() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.count_firing() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.crashes_after(crashes smallint, begun boolean, alone boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.crashes_after(crashes smallint, begun boolean, alone boolean) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.crashes_after(crashes smallint, begun boolean, alone boolean) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.create_api_key(key_id bigint, hash bytea, tenant_id text, subject text, roles text[], name text, expires_seconds double precision, replaces bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.create_api_key(key_id bigint, hash bytea, tenant_id text, subject text, roles text[], name text, expires_seconds double precision, replaces bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.create_api_key(key_id bigint, hash bytea, tenant_id text, subject text, roles text[], name text, expires_seconds double precision, replaces bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.cron_number(word text, low integer, names text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.cron_number(word text, low integer, names text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.cron_number(word text, low integer, names text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.death_seconds() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.death_seconds() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.death_seconds() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.deferral_cap() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.deferral_cap() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.deferral_cap() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.deferral_peace() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.deferral_peace() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.deferral_peace() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.deferral_seconds(job_id bigint, times integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.deferral_seconds(job_id bigint, times integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.deferral_seconds(job_id bigint, times integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.delivery_cap() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.delivery_cap() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.delivery_cap() TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.idempotency TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.idempotency TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.differing_fields(held ostinato_data.idempotency, asked ostinato_data.idempotency) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.differing_fields(held ostinato_data.idempotency, asked ostinato_data.idempotency) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.differing_fields(held ostinato_data.idempotency, asked ostinato_data.idempotency) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.discarded_jobs(ids bigint[], reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.discarded_jobs(ids bigint[], reason text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.discarded_jobs(ids bigint[], reason text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.dispatch_deliveries(subscription text, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.dispatch_deliveries(subscription text, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.dispatch_deliveries(subscription text, most integer) TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.subscription TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato_internal.dispatch_window(sub ostinato_data.subscription, after bigint, most integer, OUT made integer, OUT reached bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.dispatch_window(sub ostinato_data.subscription, after bigint, most integer, OUT made integer, OUT reached bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.dispatch_window(sub ostinato_data.subscription, after bigint, most integer, OUT made integer, OUT reached bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.doubt_factor() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.doubt_factor() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.doubt_factor() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.drop_deliveries(sub ostinato_data.subscription, after bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.drop_deliveries(sub ostinato_data.subscription, after bigint, reason text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.drop_deliveries(sub ostinato_data.subscription, after bigint, reason text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.drop_log_week(parent text, week integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.drop_log_week(parent text, week integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.drop_log_week(parent text, week integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.drop_triggers(machine text, entity text) FROM PUBLIC;
REVOKE ALL ON FUNCTION ostinato_internal.drop_waiting(job_id bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.drop_waiting(job_id bigint, reason text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.drop_waiting(job_id bigint, reason text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.drop_week(week integer, cutoff timestamp with time zone, thorough boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.drop_week(week integer, cutoff timestamp with time zone, thorough boolean) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.drop_week(week integer, cutoff timestamp with time zone, thorough boolean) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.due_chores(OUT chores text[], OUT next_due double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.due_chores(OUT chores text[], OUT next_due double precision) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.due_chores(OUT chores text[], OUT next_due double precision) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.due_slots(s ostinato_data.schedule, first_local timestamp without time zone, first_at timestamp with time zone, now timestamp with time zone, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.due_slots(s ostinato_data.schedule, first_local timestamp without time zone, first_at timestamp with time zone, now timestamp with time zone, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.due_slots(s ostinato_data.schedule, first_local timestamp without time zone, first_at timestamp with time zone, now timestamp with time zone, most integer) TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.alert_firing TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato_internal.emit_alert(type text, firing ostinato_data.alert_firing, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.emit_alert(type text, firing ostinato_data.alert_firing, at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.emit_alert(type text, firing ostinato_data.alert_firing, at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.end_deliveries(over bigint[], dead bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.end_deliveries(over bigint[], dead bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.end_deliveries(over bigint[], dead bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.end_join(parent_id bigint, join_step integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.end_join(parent_id bigint, join_step integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.end_join(parent_id bigint, join_step integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.enqueue_by_itself(kinds text[], args text[], queues text[], priorities integer[], tenant_ids text[], correlation_ids text[], limit_keys text[], max_attempts integer[], subjects text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.enqueue_by_itself(kinds text[], args text[], queues text[], priorities integer[], tenant_ids text[], correlation_ids text[], limit_keys text[], max_attempts integer[], subjects text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.enqueue_by_itself(kinds text[], args text[], queues text[], priorities integer[], tenant_ids text[], correlation_ids text[], limit_keys text[], max_attempts integer[], subjects text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.enqueue_each(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], unique_keys text[], max_attempts integer[], limit_scopes text[], subjects text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.enqueue_each(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], unique_keys text[], max_attempts integer[], limit_scopes text[], subjects text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.enqueue_each(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], unique_keys text[], max_attempts integer[], limit_scopes text[], subjects text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.erase_subject(tenant_id text, subject text, preview boolean, keep_live boolean, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.erase_subject(tenant_id text, subject text, preview boolean, keep_live boolean, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.erase_subject(tenant_id text, subject text, preview boolean, keep_live boolean, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.error_summary(error json, longest integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.error_summary(error json, longest integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.error_summary(error json, longest integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.estimate_rows(name regclass) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.estimate_rows(name regclass) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.estimate_rows(name regclass) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.event_args(subscription text, "position" bigint, event ostinato_data.event) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.event_args(subscription text, "position" bigint, event ostinato_data.event) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.event_args(subscription text, "position" bigint, event ostinato_data.event) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.event_chores() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.event_chores() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.event_chores() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.expire_waits(job_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.expire_waits(job_ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.expire_waits(job_ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.fake_now() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.fake_now() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.fake_now() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.fan_out_cap() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.fan_out_cap() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.fan_out_cap() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.fault_lasts() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.fault_lasts() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.fault_lasts() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.fill_week(parent text, id text, week integer, closed boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.fill_week(parent text, id text, week integer, closed boolean) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.fill_week(parent text, id text, week integer, closed boolean) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.find_actions(ids bigint[], of_correlation text, of_tenant text, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.find_actions(ids bigint[], of_correlation text, of_tenant text, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.find_actions(ids bigint[], of_correlation text, of_tenant text, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.find_alert(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.find_alert(name text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.find_alert(name text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.find_audit(by_actor text, of_verb text, of_target text, of_job bigint, since timestamp with time zone, of_tenant text, before bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.find_audit(by_actor text, of_verb text, of_target text, of_job bigint, since timestamp with time zone, of_tenant text, before bigint, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.find_audit(by_actor text, of_verb text, of_target text, of_job bigint, since timestamp with time zone, of_tenant text, before bigint, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.find_ended(in_state text, in_queue text, of_kind text, of_tenant text, before bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.find_ended(in_state text, in_queue text, of_kind text, of_tenant text, before bigint, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.find_ended(in_state text, in_queue text, of_kind text, of_tenant text, before bigint, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.find_jobs(in_state text, in_queue text, of_kind text, of_tenant text, before bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.find_jobs(in_state text, in_queue text, of_kind text, of_tenant text, before bigint, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.find_jobs(in_state text, in_queue text, of_kind text, of_tenant text, before bigint, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.find_machine_table(machine text, entity text, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.find_machine_table(machine text, entity text, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.find_machine_table(machine text, entity text, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.find_own_alert(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.find_own_alert(name text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.find_own_alert(name text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.find_ready(in_queue text, of_kind text, of_tenant text, before bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.find_ready(in_queue text, of_kind text, of_tenant text, before bigint, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.find_ready(in_queue text, of_kind text, of_tenant text, before bigint, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.find_schedule(name text, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.find_schedule(name text, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.find_schedule(name text, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.fire_alert(declared ostinato_data.alert, firing ostinato_data.alert_firing, at timestamp with time zone, value double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.fire_alert(declared ostinato_data.alert, firing ostinato_data.alert_firing, at timestamp with time zone, value double precision) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.fire_alert(declared ostinato_data.alert, firing ostinato_data.alert_firing, at timestamp with time zone, value double precision) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.fire_safely(ids bigint[], now timestamp with time zone, OUT fired integer, OUT missed integer, OUT broken integer, OUT queues text[], OUT lateness double precision[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.fire_safely(ids bigint[], now timestamp with time zone, OUT fired integer, OUT missed integer, OUT broken integer, OUT queues text[], OUT lateness double precision[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.fire_safely(ids bigint[], now timestamp with time zone, OUT fired integer, OUT missed integer, OUT broken integer, OUT queues text[], OUT lateness double precision[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.fire_set(ids bigint[], now timestamp with time zone, OUT fired integer, OUT missed integer, OUT queues text[], OUT lateness double precision[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.fire_set(ids bigint[], now timestamp with time zone, OUT fired integer, OUT missed integer, OUT queues text[], OUT lateness double precision[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.fire_set(ids bigint[], now timestamp with time zone, OUT fired integer, OUT missed integer, OUT queues text[], OUT lateness double precision[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.fire_slots(schedule_id bigint, ats timestamp with time zone[], of_tenant text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.fire_slots(schedule_id bigint, ats timestamp with time zone[], of_tenant text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.fire_slots(schedule_id bigint, ats timestamp with time zone[], of_tenant text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.fire_slots_of(schedule_id bigint, ats timestamp with time zone[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.fire_slots_of(schedule_id bigint, ats timestamp with time zone[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.fire_slots_of(schedule_id bigint, ats timestamp with time zone[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.first_id(at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.first_id(at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.first_id(at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.forget_groups(job_id bigint, from_position integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.forget_groups(job_id bigint, from_position integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.forget_groups(job_id bigint, from_position integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.forget_run(job_ids bigint[], ended bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.forget_run(job_ids bigint[], ended bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.forget_run(job_ids bigint[], ended bigint[]) TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.queue TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.queue TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.free_keys(limits ostinato_data.queue, keys text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.free_keys(limits ostinato_data.queue, keys text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.free_keys(limits ostinato_data.queue, keys text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.free_unique_keys(job_ids bigint[], state text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.free_unique_keys(job_ids bigint[], state text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.free_unique_keys(job_ids bigint[], state text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.gap_seconds(expiry double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.gap_seconds(expiry double precision) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.gap_seconds(expiry double precision) TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.claim_hint TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato_internal.go_on_from(hint ostinato_data.claim_hint, kinds text[], priority smallint, tenant text, key text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.go_on_from(hint ostinato_data.claim_hint, kinds text[], priority smallint, tenant text, key text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.go_on_from(hint ostinato_data.claim_hint, kinds text[], priority smallint, tenant text, key text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.handed_on(queue text, kinds text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.handed_on(queue text, kinds text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.handed_on(queue text, kinds text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.has_args(args json, wanted jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.has_args(args json, wanted jsonb) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.has_args(args json, wanted jsonb) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.has_unsequenced() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.has_unsequenced() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.has_unsequenced() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.has_usable_key(session ostinato_data.session, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.has_usable_key(session ostinato_data.session, at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.has_usable_key(session ostinato_data.session, at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.hastened_jobs(job_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.hastened_jobs(job_ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.hastened_jobs(job_ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.held_among(claims bigint[], claim_ids bigint[], job_ids bigint[], attempts integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.held_among(claims bigint[], claim_ids bigint[], job_ids bigint[], attempts integer[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.held_among(claims bigint[], claim_ids bigint[], job_ids bigint[], attempts integer[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.held_jobs(ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.held_jobs(ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.held_jobs(ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.hold_apart(worker_id uuid, queue text, batch ostinato_data.batch, at timestamp with time zone, starts integer, apart text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.hold_apart(worker_id uuid, queue text, batch ostinato_data.batch, at timestamp with time zone, starts integer, apart text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.hold_apart(worker_id uuid, queue text, batch ostinato_data.batch, at timestamp with time zone, starts integer, apart text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.hold_batch(worker_id uuid, queue text, batch ostinato_data.batch, at timestamp with time zone, starts integer, apart text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.hold_batch(worker_id uuid, queue text, batch ostinato_data.batch, at timestamp with time zone, starts integer, apart text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.hold_batch(worker_id uuid, queue text, batch ostinato_data.batch, at timestamp with time zone, starts integer, apart text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.hold_steps() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.hold_steps() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.hold_steps() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.hold_unique_key(tenant_id text, unique_key text, job_id bigint, policy text, states text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.hold_unique_key(tenant_id text, unique_key text, job_id bigint, policy text, states text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.hold_unique_key(tenant_id text, unique_key text, job_id bigint, policy text, states text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.idle_session() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.idle_session() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.idle_session() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.ids_of_a_day() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.ids_of_a_day() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.ids_of_a_day() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.in_grace(seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.in_grace(seconds double precision) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.in_grace(seconds double precision) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.is_alert_due(evaluated_at timestamp with time zone, every interval, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.is_alert_due(evaluated_at timestamp with time zone, every interval, at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.is_alert_due(evaluated_at timestamp with time zone, every interval, at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.is_api_key_usable(key ostinato_data.api_key, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.is_api_key_usable(key ostinato_data.api_key, at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.is_api_key_usable(key ostinato_data.api_key, at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.is_archived(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.is_archived(name text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.is_archived(name text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.is_awaited(group_id bigint, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.is_awaited(group_id bigint, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.is_awaited(group_id bigint, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.is_beyond(value double precision, comparison text, threshold double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.is_beyond(value double precision, comparison text, threshold double precision) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.is_beyond(value double precision, comparison text, threshold double precision) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.is_day(rule ostinato_data.recurrence, day date) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.is_day(rule ostinato_data.recurrence, day date) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.is_day(rule ostinato_data.recurrence, day date) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.is_deep(document text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.is_deep(document text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.is_deep(document text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.is_expired(beat_at timestamp with time zone, expiry_seconds double precision, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.is_expired(beat_at timestamp with time zone, expiry_seconds double precision, at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.is_expired(beat_at timestamp with time zone, expiry_seconds double precision, at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.is_guilty(job_id bigint, counted integer, max_crashes integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.is_guilty(job_id bigint, counted integer, max_crashes integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.is_guilty(job_id bigint, counted integer, max_crashes integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.is_lapsed(renewed_at timestamp with time zone, seconds double precision, doubted_at timestamp with time zone, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.is_lapsed(renewed_at timestamp with time zone, seconds double precision, doubted_at timestamp with time zone, at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.is_lapsed(renewed_at timestamp with time zone, seconds double precision, doubted_at timestamp with time zone, at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.is_new_doubt(renewed_at timestamp with time zone, seconds double precision, doubted_at timestamp with time zone, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.is_new_doubt(renewed_at timestamp with time zone, seconds double precision, doubted_at timestamp with time zone, at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.is_new_doubt(renewed_at timestamp with time zone, seconds double precision, doubted_at timestamp with time zone, at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.is_odd_payload(payload text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.is_odd_payload(payload text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.is_odd_payload(payload text) TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.lease TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.lease TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.is_own_lease(held ostinato_data.lease, asked ostinato_data.lease) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.is_own_lease(held ostinato_data.lease, asked ostinato_data.lease) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.is_own_lease(held ostinato_data.lease, asked ostinato_data.lease) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.is_ready(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.is_ready(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.is_ready(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.is_run(queue text, kind text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.is_run(queue text, kind text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.is_run(queue text, kind text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.is_watchable(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.is_watchable(name text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.is_watchable(name text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.jitter(schedule_id bigint, slot_at timestamp with time zone, seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.jitter(schedule_id bigint, slot_at timestamp with time zone, seconds double precision) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.jitter(schedule_id bigint, slot_at timestamp with time zone, seconds double precision) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.job_damage(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.job_damage(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.job_damage(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.job_filter_of(filter json) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.job_filter_of(filter json) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.job_filter_of(filter json) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.job_summaries(ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.job_summaries(ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.job_summaries(ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.join_key(spawns text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.join_key(spawns text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.join_key(spawns text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.json_number(value double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.json_number(value double precision) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.json_number(value double precision) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.keep_answer(held ostinato_data.idempotency) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.keep_answer(held ostinato_data.idempotency) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.keep_answer(held ostinato_data.idempotency) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.keep_late(job_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.keep_late(job_ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.keep_late(job_ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.keep_order(job_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.keep_order(job_ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.keep_order(job_ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.lane(tenant_id text, ordering_key text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.lane(tenant_id text, ordering_key text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.lane(tenant_id text, ordering_key text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.lane_ends(queue text, priority smallint, tenant_id text, most bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.lane_ends(queue text, priority smallint, tenant_id text, most bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.lane_ends(queue text, priority smallint, tenant_id text, most bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.last_id() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.last_id() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.last_id() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.latency_at(counts bigint[], share double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.latency_at(counts bigint[], share double precision) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.latency_at(counts bigint[], share double precision) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.latency_bounds() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.latency_bounds() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.latency_bounds() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.leads_to_state(entity text, state_column text, tenant_column text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.leads_to_state(entity text, state_column text, tenant_column text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.leads_to_state(entity text, state_column text, tenant_column text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.lease_state(lease ostinato_data.lease) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.lease_state(lease ostinato_data.lease) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.lease_state(lease ostinato_data.lease) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.limited_lanes(hint ostinato_data.claim_hint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.limited_lanes(hint ostinato_data.claim_hint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.limited_lanes(hint ostinato_data.claim_hint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.line_cap() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.line_cap() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.line_cap() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.local_instants(local timestamp without time zone, zone text, gap text, overlap text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.local_instants(local timestamp without time zone, zone text, gap text, overlap text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.local_instants(local timestamp without time zone, zone text, gap text, overlap text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.lock_api_key(key_id bigint, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.lock_api_key(key_id bigint, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.lock_api_key(key_id bigint, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.lock_claims(claim_ids bigint[], job_ids bigint[], shared boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.lock_claims(claim_ids bigint[], job_ids bigint[], shared boolean) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.lock_claims(claim_ids bigint[], job_ids bigint[], shared boolean) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.lock_keys(tenant_ids text[], ordering_keys text[], count integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.lock_keys(tenant_ids text[], ordering_keys text[], count integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.lock_keys(tenant_ids text[], ordering_keys text[], count integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.lock_lanes(job_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.lock_lanes(job_ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.lock_lanes(job_ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.lock_place(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.lock_place(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.lock_place(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.lock_subscription(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.lock_subscription(name text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.lock_subscription(name text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.lock_webhook_endpoint(name text, tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.lock_webhook_endpoint(name text, tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.lock_webhook_endpoint(name text, tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.log_weeks(parent text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.log_weeks(parent text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.log_weeks(parent text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.log_window() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.log_window() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.log_window() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.log_windows() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.log_windows() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.log_windows() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.longest_error() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.longest_error() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.longest_error() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.longest_message_id() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.longest_message_id() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.longest_message_id() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.longest_name() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.longest_name() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.longest_name() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.longest_session() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.longest_session() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.longest_session() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.longest_text() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.longest_text() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.longest_text() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.look_up_lanes(queue text, last_tenant text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.look_up_lanes(queue text, last_tenant text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.look_up_lanes(queue text, last_tenant text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.low_step() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.low_step() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.low_step() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.machine_faults(definition json) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.machine_faults(definition json) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.machine_faults(definition json) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.make_guard(machine text, entity text, id_column text, state_column text, tenant_column text, attached_by text) FROM PUBLIC;
REVOKE ALL ON FUNCTION ostinato_internal.make_partition(parent text, name text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.make_partition(parent text, name text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.make_partition(parent text, name text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.make_ready(job_id bigint, at bigint, attempt integer, failures integer, crashes integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.make_ready(job_id bigint, at bigint, attempt integer, failures integer, crashes integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.make_ready(job_id bigint, at bigint, attempt integer, failures integer, crashes integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.make_rule(cron text, at_time text, weekdays text[], at text, zone text, gap text, overlap text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.make_rule(cron text, at_time text, weekdays text[], at text, zone text, gap text, overlap text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.make_rule(cron text, at_time text, weekdays text[], at text, zone text, gap text, overlap text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.make_subject_secret() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.make_subject_secret() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.make_subject_secret() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.masked(value json) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.masked(value json) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.masked(value json) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.masked_args(kind text, args json) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.masked_args(kind text, args json) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.masked_args(kind text, args json) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.may_take_over(held ostinato_data.idempotency) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.may_take_over(held ostinato_data.idempotency) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.may_take_over(held ostinato_data.idempotency) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.most_bytes() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.most_bytes() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.most_bytes() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.most_catch_up() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.most_catch_up() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.most_catch_up() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.most_field_bytes() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.most_field_bytes() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.most_field_bytes() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.most_keys() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.most_keys() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.most_keys() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.most_lanes() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.most_lanes() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.most_lanes() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.most_note_bytes() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.most_note_bytes() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.most_note_bytes() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.most_poor_look_ups() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.most_poor_look_ups() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.most_poor_look_ups() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.most_result_bytes() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.most_result_bytes() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.most_result_bytes() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.most_rows() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.most_rows() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.most_rows() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.most_schedule_bytes() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.most_schedule_bytes() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.most_schedule_bytes() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.most_slots() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.most_slots() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.most_slots() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.most_streams() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.most_streams() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.most_streams() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.most_tries() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.most_tries() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.most_tries() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.move_job(job_id bigint, run_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.move_job(job_id bigint, run_at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.move_job(job_id bigint, run_at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.move_jobs(max_crashes integer, OUT rescued integer, OUT promoted integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.move_jobs(max_crashes integer, OUT rescued integer, OUT promoted integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.move_jobs(max_crashes integer, OUT rescued integer, OUT promoted integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.moving_tenants() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.moving_tenants() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.moving_tenants() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.needed_event(cutoff timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.needed_event(cutoff timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.needed_event(cutoff timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.needed_jobs(first bigint, behind bigint, cutoff timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.needed_jobs(first bigint, behind bigint, cutoff timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.needed_jobs(first bigint, behind bigint, cutoff timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.new_place(id bigint, priority integer, keyed boolean, queue text, tenant_id text, kind text, limit_key text, limit_scope text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.new_place(id bigint, priority integer, keyed boolean, queue text, tenant_id text, kind text, limit_key text, limit_scope text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.new_place(id bigint, priority integer, keyed boolean, queue text, tenant_id text, kind text, limit_key text, limit_scope text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.next_date(rule ostinato_data.recurrence, first date) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.next_date(rule ostinato_data.recurrence, first date) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.next_date(rule ostinato_data.recurrence, first date) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.next_due(s ostinato_data.schedule, after timestamp with time zone, OUT slot_local timestamp without time zone, OUT slot_at timestamp with time zone, OUT next_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.next_due(s ostinato_data.schedule, after timestamp with time zone, OUT slot_local timestamp without time zone, OUT slot_at timestamp with time zone, OUT next_at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.next_due(s ostinato_data.schedule, after timestamp with time zone, OUT slot_local timestamp without time zone, OUT slot_at timestamp with time zone, OUT next_at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.next_jobs(worker_id uuid, queue text, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.next_jobs(worker_id uuid, queue text, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.next_jobs(worker_id uuid, queue text, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.next_local(rule ostinato_data.recurrence, after timestamp without time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.next_local(rule ostinato_data.recurrence, after timestamp without time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.next_local(rule ostinato_data.recurrence, after timestamp without time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.next_slot(rule ostinato_data.recurrence, after timestamp with time zone, OUT local timestamp without time zone, OUT at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.next_slot(rule ostinato_data.recurrence, after timestamp with time zone, OUT local timestamp without time zone, OUT at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.next_slot(rule ostinato_data.recurrence, after timestamp with time zone, OUT local timestamp without time zone, OUT at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.next_slots(rule ostinato_data.recurrence, n integer, after timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.next_slots(rule ostinato_data.recurrence, n integer, after timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.next_slots(rule ostinato_data.recurrence, n integer, after timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.next_tenant(after text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.next_tenant(after text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.next_tenant(after text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.no_limit() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.no_limit() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.no_limit() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.note_deaths(claim_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.note_deaths(claim_ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.note_deaths(claim_ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.note_fault(part text, state text, message text, queue text, job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.note_fault(part text, state text, message text, queue text, job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.note_fault(part text, state text, message text, queue text, job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.note_readings(declared ostinato_data.alert, readings jsonb, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.note_readings(declared ostinato_data.alert, readings jsonb, at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.note_readings(declared ostinato_data.alert, readings jsonb, at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.note_starts(limits ostinato_data.queue, batch ostinato_data.batch, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.note_starts(limits ostinato_data.queue, batch ostinato_data.batch, at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.note_starts(limits ostinato_data.queue, batch ostinato_data.batch, at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.note_subject(tenant_id text, subject text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.note_subject(tenant_id text, subject text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.note_subject(tenant_id text, subject text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.note_subjects(tenant_ids text[], subjects text[], tenant_id text, subject text, count integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.note_subjects(tenant_ids text[], subjects text[], tenant_id text, subject text, count integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.note_subjects(tenant_ids text[], subjects text[], tenant_id text, subject text, count integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.note_transition(machine text, entity text, relation oid, entity_id text, tenant_id text, from_state text, to_state text) FROM PUBLIC;
REVOKE ALL ON FUNCTION ostinato_internal.note_webhook_health(endpoint ostinato_data.webhook_endpoint, outcome text, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.note_webhook_health(endpoint ostinato_data.webhook_endpoint, outcome text, at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.note_webhook_health(endpoint ostinato_data.webhook_endpoint, outcome text, at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.noted_subjects() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.noted_subjects() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.noted_subjects() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.offset_text(at timestamp with time zone, zone text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.offset_text(at timestamp with time zone, zone text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.offset_text(at timestamp with time zone, zone text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.oldest_wait(queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.oldest_wait(queue text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.oldest_wait(queue text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.one_for_all(anyarray) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.one_for_all(anyarray) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.one_for_all(anyarray) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.open_deliveries(job_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.open_deliveries(job_ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.open_deliveries(job_ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.open_kinds() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.open_kinds() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.open_kinds() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.open_lanes(sub ostinato_data.subscription, lanes text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.open_lanes(sub ostinato_data.subscription, lanes text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.open_lanes(sub ostinato_data.subscription, lanes text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.others_die(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.others_die(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.others_die(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.own_cancel_job(job_id bigint, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.own_cancel_job(job_id bigint, reason text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.own_cancel_job(job_id bigint, reason text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.own_emit_events(types text[], payloads text[], ordering_keys text[], versions integer[], tenant_ids text[], correlation_ids text[], occurred_ats timestamp with time zone[], producers text[], as_of_now boolean, subjects text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.own_emit_events(types text[], payloads text[], ordering_keys text[], versions integer[], tenant_ids text[], correlation_ids text[], occurred_ats timestamp with time zone[], producers text[], as_of_now boolean, subjects text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.own_emit_events(types text[], payloads text[], ordering_keys text[], versions integer[], tenant_ids text[], correlation_ids text[], occurred_ats timestamp with time zone[], producers text[], as_of_now boolean, subjects text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.own_enqueue_job(kind text, args json, queue text, priority integer, run_at timestamp with time zone, tenant_id text, correlation_id text, limit_key text, unique_key text, unique_policy text, unique_states text[], max_attempts integer, limit_scope text, subject text, traceparent text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.own_enqueue_job(kind text, args json, queue text, priority integer, run_at timestamp with time zone, tenant_id text, correlation_id text, limit_key text, unique_key text, unique_policy text, unique_states text[], max_attempts integer, limit_scope text, subject text, traceparent text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.own_enqueue_job(kind text, args json, queue text, priority integer, run_at timestamp with time zone, tenant_id text, correlation_id text, limit_key text, unique_key text, unique_policy text, unique_states text[], max_attempts integer, limit_scope text, subject text, traceparent text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.own_enqueue_jobs(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], unique_keys text[], max_attempts integer[], limit_scopes text[], subjects text[], traceparent text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.own_enqueue_jobs(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], unique_keys text[], max_attempts integer[], limit_scopes text[], subjects text[], traceparent text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.own_enqueue_jobs(kinds text[], args text[], queues text[], priorities integer[], run_ats timestamp with time zone[], tenant_ids text[], correlation_ids text[], limit_keys text[], unique_keys text[], max_attempts integer[], limit_scopes text[], subjects text[], traceparent text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.own_erase_subject(tenant_id text, subject text, preview boolean, keep_live boolean, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.own_erase_subject(tenant_id text, subject text, preview boolean, keep_live boolean, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.own_erase_subject(tenant_id text, subject text, preview boolean, keep_live boolean, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.own_filter_tenant(asked text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.own_filter_tenant(asked text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.own_filter_tenant(asked text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.own_fire_slots(schedule_id bigint, ats timestamp with time zone[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.own_fire_slots(schedule_id bigint, ats timestamp with time zone[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.own_fire_slots(schedule_id bigint, ats timestamp with time zone[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.own_found_actions(ids bigint[], correlation_id text, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.own_found_actions(ids bigint[], correlation_id text, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.own_found_actions(ids bigint[], correlation_id text, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.own_found_audit(by_actor text, of_verb text, of_target text, of_job bigint, since timestamp with time zone, before bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.own_found_audit(by_actor text, of_verb text, of_target text, of_job bigint, since timestamp with time zone, before bigint, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.own_found_audit(by_actor text, of_verb text, of_target text, of_job bigint, since timestamp with time zone, before bigint, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.own_found_jobs(in_state text, in_queue text, of_kind text, before bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.own_found_jobs(in_state text, in_queue text, of_kind text, before bigint, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.own_found_jobs(in_state text, in_queue text, of_kind text, before bigint, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.own_held_jobs(ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.own_held_jobs(ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.own_held_jobs(ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.own_label(declared ostinato_data.alert, label text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.own_label(declared ostinato_data.alert, label text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.own_label(declared ostinato_data.alert, label text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.own_lanes() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.own_lanes() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.own_lanes() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.own_limits(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.own_limits(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.own_limits(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.own_move_job(job_id bigint, run_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.own_move_job(job_id bigint, run_at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.own_move_job(job_id bigint, run_at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.own_preview_bulk(verb text, state text, f ostinato_data.job_filter, OUT matching bigint, OUT capped boolean, OUT samples bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.own_preview_bulk(verb text, state text, f ostinato_data.job_filter, OUT matching bigint, OUT capped boolean, OUT samples bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.own_preview_bulk(verb text, state text, f ostinato_data.job_filter, OUT matching bigint, OUT capped boolean, OUT samples bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.own_redrive_jobs(queue text, kind text, tenant_id text, signature text, ids bigint[], most integer, preview boolean, OUT matching bigint, OUT redriven bigint, OUT conflicts bigint, OUT chosen bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.own_redrive_jobs(queue text, kind text, tenant_id text, signature text, ids bigint[], most integer, preview boolean, OUT matching bigint, OUT redriven bigint, OUT conflicts bigint, OUT chosen bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.own_redrive_jobs(queue text, kind text, tenant_id text, signature text, ids bigint[], most integer, preview boolean, OUT matching bigint, OUT redriven bigint, OUT conflicts bigint, OUT chosen bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.own_restart_job(job_id bigint, from_step text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.own_restart_job(job_id bigint, from_step text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.own_restart_job(job_id bigint, from_step text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.own_retry_job(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.own_retry_job(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.own_retry_job(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.own_searched_jobs(in_state text, f ostinato_data.job_filter, edge bigint, most integer, OUT ids bigint[], OUT next bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.own_searched_jobs(in_state text, f ostinato_data.job_filter, edge bigint, most integer, OUT ids bigint[], OUT next bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.own_searched_jobs(in_state text, f ostinato_data.job_filter, edge bigint, most integer, OUT ids bigint[], OUT next bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.own_start_bulk(verb text, state text, f ostinato_data.job_filter, canary boolean, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.own_start_bulk(verb text, state text, f ostinato_data.job_filter, canary boolean, reason text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.own_start_bulk(verb text, state text, f ostinato_data.job_filter, canary boolean, reason text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.own_stop_bulk(bulk_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.own_stop_bulk(bulk_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.own_stop_bulk(bulk_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.own_tenant() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.own_tenant() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.own_tenant() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.page_size(most integer, largest integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.page_size(most integer, largest integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.page_size(most integer, largest integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.parse_cron(cron text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.parse_cron(cron text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.parse_cron(cron text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.parse_cron_field(cron text, field text, what text, low integer, high integer, names text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.parse_cron_field(cron text, field text, what text, low integer, high integer, names text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.parse_cron_field(cron text, field text, what text, low integer, high integer, names text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.pick(anyarray, n bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.pick(anyarray, n bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.pick(anyarray, n bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.place_at(place ostinato_data.place, "position" bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.place_at(place ostinato_data.place, "position" bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.place_at(place ostinato_data.place, "position" bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.place_cap() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.place_cap() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.place_cap() TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.ready TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.ready TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.place_in_line(line ostinato_data.ready) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.place_in_line(line ostinato_data.ready) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.place_in_line(line ostinato_data.ready) TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.job TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.job TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.place_of(job ostinato_data.job, "position" bigint, attempt integer, failures integer, crashes integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.place_of(job ostinato_data.job, "position" bigint, attempt integer, failures integer, crashes integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.place_of(job ostinato_data.job, "position" bigint, attempt integer, failures integer, crashes integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.plain_number(value double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.plain_number(value double precision) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.plain_number(value double precision) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.plan_fires(s ostinato_data.schedule, first_local timestamp without time zone, first_at timestamp with time zone, now timestamp with time zone, OUT locals timestamp without time zone[], OUT ats timestamp with time zone[], OUT missed integer, OUT next_local timestamp without time zone, OUT next_slot timestamp with time zone, OUT next_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.plan_fires(s ostinato_data.schedule, first_local timestamp without time zone, first_at timestamp with time zone, now timestamp with time zone, OUT locals timestamp without time zone[], OUT ats timestamp with time zone[], OUT missed integer, OUT next_local timestamp without time zone, OUT next_slot timestamp with time zone, OUT next_at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.plan_fires(s ostinato_data.schedule, first_local timestamp without time zone, first_at timestamp with time zone, now timestamp with time zone, OUT locals timestamp without time zone[], OUT ats timestamp with time zone[], OUT missed integer, OUT next_local timestamp without time zone, OUT next_slot timestamp with time zone, OUT next_at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.poor_look_up() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.poor_look_up() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.poor_look_up() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.portal_tenant(tenant_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.portal_tenant(tenant_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.portal_tenant(tenant_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.position_at(at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.position_at(at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.position_at(at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.preview_bulk(verb text, state text, f ostinato_data.job_filter, OUT matching bigint, OUT capped boolean, OUT samples bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.preview_bulk(verb text, state text, f ostinato_data.job_filter, OUT matching bigint, OUT capped boolean, OUT samples bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.preview_bulk(verb text, state text, f ostinato_data.job_filter, OUT matching bigint, OUT capped boolean, OUT samples bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.preview_cap() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.preview_cap() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.preview_cap() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.prune_default(cutoff timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.prune_default(cutoff timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.prune_default(cutoff timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.prune_leftovers(cutoff timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.prune_leftovers(cutoff timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.prune_leftovers(cutoff timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.prune_passes() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.prune_passes() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.prune_passes() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.prune_schedules(cutoff timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.prune_schedules(cutoff timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.prune_schedules(cutoff timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.public_filter(f ostinato_data.job_filter) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.public_filter(f ostinato_data.job_filter) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.public_filter(f ostinato_data.job_filter) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.put_behind(job_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.put_behind(job_ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.put_behind(job_ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.queue_allowance(limits ostinato_data.queue, wanted integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.queue_allowance(limits ostinato_data.queue, wanted integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.queue_allowance(limits ostinato_data.queue, wanted integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.queue_running(queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.queue_running(queue text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.queue_running(queue text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.raise_low(sub ostinato_data.subscription) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.raise_low(sub ostinato_data.subscription) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.raise_low(sub ostinato_data.subscription) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.rate_frees_at(queue text, limit_key text, most integer, seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.rate_frees_at(queue text, limit_key text, most integer, seconds double precision) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.rate_frees_at(queue text, limit_key text, most integer, seconds double precision) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.reached_limits(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.reached_limits(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.reached_limits(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.read_schedules(schedules json, now timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.read_schedules(schedules json, now timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.read_schedules(schedules json, now timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.ready_cap() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.ready_cap() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.ready_cap() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.ready_keys(queue text, after text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.ready_keys(queue text, after text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.ready_keys(queue text, after text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.ready_lanes(queue text, after_priority integer, after_tenant text, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.ready_lanes(queue text, after_priority integer, after_tenant text, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.ready_lanes(queue text, after_priority integer, after_tenant text, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.ready_lines() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.ready_lines() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.ready_lines() TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.scheduled TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.scheduled TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.ready_row(scheduled ostinato_data.scheduled, "position" bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.ready_row(scheduled ostinato_data.scheduled, "position" bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.ready_row(scheduled ostinato_data.scheduled, "position" bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.ready_since(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.ready_since(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.ready_since(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.real_clock() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.real_clock() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.real_clock() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.real_time(at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.real_time(at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.real_time(at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.recent_starts(queue text, limit_key text, seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.recent_starts(queue text, limit_key text, seconds double precision) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.recent_starts(queue text, limit_key text, seconds double precision) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.record(verb text, noun text, target text, tenant_id text, job_ids bigint[], count bigint, filter json, detail json, why text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.record(verb text, noun text, target text, tenant_id text, job_ids bigint[], count bigint, filter json, detail json, why text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.record(verb text, noun text, target text, tenant_id text, job_ids bigint[], count bigint, filter json, detail json, why text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.record_bulk(bulk_id bigint, job_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.record_bulk(bulk_id bigint, job_ids bigint[]) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato_internal.redrive_jobs(queue text, kind text, tenant_id text, signature text, ids bigint[], most integer, preview boolean, OUT matching bigint, OUT redriven bigint, OUT conflicts bigint, OUT chosen bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.redrive_jobs(queue text, kind text, tenant_id text, signature text, ids bigint[], most integer, preview boolean, OUT matching bigint, OUT redriven bigint, OUT conflicts bigint, OUT chosen bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.redrive_jobs(queue text, kind text, tenant_id text, signature text, ids bigint[], most integer, preview boolean, OUT matching bigint, OUT redriven bigint, OUT conflicts bigint, OUT chosen bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.redriven_jobs(ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.redriven_jobs(ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.redriven_jobs(ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.refusal_cap() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.refusal_cap() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.refusal_cap() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.refusal_of(verb text, job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.refusal_of(verb text, job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.refusal_of(verb text, job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.refuse_behind(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.refuse_behind(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.refuse_behind(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.refuse_event(type text, field text, value text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.refuse_event(type text, field text, value text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.refuse_event(type text, field text, value text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.refuse_hash() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.refuse_hash() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.refuse_hash() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.refuse_header_values() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.refuse_header_values() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.refuse_header_values() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.refuse_held(held ostinato_data.lease, hint text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.refuse_held(held ostinato_data.lease, hint text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.refuse_held(held ostinato_data.lease, hint text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.refuse_key(tenant_id text, scope text, key text, token bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.refuse_key(tenant_id text, scope text, key text, token bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.refuse_key(tenant_id text, scope text, key text, token bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.refuse_large_step(name text, result text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.refuse_large_step(name text, result text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.refuse_large_step(name text, result text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.refuse_lease(tenant_id text, name text, token bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.refuse_lease(tenant_id text, name text, token bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.refuse_lease(tenant_id text, name text, token bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.refuse_moved(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.refuse_moved(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.refuse_moved(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.refuse_overlooked(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.refuse_overlooked(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.refuse_overlooked(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.refuse_real_clock() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.refuse_real_clock() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.refuse_real_clock() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.refuse_row() FROM PUBLIC;
REVOKE ALL ON FUNCTION ostinato_internal.refuse_stale(job_id bigint, attempt integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.refuse_stale(job_id bigint, attempt integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.refuse_stale(job_id bigint, attempt integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.refuse_unknown(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.refuse_unknown(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.refuse_unknown(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.refuse_unknown_bulk(bulk_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.refuse_unknown_bulk(bulk_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.refuse_unknown_bulk(bulk_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.rehold_unique_key(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.rehold_unique_key(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.rehold_unique_key(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.rejoin_lanes(job_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.rejoin_lanes(job_ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.rejoin_lanes(job_ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.relation_of(entity text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.relation_of(entity text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.relation_of(entity text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.release_followers(claim_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.release_followers(claim_ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.release_followers(claim_ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.release_held_webhooks(endpoint_id bigint, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.release_held_webhooks(endpoint_id bigint, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.release_held_webhooks(endpoint_id bigint, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.rescue_apart(claim_ids bigint[], max_crashes integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.rescue_apart(claim_ids bigint[], max_crashes integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.rescue_apart(claim_ids bigint[], max_crashes integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.rescue_claims(claim_ids bigint[], max_crashes integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.rescue_claims(claim_ids bigint[], max_crashes integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.rescue_claims(claim_ids bigint[], max_crashes integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.resolve_firing(firing ostinato_data.alert_firing, at timestamp with time zone, value double precision, details json) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.resolve_firing(firing ostinato_data.alert_firing, at timestamp with time zone, value double precision, details json) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.resolve_firing(firing ostinato_data.alert_firing, at timestamp with time zone, value double precision, details json) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.resolve_waits(event_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.resolve_waits(event_ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.resolve_waits(event_ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.rest_of(batch ostinato_data.batch, claims bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.rest_of(batch ostinato_data.batch, claims bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.rest_of(batch ostinato_data.batch, claims bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.restart_job(job_id bigint, from_step text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.restart_job(job_id bigint, from_step text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.restart_job(job_id bigint, from_step text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.retime_schedules(ids bigint[], after timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.retime_schedules(ids bigint[], after timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.retime_schedules(ids bigint[], after timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.retried_jobs(ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.retried_jobs(ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.retried_jobs(ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.retry_job(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.retry_job(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.retry_job(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.ring_ends(job_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.ring_ends(job_ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.ring_ends(job_ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.rule_condition(rule json, row_name text, state_column text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.rule_condition(rule json, row_name text, state_column text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.rule_condition(rule json, row_name text, state_column text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.rule_text(s ostinato_data.schedule) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.rule_text(s ostinato_data.schedule) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.rule_text(s ostinato_data.schedule) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.running_keys(queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.running_keys(queue text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.running_keys(queue text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.say_count(n bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.say_count(n bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.say_count(n bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.say_some(names text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.say_some(names text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.say_some(names text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.say_span(span interval) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.say_span(span interval) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.say_span(span interval) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.say_time(at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.say_time(at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.say_time(at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.scheduled_row(place ostinato_data.place, run_at timestamp with time zone, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.scheduled_row(place ostinato_data.place, run_at timestamp with time zone, reason text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.scheduled_row(place ostinato_data.place, run_at timestamp with time zone, reason text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.seal(tenant_id text, scope text, key text, value text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.seal(tenant_id text, scope text, key text, value text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.seal(tenant_id text, scope text, key text, value text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.sealed_request(tenant_id text, scope text, key text, fingerprint text, fields json, declaration text, holder text, lease_seconds double precision, ttl_seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.sealed_request(tenant_id text, scope text, key text, fingerprint text, fields json, declaration text, holder text, lease_seconds double precision, ttl_seconds double precision) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.sealed_request(tenant_id text, scope text, key text, fingerprint text, fields json, declaration text, holder text, lease_seconds double precision, ttl_seconds double precision) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.search_bytes() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.search_bytes() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.search_bytes() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.search_cap() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.search_cap() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.search_cap() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.search_jobs(in_state text, f ostinato_data.job_filter, edge bigint, most integer, oldest boolean, below bigint, OUT ids bigint[], OUT next bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.search_jobs(in_state text, f ostinato_data.job_filter, edge bigint, most integer, oldest boolean, below bigint, OUT ids bigint[], OUT next bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.search_jobs(in_state text, f ostinato_data.job_filter, edge bigint, most integer, oldest boolean, below bigint, OUT ids bigint[], OUT next bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.search_window(in_state text, f ostinato_data.job_filter, edge bigint, most integer, oldest boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.search_window(in_state text, f ostinato_data.job_filter, edge bigint, most integer, oldest boolean) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.search_window(in_state text, f ostinato_data.job_filter, edge bigint, most integer, oldest boolean) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.seen_series(step integer, since timestamp with time zone, until timestamp with time zone, for_queue text, for_kind text, for_tenant text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.seen_series(step integer, since timestamp with time zone, until timestamp with time zone, for_queue text, for_kind text, for_tenant text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.seen_series(step integer, since timestamp with time zone, until timestamp with time zone, for_queue text, for_kind text, for_tenant text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.sees_all() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.sees_all() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.sees_all() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.served_lanes(tenants text[], gave text[], positions bigint[], share integer, full_batch boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.served_lanes(tenants text[], gave text[], positions bigint[], share integer, full_batch boolean) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.served_lanes(tenants text[], gave text[], positions bigint[], share integer, full_batch boolean) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.session_line(session ostinato_data.session) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.session_line(session ostinato_data.session) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.session_line(session ostinato_data.session) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.set_aside_claim(claim_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.set_aside_claim(claim_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.set_aside_claim(claim_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.set_aside_next(worker_id uuid, queue text, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.set_aside_next(worker_id uuid, queue text, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.set_aside_next(worker_id uuid, queue text, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.set_aside_waiting(queue text, job_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.set_aside_waiting(queue text, job_ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.set_aside_waiting(queue text, job_ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.settle(claim_ids bigint[], job_ids bigint[], attempts integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.settle(claim_ids bigint[], job_ids bigint[], attempts integer[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.settle(claim_ids bigint[], job_ids bigint[], attempts integer[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.settle_cancels(most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.settle_cancels(most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.settle_cancels(most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.settle_groups(job_ids bigint[], most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.settle_groups(job_ids bigint[], most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.settle_groups(job_ids bigint[], most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.share_claims(claim_ids bigint[], job_ids bigint[], attempts integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.share_claims(claim_ids bigint[], job_ids bigint[], attempts integer[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.share_claims(claim_ids bigint[], job_ids bigint[], attempts integer[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.shelf_batch() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.shelf_batch() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.shelf_batch() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.shelf_kinds() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.shelf_kinds() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.shelf_kinds() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.shelf_lanes(queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.shelf_lanes(queue text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.shelf_lanes(queue text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.shelf_least() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.shelf_least() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.shelf_least() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.shelf_sample() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.shelf_sample() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.shelf_sample() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.shelve_jobs(queue text, kinds text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.shelve_jobs(queue text, kinds text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.shelve_jobs(queue text, kinds text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.short_json(value json, longest integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.short_json(value json, longest integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.short_json(value json, longest integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.silenced_until(alert text, label text, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.silenced_until(alert text, label text, at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.silenced_until(alert text, label text, at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.slot_holders(queue text, slot_key text, few integer, OUT who text, OUT holders json) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.slot_holders(queue text, slot_key text, few integer, OUT who text, OUT holders json) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.slot_holders(queue text, slot_key text, few integer, OUT who text, OUT holders json) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.slot_key(tenant_id text, limit_key text, limit_scope text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.slot_key(tenant_id text, limit_key text, limit_scope text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.slot_key(tenant_id text, limit_key text, limit_scope text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.slot_note(local timestamp without time zone, at timestamp with time zone, zone text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.slot_note(local timestamp without time zone, at timestamp with time zone, zone text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.slot_note(local timestamp without time zone, at timestamp with time zone, zone text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.small_claim() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.small_claim() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.small_claim() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.start_bulk(verb text, state text, f ostinato_data.job_filter, canary boolean, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.start_bulk(verb text, state text, f ostinato_data.job_filter, canary boolean, reason text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.start_bulk(verb text, state text, f ostinato_data.job_filter, canary boolean, reason text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.start_next_webhook(endpoint_id bigint, ordering_key text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.start_next_webhook(endpoint_id bigint, ordering_key text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.start_next_webhook(endpoint_id bigint, ordering_key text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.start_webhook_jobs(ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.start_webhook_jobs(ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.start_webhook_jobs(ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.startable_webhooks(ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.startable_webhooks(ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.startable_webhooks(ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.step_position(job_id bigint, step text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.step_position(job_id bigint, step text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.step_position(job_id bigint, step text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.stop_bulk(bulk_id bigint, of_tenant text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.stop_bulk(bulk_id bigint, of_tenant text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.stop_bulk(bulk_id bigint, of_tenant text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.stop_upkeep() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.stop_upkeep() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.stop_upkeep() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.stored_filter(f ostinato_data.job_filter) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.stored_filter(f ostinato_data.job_filter) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.stored_filter(f ostinato_data.job_filter) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.subject_hash(tenant_id text, subject text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.subject_hash(tenant_id text, subject text) TO ostinato_worker;
REVOKE ALL ON FUNCTION ostinato_internal.subject_token(hash bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.subject_token(hash bytea) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.subject_token(hash bytea) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.sum_counts(counts bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.sum_counts(counts bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.sum_counts(counts bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.suspect_crashes() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.suspect_crashes() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.suspect_crashes() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.take_all(queue text, wanted integer, kinds text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.take_all(queue text, wanted integer, kinds text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.take_all(queue text, wanted integer, kinds text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.take_events(job_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.take_events(job_ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.take_events(job_ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.take_followers(queue text, limits ostinato_data.queue, wanted integer, INOUT batch ostinato_data.batch, OUT behind bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.take_followers(queue text, limits ostinato_data.queue, wanted integer, INOUT batch ostinato_data.batch, OUT behind bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.take_followers(queue text, limits ostinato_data.queue, wanted integer, INOUT batch ostinato_data.batch, OUT behind bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.take_key(held ostinato_data.idempotency, asked ostinato_data.idempotency) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.take_key(held ostinato_data.idempotency, asked ostinato_data.idempotency) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.take_key(held ostinato_data.idempotency, asked ostinato_data.idempotency) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.take_lanes(queue text, wanted integer, kinds text[], cursor text, suspects boolean, limited boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.take_lanes(queue text, wanted integer, kinds text[], cursor text, suspects boolean, limited boolean) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.take_lanes(queue text, wanted integer, kinds text[], cursor text, suspects boolean, limited boolean) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.take_lease(asked ostinato_data.lease) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.take_lease(asked ostinato_data.lease) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.take_lease(asked ostinato_data.lease) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.take_limited(limits ostinato_data.queue, wanted integer, kinds text[], suspects boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.take_limited(limits ostinato_data.queue, wanted integer, kinds text[], suspects boolean) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.take_limited(limits ostinato_data.queue, wanted integer, kinds text[], suspects boolean) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.take_suspect(queue text, kinds text[], batch ostinato_data.batch) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.take_suspect(queue text, kinds text[], batch ostinato_data.batch) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.take_suspect(queue text, kinds text[], batch ostinato_data.batch) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.take_turns(queue text, wanted integer, kinds text[], INOUT batch ostinato_data.batch, INOUT lanes ostinato_data.lanes, last integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.take_turns(queue text, wanted integer, kinds text[], INOUT batch ostinato_data.batch, INOUT lanes ostinato_data.lanes, last integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.take_turns(queue text, wanted integer, kinds text[], INOUT batch ostinato_data.batch, INOUT lanes ostinato_data.lanes, last integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.take_waiting(job_ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.take_waiting(job_ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.take_waiting(job_ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.tell_owed(name text, at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.tell_owed(name text, at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.tell_owed(name text, at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.tenant_filter(asked text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.tenant_filter(asked text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.tenant_filter(asked text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.tick() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.tick() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.tick() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.tidy_shelf(worker_id uuid, queues text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.tidy_shelf(worker_id uuid, queues text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.tidy_shelf(worker_id uuid, queues text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.trail_jobs(correlation_id text, tenant_id text, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.trail_jobs(correlation_id text, tenant_id text, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.trail_jobs(correlation_id text, tenant_id text, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.trail_of_actions(ids bigint[], correlation_id text, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.trail_of_actions(ids bigint[], correlation_id text, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.trail_of_actions(ids bigint[], correlation_id text, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.trail_of_events(ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.trail_of_events(ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.trail_of_events(ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.trail_of_fires(correlation_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.trail_of_fires(correlation_id text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.trail_of_fires(correlation_id text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.trail_of_jobs(ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.trail_of_jobs(ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.trail_of_jobs(ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.trail_of_leases(ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.trail_of_leases(ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.trail_of_leases(ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.trail_of_runs(ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.trail_of_runs(ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.trail_of_runs(ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.trail_of_steps(ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.trail_of_steps(ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.trail_of_steps(ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.trail_of_transitions(correlation_id text, most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.trail_of_transitions(correlation_id text, most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.trail_of_transitions(correlation_id text, most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.trail_of_webhooks(ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.trail_of_webhooks(ids bigint[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.trail_of_webhooks(ids bigint[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.transition_text(target ostinato_data.machine_table, changes json, is_one_state boolean, whose text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.transition_text(target ostinato_data.machine_table, changes json, is_one_state boolean, whose text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.transition_text(target ostinato_data.machine_table, changes json, is_one_state boolean, whose text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.unrun_lanes(queue text, kinds text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.unrun_lanes(queue text, kinds text[]) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.unrun_lanes(queue text, kinds text[]) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.unshelve_jobs(worker_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.unshelve_jobs(worker_id uuid) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.unshelve_jobs(worker_id uuid) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.upkeep_events(cutoff timestamp with time zone, weeks_ahead integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.upkeep_events(cutoff timestamp with time zone, weeks_ahead integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.upkeep_events(cutoff timestamp with time zone, weeks_ahead integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.upkeep_log(parent text, id text, cutoff timestamp with time zone, keep_from bigint, weeks_ahead integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.upkeep_log(parent text, id text, cutoff timestamp with time zone, keep_from bigint, weeks_ahead integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.upkeep_log(parent text, id text, cutoff timestamp with time zone, keep_from bigint, weeks_ahead integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.uri_of(text text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.uri_of(text text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.uri_of(text text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.usual_expiry() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.usual_expiry() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.usual_expiry() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.utc_offset(at timestamp with time zone, zone text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.utc_offset(at timestamp with time zone, zone text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.utc_offset(at timestamp with time zone, zone text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.wait_name(event text, key text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.wait_name(event text, key text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.wait_name(event text, key text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.waited(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.waited(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.waited(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.waiting_lanes(for_queue text, for_tenant text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.waiting_lanes(for_queue text, for_tenant text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.waiting_lanes(for_queue text, for_tenant text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.waiting_queues() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.waiting_queues() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.waiting_queues() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.wake_jobs(most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.wake_jobs(most integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.wake_jobs(most integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.wants_event(wanted text[], event_type text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.wants_event(wanted text[], event_type text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.wants_event(wanted text[], event_type text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.was_last(job_id bigint, attempt integer, state text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.was_last(job_id bigint, attempt integer, state text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.was_last(job_id bigint, attempt integer, state text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.watch_canary(b ostinato_data.bulk) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.watch_canary(b ostinato_data.bulk) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.watch_canary(b ostinato_data.bulk) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.webhook_headers(endpoint ostinato_data.webhook_endpoint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.webhook_headers(endpoint ostinato_data.webhook_endpoint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.webhook_headers(endpoint ostinato_data.webhook_endpoint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.webhook_retry() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.webhook_retry() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.webhook_retry() TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.webhook_secrets(endpoint_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.webhook_secrets(endpoint_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.webhook_secrets(endpoint_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.week_id(week integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.week_id(week integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.week_id(week integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.week_name(parent text, week integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.week_name(parent text, week integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.week_name(parent text, week integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.why_behind(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.why_behind(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.why_behind(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.why_blocked(queue text, kind text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.why_blocked(queue text, kind text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.why_blocked(queue text, kind text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.why_cancelling(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.why_cancelling(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.why_cancelling(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.why_claims_fail(queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.why_claims_fail(queue text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.why_claims_fail(queue text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.why_deferred(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.why_deferred(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.why_deferred(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.why_ended(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.why_ended(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.why_ended(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.why_erased(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.why_erased(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.why_erased(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.why_joining(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.why_joining(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.why_joining(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.why_limited(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.why_limited(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.why_limited(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.why_loop_blocked(worker_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.why_loop_blocked(worker_id uuid) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.why_loop_blocked(worker_id uuid) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.why_quarantined(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.why_quarantined(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.why_quarantined(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.why_ready(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.why_ready(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.why_ready(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.why_running(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.why_running(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.why_running(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.why_scheduled(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.why_scheduled(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.why_scheduled(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.why_shelved(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.why_shelved(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.why_shelved(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.why_silent(worker_id uuid, worker text, beat_at timestamp with time zone, lease_until timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.why_silent(worker_id uuid, worker text, beat_at timestamp with time zone, lease_until timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.why_silent(worker_id uuid, worker text, beat_at timestamp with time zone, lease_until timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.why_suspect(place ostinato_data.ready) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.why_suspect(place ostinato_data.ready) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.why_suspect(place ostinato_data.ready) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.why_turn(place ostinato_data.ready, blocked boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.why_turn(place ostinato_data.ready, blocked boolean) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.why_turn(place ostinato_data.ready, blocked boolean) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.why_unique(job_id bigint, few integer) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.why_unique(job_id bigint, few integer) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.why_unique(job_id bigint, few integer) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.why_waiting(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.why_waiting(job_id bigint) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.why_waiting(job_id bigint) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.with_slot(s ostinato_data.schedule, slot_local timestamp without time zone, slot_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.with_slot(s ostinato_data.schedule, slot_local timestamp without time zone, slot_at timestamp with time zone) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.with_slot(s ostinato_data.schedule, slot_local timestamp without time zone, slot_at timestamp with time zone) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.worse(one double precision, other double precision, comparison text) FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.worse(one double precision, other double precision, comparison text) TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.worse(one double precision, other double precision, comparison text) TO ostinato_tenant;
REVOKE ALL ON FUNCTION ostinato_internal.year_seconds() FROM PUBLIC;
GRANT ALL ON FUNCTION ostinato_internal.year_seconds() TO ostinato_worker;
GRANT ALL ON FUNCTION ostinato_internal.year_seconds() TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.event_log TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.event_log TO ostinato_tenant;
GRANT SELECT ON TABLE ostinato.events_outbox TO ostinato_worker;
GRANT SELECT ON TABLE ostinato.events_outbox TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.alert_silence TO ostinato_worker;
GRANT USAGE ON SEQUENCE ostinato_data.api_key_id_seq TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.archive TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.archive_late TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.archive_rule TO ostinato_worker;
REVOKE ALL ON TABLE ostinato_data.audit_entry FROM ostinato_owner;
GRANT SELECT,INSERT,REFERENCES,DELETE,TRIGGER,MAINTAIN ON TABLE ostinato_data.audit_entry TO ostinato_owner;
GRANT SELECT ON TABLE ostinato_data.audit_entry TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.audit_entry TO ostinato_tenant;
REVOKE ALL ON TABLE ostinato_data.audit_entry_default FROM ostinato_owner;
GRANT SELECT,INSERT,REFERENCES,DELETE,TRIGGER,MAINTAIN ON TABLE ostinato_data.audit_entry_default TO ostinato_owner;
GRANT SELECT ON TABLE ostinato_data.audit_entry_default TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.backup TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.bulk_refusal TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.bulk_refusal TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.cancel_request TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.cancel_request TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.child_tick TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.child_tick TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.claim TO ostinato_worker;
GRANT USAGE ON SEQUENCE ostinato_data.claim_id_seq TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.dead_letter TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.dead_letter TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.death TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.deferral TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.deferral TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.delivery TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.delivery TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.doorbell TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.event_default TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.event_log_default TO ostinato_worker;
GRANT SELECT,USAGE ON SEQUENCE ostinato_data.event_seq TO ostinato_worker;
GRANT USAGE ON SEQUENCE ostinato_data.event_seq TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.event_sequencer TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.event_type TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.event_type TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.event_unsequenced TO ostinato_worker;
GRANT USAGE ON SEQUENCE ostinato_data.idempotency_token_seq TO ostinato_worker;
GRANT USAGE ON SEQUENCE ostinato_data.idempotency_token_seq TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.job_default TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.job_group TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.job_group TO ostinato_tenant;
GRANT USAGE ON SEQUENCE ostinato_data.job_id_seq TO ostinato_worker;
GRANT USAGE ON SEQUENCE ostinato_data.job_id_seq TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.job_progress TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.job_progress TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.job_unique TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.job_unique TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.job_wait TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.job_wait TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.job_wake TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.job_watch TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.job_watch TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.kind TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.kind TO ostinato_tenant;
GRANT USAGE ON SEQUENCE ostinato_data.lease_token_seq TO ostinato_worker;
GRANT USAGE ON SEQUENCE ostinato_data.lease_token_seq TO ostinato_tenant;
GRANT SELECT ON TABLE ostinato_data.machine TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.machine TO ostinato_tenant;
GRANT SELECT ON TABLE ostinato_data.machine_transition TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.machine_transition TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.metric_sample TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.metric_sample_default TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.migration TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.outcome TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.outcome TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.outcome_default TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.rate_use TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.schedule_due TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.schedule_due TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.schedule_fire TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.schedule_fire TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.schedule_fire_default TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.series TO ostinato_worker;
GRANT USAGE ON SEQUENCE ostinato_data.session_id_seq TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.step TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.step TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.step_default TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.tenant_place TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.tenant_place TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.tenant_series TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.tenant_series TO ostinato_tenant;
GRANT SELECT,UPDATE ON TABLE ostinato_data.test_clock TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.test_clock TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.tick TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.tick TO ostinato_tenant;
GRANT SELECT ON TABLE ostinato_data.transition TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.transition TO ostinato_tenant;
GRANT SELECT ON TABLE ostinato_data.transition_default TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.wait_gate TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.webhook_attempt TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.webhook_attempt TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.webhook_attempt_default TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.webhook_delivery TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.webhook_delivery TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.webhook_message TO ostinato_worker;
GRANT SELECT(id) ON TABLE ostinato_data.webhook_message TO ostinato_tenant;
GRANT SELECT(tenant_id) ON TABLE ostinato_data.webhook_message TO ostinato_tenant;
GRANT SELECT(event_id) ON TABLE ostinato_data.webhook_message TO ostinato_tenant;
GRANT SELECT(event_type) ON TABLE ostinato_data.webhook_message TO ostinato_tenant;
GRANT SELECT(correlation_id) ON TABLE ostinato_data.webhook_message TO ostinato_tenant;
GRANT SELECT(created_at) ON TABLE ostinato_data.webhook_message TO ostinato_tenant;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.webhook_receipt TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.webhook_secret TO ostinato_worker;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE ostinato_data.worker TO ostinato_worker;
GRANT SELECT ON TABLE ostinato_data.worker TO ostinato_tenant;
