-- The plain statements of enrichment.

-- name: add_request
-- Adds a request, as its tenant.
insert into enrichment.request (
    tenant_id, id, siren, siret, siren_raw, siret_raw, company_siren, metadata, created_at, created_by, correlation_id,
    idempotency_key
) values (
    %(tenant_id)s, %(id)s, %(siren)s, %(siret)s, %(siren_raw)s, %(siret_raw)s, %(company_siren)s, %(metadata)s,
    ostinato.now(), %(created_by)s, %(correlation_id)s, %(idempotency_key)s
);

-- name: request_of_key
-- The request that an interrupted call with this key has made.
select r.id::text as id from enrichment.request r
where r.idempotency_key = %(idempotency_key)s and r.created_at > ostinato.now() - interval '1 day'
order by r.created_at desc limit 1;

-- name: open_company
-- Makes the row of a company.
select enrichment.open_company(%(siren)s, %(freshness_days)s);

-- name: look_at
-- How a company stands for a request.
select decision, siren, status, refreshed_at, at, last_run_at, failed_for
from enrichment.look_at(%(request_id)s, %(again)s, %(freshness_days)s);

-- name: start_run
-- Adds the job of a run.
select enrichment.start_run(%(request_id)s, %(trigger)s);

-- name: show_request
-- A request and its company, as the tenant may see them.
select r.id::text as id, r.created_at, r.created_by, r.siren, r.siret, r.company_siren,
       c.shown_status as enrichment_status, c.enrichment_last_run_at, c.shown_error as enrichment_error,
       case when r.siret is not null then coalesce(e.state, 'PENDING') end as siret_status,
       c.is_running as running, ostinato.now() as at,
       to_jsonb(f) as company, c.masked_fields,
       case when c.updated_at > '-infinity' then c.updated_at end as updated_at,
       c.updated_at > ostinato.now() - make_interval(days => %(days)s) as fresh
from enrichment.request r join enrichment.company c on c.siren = r.company_siren
left join enrichment.establishment e on e.siret = r.siret
cross join lateral (
    select c.legal_name, c.trade_name, c.brand_name, c.legal_form_code, c.legal_form, c.creation_date, c.active_status,
           c.address_line1, c.address_line2, c.postal_code, c.city, c.country_code, c.naf_code, c.naf_label,
           c.headcount_range, c.rcs_city, c.registry_name
) f
where r.id = %(request_id)s;

-- name: show_view
-- A request and what is known of its company, as the routes show them.
select enrichment.show_view(%(request_id)s, %(field_days)s);

-- name: show_documents
-- The documents of a company without their content, newest first.
select d.id::text as id, d.doc_type, d.source_api, d.retrieved_at, d.checksum from enrichment.company_document d
where d.company_siren = %(siren)s order by d.retrieved_at desc, d.doc_type limit 100;

-- name: show_retrievals
-- What came last of each source.
select s.source_api, s.last_retrieved_at, s.last_status, s.last_http_status, s.last_error
from enrichment.company_source_retrieval s
where s.company_siren = %(siren)s order by s.source_api;

-- name: newest_payloads
-- The newest answer of each source, for the directors that it names.
select distinct on (d.source_api) d.source_api, d.payload_json as payload from enrichment.company_document d
where d.company_siren = %(siren)s and d.payload_json is not null order by d.source_api, d.retrieved_at desc;

-- name: ended
-- Which of some requests have left PENDING and RUNNING.
select e.tenant_id, e.id from enrichment.ended_requests(%(tenants)s::text[], %(ids)s::uuid[]) e;

-- name: company_for_run
-- A company, locked for the transaction.
select c.enrichment_status as status, c.job_id, c.attempt, c.asleep_until is not null as asleep,
       c.updated_at > ostinato.now() - make_interval(days => %(days)s) as fresh
from enrichment.company c where c.siren = %(siren)s for no key update;

-- name: company_fields
-- A company's fields and who said so.
select to_jsonb(c) as fields,
       coalesce((select jsonb_object_agg(p.field, p.source_api) from enrichment.company_field_provenance p
                 where p.company_siren = c.siren), '{}') as sources
from enrichment.company c where c.siren = %(siren)s for no key update;

-- name: stash_fetched
-- Keeps what a source answered until the run ends; a call that was made again says it anew.
insert into enrichment.fetched as f (job_id, source_api, found, masked, payload)
values (%(job_id)s, %(source_api)s, %(found)s, %(masked)s, %(payload)s)
on conflict (job_id, source_api) do update set found = excluded.found, masked = excluded.masked,
    payload = excluded.payload;

-- name: stash_more
-- Adds what a second call to a source said to its answer.
update enrichment.fetched f set payload = jsonb_set(f.payload, %(path)s::text[], %(more)s)
where f.job_id = %(job_id)s and f.source_api = %(source_api)s returning f.payload;

-- name: take_fetched
-- Removes and returns the answers of the sources, when their run ends.
delete from enrichment.fetched f where f.job_id = %(job_id)s returning f.source_api, f.found, f.masked;

-- name: keep_document
-- Stores an answer of a run as a document; one that is there already only gets the new time.
insert into enrichment.company_document as d (company_siren, doc_type, source_api, retrieved_at, payload_json, checksum)
values (%(siren)s, %(doc_type)s, %(source_api)s, ostinato.now(),
        coalesce((select f.payload from enrichment.fetched f
                  where f.job_id = %(job_id)s and f.source_api = %(source_api)s), %(payload)s),
        %(checksum)s)
on conflict (company_siren, doc_type, checksum) do update set retrieved_at = excluded.retrieved_at,
    payload_json = coalesce(d.payload_json, excluded.payload_json)
returning d.id::text;

-- name: note_retrieval
-- Notes what came of a source.
insert into enrichment.company_source_retrieval as s (company_siren, source_api, last_retrieved_at, last_status,
                                                      last_http_status, last_error)
values (%(siren)s, %(source_api)s, ostinato.now(), %(status)s, %(http_status)s, %(error)s)
on conflict (company_siren, source_api) do update
set last_retrieved_at = excluded.last_retrieved_at, last_status = excluded.last_status,
    last_http_status = excluded.last_http_status, last_error = excluded.last_error;

-- name: note_provenance
-- Notes who said so, for many fields.
insert into enrichment.company_field_provenance as p (company_siren, field, source_api, document_id, value_hash,
                                                      observed_at)
select %(siren)s, n.field, n.source_api, n.document_id, n.value_hash, ostinato.now()
from unnest(%(fields)s::text[], %(sources)s::text[], %(documents)s::uuid[], %(hashes)s::text[])
    n (field, source_api, document_id, value_hash)
on conflict (company_siren, field) do update set source_api = excluded.source_api, document_id = excluded.document_id,
    value_hash = excluded.value_hash, observed_at = excluded.observed_at;

-- name: attached_tenants
-- The tenants that wait for a job, each with the correlation id of its newest request and the number by which it knows
-- the run.
select distinct on (r.tenant_id) r.tenant_id, r.correlation_id, coalesce(a.ticket, ostinato.new_id()) as ticket
from enrichment.request r left join enrichment.attachment a on (a.job_id, a.tenant_id) = (r.job_id, r.tenant_id)
where r.job_id = %(job_id)s order by r.tenant_id, r.created_at desc;

-- name: forget_attachments
-- Nobody waits for a job any more.
delete from enrichment.attachment a where a.job_id = %(job_id)s;

-- name: end_run
-- Ends the run of a company.
update enrichment.company c set job_id = null, lock_token = null where c.siren = %(siren)s and c.job_id = %(job_id)s;

-- name: take_turn
-- A turn at a source.
select verdict, wait, probe, reason, waited
from enrichment.take_turn(%(source)s, %(per_second)s, %(per_day)s, %(again)s, %(probing)s);

-- name: sleep_before
-- How long a job is to sleep before its run.
select enrichment.sleep_before(%(sources)s::text[], %(per_seconds)s::double precision[], %(per_days)s::integer[],
                               %(longest)s);

-- name: sleep_run
-- Lets the run of a job sleep, with its lock.
select enrichment.sleep_run(%(siren)s, %(job_id)s, %(seconds)s, %(ttl)s);

-- name: jobs_at_work
-- The jobs that may sleep until a source may be called: of companies, and of establishments.
(select c.job_id from enrichment.company c where c.job_id is not null limit 10000)
union all
(select e.job_id from enrichment.establishment e where e.state = 'PENDING' and e.job_id is not null limit 10000);

-- name: hold_back
-- Keeps everybody away from a source for some seconds.
select enrichment.hold_back(%(source)s, %(seconds)s);

-- name: is_held
-- Whether a source must not be called now.
select enrichment.is_held(%(source)s);

-- name: note_missing
-- Notes that a source has no credentials.
update enrichment.source s set configured = false where s.source_api = %(source)s and s.configured;

-- name: note_fetch
-- Notes what came of a fetch, for the breaker.
select enrichment.note_fetch(%(source)s, %(failed)s, %(error)s, %(pause_seconds)s, %(most_failures)s,
                             %(breaker_seconds)s);

-- name: ask_token
-- INPI's token, sealed, or who is to log in.
select verdict, token from enrichment.ask_token(%(refused)s);

-- name: keep_token
-- Keeps INPI's token, sealed.
select enrichment.keep_token(%(token)s, %(seconds)s);

-- name: stale_companies
-- Companies that are past their time and that nobody is at, each with its newest request.
select c.siren, r.tenant_id, r.id::text as request_id, r.correlation_id
from enrichment.company c
join lateral (
    select q.tenant_id, q.id, q.correlation_id from enrichment.request q
    where q.company_siren = c.siren order by q.created_at desc limit 1
) r on true
where c.enrichment_status in ('SUCCESS', 'PARTIAL', 'STALE') and c.job_id is null
  and c.updated_at <= ostinato.now() - make_interval(days => %(days)s)
order by c.updated_at limit %(most)s;

-- name: abandoned_companies
-- Companies whose job is over without having ended their run.
select c.siren, c.job_id, c.enrichment_status as status from enrichment.company c
where c.job_id is not null and not enrichment.is_live(c.job_id)
order by c.siren limit 500 for no key update skip locked;

-- name: forget_ended
-- Lets go of what belongs to runs that are over and that no company refers to any more.
with gone as materialized (
    select k.job_id
    from (select a.job_id from enrichment.attachment a union select f.job_id from enrichment.fetched f) k
    where not exists (select from enrichment.company c where c.job_id = k.job_id) and not enrichment.is_live(k.job_id)
    limit 1000
), attachments as (
    delete from enrichment.attachment a using gone g where a.job_id = g.job_id
)
delete from enrichment.fetched f using gone g where f.job_id = g.job_id;

-- name: purge_documents
-- Lets go of the content of old documents; checksum and dates stay.
with old as (
    select d.id from enrichment.company_document d
    where d.payload_json is not null and d.retrieved_at < ostinato.now() - make_interval(days => %(days)s)
    order by d.retrieved_at limit %(most)s for update skip locked
)
update enrichment.company_document d set payload_json = null from old where d.id = old.id;

-- name: count_by_status
-- The newest so many requests by state, as the reader may see them.
select c.shown_status as status, count(*) as requests
from (select r.company_siren from enrichment.request r order by r.created_at desc limit %(most)s) r
join enrichment.company c on c.siren = r.company_siren group by 1;

-- name: source_health
-- How the sources are.
select s.source_api, s.configured, s.failures, coalesce(s.paused_until > ostinato.now(), false) as paused,
       s.paused_until, s.paused_for,
       case when not s.configured then 'not configured' when s.probing_until > ostinato.now() then 'probing'
            when greatest(s.paused_until, s.held_until) > ostinato.now() then 'paused'
            when s.failures > 0 then 'failing' else 'ok' end as state,
       s.last_ok_at, s.last_error_at, s.last_error,
       case when s.day = (ostinato.now() at time zone 'UTC')::date then s.day_calls else 0 end as calls_today
from enrichment.source s order by s.source_api;

-- name: last_errors
-- The newest failures, as the reader may see them.
select c.siren, t.source_api, t.last_retrieved_at, t.last_http_status, t.last_error
from enrichment.company_source_retrieval t join enrichment.company c on c.siren = t.company_siren
where t.last_status = 'FAILED' order by t.last_retrieved_at desc limit 10;

-- name: rerun_companies
-- Runs companies again that match every filter.
select companies, more
from enrichment.rerun_companies(%(statuses)s::text[], %(errors)s::text[], %(tenant)s, %(due)s, %(trigger)s, %(most)s);

-- name: rerun_own
-- Runs companies of the transaction's tenant again.
select companies, more from enrichment.rerun_own(%(statuses)s::text[], %(errors)s::text[], %(most)s);

-- name: page_requests
-- Returns the newest requests that the viewer may see, with their companies.
select r.tenant_id, r.id::text as id, r.created_at, r.company_siren, c.shown_status as enrichment_status,
       c.enrichment_last_run_at,
       case when 'legal_name' = any(c.masked_fields) then null else c.legal_name end as legal_name
from enrichment.request r join enrichment.company c on c.siren = r.company_siren
where (%(tenant_id)s::text is null or r.tenant_id = %(tenant_id)s)
  and (%(created_by)s::text is null or r.created_by = %(created_by)s)
  and (%(siren)s::text is null or r.company_siren = %(siren)s)
  and (%(before)s::timestamptz is null or r.created_at < %(before)s)
order by r.created_at desc limit %(most)s;

-- name: partial_companies
-- Companies that a source said nothing about, each with its newest request; those that somebody took as they are not.
select distinct on (r.tenant_id, c.siren) r.tenant_id, r.id::text as id, r.created_by, c.siren, c.updated_at,
       c.enrichment_error, case when 'legal_name' = any(c.masked_fields) then null else c.legal_name end as legal_name
from enrichment.company c join enrichment.request r on r.company_siren = c.siren
where c.enrichment_status = 'PARTIAL' and not exists (
    select from enrichment.accepted a
    where a.tenant_id = r.tenant_id and a.company_siren = c.siren and a.snapshot_at >= c.updated_at)
order by r.tenant_id, c.siren, r.created_at desc limit 100;

-- name: count_partial
-- How many of them there are.
select count(*) from (
    select distinct r.tenant_id, c.siren
    from enrichment.company c join enrichment.request r on r.company_siren = c.siren
    where c.enrichment_status = 'PARTIAL' and not exists (
        select from enrichment.accepted a
        where a.tenant_id = r.tenant_id and a.company_siren = c.siren and a.snapshot_at >= c.updated_at)
    limit 1000) waiting;

-- name: accept_partial
-- Takes a company as it is, of the snapshot that was shown.
insert into enrichment.accepted (tenant_id, company_siren, snapshot_at, accepted_by)
select %(tenant_id)s, c.siren, c.updated_at, %(by)s from enrichment.company c
where c.siren = %(siren)s and c.enrichment_status = 'PARTIAL' and c.updated_at = %(snapshot_at)s
on conflict (tenant_id, company_siren) do update set snapshot_at = excluded.snapshot_at,
    accepted_by = excluded.accepted_by, accepted_at = ostinato.now()
returning company_siren;

-- name: forget_provenance
-- Forgets who said what a company has no more: the hash of a short text tells the text.
delete from enrichment.company_field_provenance p where p.company_siren = %(siren)s and p.field = any (%(fields)s);

-- name: forget_answers
-- Forgets the older answers of sources that withhold something by now; checksum and dates stay.
update enrichment.company_document d set payload_json = null
where d.company_siren = %(siren)s and d.source_api = any (%(sources)s) and d.payload_json is not null
  and d.id <> all (%(kept)s::uuid[]);

-- name: open_establishment
-- Asks for the establishment that a request names; how many jobs that added.
select enrichment.open_establishment(%(request_id)s, %(freshness_days)s);

-- name: check_establishments
-- Settles what can be told of the establishments of a company; how many jobs that added.
select enrichment.check_establishments(%(siren)s);

-- name: settle_establishment
-- Notes whether an establishment is known.
update enrichment.establishment e set state = %(state)s, checked_at = ostinato.now(), job_id = null
where e.siret = %(siret)s;

-- name: list_requests
-- Requests of a tenant with their companies, newest first, from a place on.
select r.id::text as id, r.created_at, r.siren, r.siret, r.company_siren, c.shown_status as enrichment_status,
       c.enrichment_last_run_at, c.shown_error as enrichment_error,
       case when r.siret is not null then coalesce(e.state, 'PENDING') end as siret_status, c.legal_name, c.city
from enrichment.request r join enrichment.company c on c.siren = r.company_siren
left join enrichment.establishment e on e.siret = r.siret
where r.tenant_id = %(tenant_id)s
  and (%(before_at)s::timestamptz is null or (r.created_at, r.id) < (%(before_at)s, %(before_id)s::uuid))
  and (%(created_by)s::text is null or r.created_by = %(created_by)s)
  and (%(status)s::text is null or c.shown_status = %(status)s)
  and (%(siren)s::text is null or r.company_siren = %(siren)s)
  and (%(since)s::timestamptz is null or r.created_at >= %(since)s)
  and (%(until)s::timestamptz is null or r.created_at < %(until)s)
  and (%(name)s::text is null
       or strpos(upper(concat_ws(' ', c.legal_name, c.trade_name, c.brand_name)), upper(%(name)s)) > 0)
order by r.created_at desc, r.id desc limit %(most)s;

-- name: list_companies
-- The companies that the requests of a tenant speak of, by SIREN, from a place on.
select c.siren, to_jsonb(f) as company, c.enrichment_status, c.enrichment_last_run_at, c.enrichment_error,
       c.masked_fields, case when c.updated_at > '-infinity' then c.updated_at end as updated_at
from (
    select distinct r.company_siren from enrichment.request r
    where r.tenant_id = %(tenant_id)s and r.company_siren > %(after)s
      and (%(created_by)s::text is null or r.created_by = %(created_by)s)
      and (%(siren)s::text is null or r.company_siren = %(siren)s)
    order by r.company_siren
) mine
join enrichment.company c on c.siren = mine.company_siren
cross join lateral (
    select c.legal_name, c.trade_name, c.brand_name, c.legal_form_code, c.legal_form, c.creation_date, c.active_status,
           c.address_line1, c.address_line2, c.postal_code, c.city, c.country_code, c.naf_code, c.naf_label,
           c.headcount_range, c.rcs_city, c.registry_name
) f
where (%(status)s::text is null or c.enrichment_status = %(status)s)
  and (%(since)s::timestamptz is null or c.updated_at >= %(since)s)
  and (%(until)s::timestamptz is null or c.updated_at < %(until)s)
  and (%(name)s::text is null
       or strpos(upper(concat_ws(' ', c.legal_name, c.trade_name, c.brand_name)), upper(%(name)s)) > 0)
order by c.siren limit %(most)s;

-- name: open_companies
-- Makes the rows of many companies, in the order given.
select enrichment.open_company(n.siren, %(freshness_days)s)
from unnest(%(sirens)s::text[]) with ordinality n (siren, nth) order by n.nth;

-- name: add_requests
-- Adds many requests, as their tenant.
insert into enrichment.request (
    tenant_id, id, siren, siret, siren_raw, siret_raw, company_siren, metadata, created_at, created_by, correlation_id
)
select %(tenant_id)s, n.id, n.siren, n.siret, n.siren_raw, n.siret_raw, n.company_siren, n.metadata, ostinato.now(),
       %(created_by)s, %(correlation_id)s
from unnest(%(ids)s::uuid[], %(sirens)s::text[], %(sirets)s::text[], %(raw_sirens)s::text[], %(raw_sirets)s::text[],
            %(companies)s::text[], %(metadatas)s::text[]::jsonb[])
    n (id, siren, siret, siren_raw, siret_raw, company_siren, metadata);

-- name: look_at_many
-- How the companies of requests stand, in the order given.
select n.id::text as request_id, l.decision, l.siren, l.status, l.at, l.last_run_at, l.failed_for
from (select u.id from unnest(%(ids)s::uuid[]) with ordinality u (id, nth) order by u.nth) n
cross join lateral enrichment.look_at(n.id, false, %(freshness_days)s) l;

-- name: start_runs
-- Adds the jobs of the runs whose key is new, or free although it was used; the requests that did.
with asked as materialized (
    select n.id, n.key, n.free, b.decision, b.token
    from unnest(%(ids)s::uuid[], %(keys)s::text[], %(prints)s::text[], %(fields)s::text[], %(free)s::boolean[])
        n (id, key, fingerprint, fields, free)
    cross join lateral ostinato.begin_idempotent(%(scope)s, n.key, n.fingerprint, n.fields::json, %(declaration)s) b
), started as materialized (
    select a.id, a.key, a.decision, a.token, enrichment.start_run(a.id, %(trigger)s) as job_id
    from asked a where a.decision = 'new' or a.free
), finished as materialized (
    select s.id, case when s.decision = 'new' then ostinato.finish_idempotent(
        %(scope)s, s.key, s.token, json_build_object('job_id', s.job_id))::text end as done
    from started s
)
select f.id::text as request_id, f.done from finished f;

-- name: open_establishments
-- Asks for the establishments that requests name.
select enrichment.open_establishment(n.id, %(freshness_days)s) from unnest(%(ids)s::uuid[]) n (id);
