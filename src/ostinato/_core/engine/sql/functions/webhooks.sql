-- Webhooks: events sent to other people's servers, signed, and retried until they answer or time is up.
--
-- An endpoint belongs to a tenant and says which types of events it wants. All endpoints share one subscription of the
-- outbox, ostinato.webhooks, a cursor on the log of events. fan_out_webhooks moves it, and in the same transaction
-- writes one message (the bytes that are sent) for an event and one delivery for each endpoint that wants it: none is
-- missed, none is written twice. A delivery is worked on by a job of kind webhooks.deliver in queue webhooks, whose
-- limit key is the endpoint: retries, limits, dead letters and `why` are those of jobs. The handler
-- (runtime/webhooks.py) calls start_webhook_delivery, sends, and calls complete_webhook_deliveries, which ends the jobs
-- too, or settle_webhook_delivery in a transaction that is fenced by the job.
--
-- States of a delivery: see 0009_webhooks.sql. With `ordered`, of the deliveries with one ordering key only the first
-- that is not settled has a job; settling it, also as dead, starts the next.
--
-- What may go wrong, and then: a worker dies between the answer and the commit (the message is sent again, with the
-- same id); a late worker settles (its fence refuses the transaction); an endpoint is paused meanwhile (the delivery is
-- held when it next starts or fails); a job dies with its worker, or a person cancels it (heal_webhooks sees it and
-- buries the delivery).
-- Lock order: subscription, webhook_endpoint (ascending id), webhook_delivery, then everything in jobs.sql. A
-- transaction that changes which deliveries of an ordered endpoint are open, or the state of an endpoint, holds the
-- endpoint's row.

-- Returns when to try again by default: at once, then after 5 s, 5 min, 30 min, 2, 5, 10, 14, 20 and 24 h, as Standard
-- Webhooks suggests.
create function ostinato_internal.webhook_retry() returns json language sql immutable as $$
    select '{"delays": [5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400], "jitter": 0.1, '
           '"max_attempts": 10}'::json
$$;

-- Refuses a secret that is not sealed, without saying what it was: clients make secrets and seal them, and the database
-- has no key. `hint` is the end of the secret, for people.
create function ostinato_internal.check_webhook_secret(secret text, hint text) returns void
language plpgsql immutable as $$
begin
    if ostinato.is_sealed(secret) is not true or length(secret) > ostinato_internal.longest_text()
       or length(hint) between 0 and 4 is not true then
        raise exception using errcode = 'OS400', message = 'a webhook secret must be sealed, and come with its hint',
            detail = '{}',
            hint = 'Use `ostinato webhooks` or webhooks.create_endpoint(), which make secrets and seal them.';
    end if;
end
$$;

-- Refuses headers that are too many, or that are the business of the sender, and values: clients seal those.
create function ostinato_internal.check_webhook_headers(headers json) returns void language plpgsql immutable as $$
declare
    v_bad text;
begin
    if json_typeof(headers) is distinct from 'object' then
        v_bad := 'not an object';
    elsif octet_length(headers::text) > ostinato_internal.most_note_bytes()
          or (select count(*) from json_object_keys(headers)) > 20 then
        v_bad := format('more than 20, or than %s bytes', ostinato_internal.most_note_bytes());
    else
        select case when bool_or(h.n > 1) then 'a name twice' else min(h.key) end into v_bad
        from (select e.key, e.value, count(*) over (partition by lower(e.key)) as n from json_each(headers) e) h
        where h.n > 1 or h.key !~ '^[A-Za-z0-9!#$%&''*+.^_`|~-]{1,100}$' or json_typeof(h.value) <> 'string'
           or lower(h.key) ~ '^(webhook-|proxy-)'
           or lower(h.key) in ('host', 'connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade',
                               'content-length', 'content-type', 'content-encoding', 'accept-encoding', 'expect');
    end if;
    if v_bad is not null then  -- names only: a value may be a password
        raise exception using errcode = 'OS400', message = format('these static headers cannot be sent: %s', v_bad),
            detail = json_build_object('header', v_bad),
            hint = 'Give at most 20 names with text of printable ASCII; not host, content-*, webhook-* or what belongs '
                   'to the connection.';
    end if;
    if exists (select from json_each_text(headers) h where h.value <> '') then
        perform ostinato_internal.refuse_header_values();
    end if;
end
$$;

-- Refuses the values of an endpoint's headers unless they are sealed, and there where headers are.
create function ostinato_internal.check_header_values(headers json, header_values text) returns void
language plpgsql immutable as $$
begin
    if (header_values is not null) <> exists (select from json_object_keys(headers))
       or ostinato.is_sealed(header_values) is false
       or length(header_values) > 4 * ostinato_internal.most_note_bytes() then
        perform ostinato_internal.refuse_header_values();
    end if;
end
$$;

-- Refuses static headers whose values are not sealed, or do not go with their names.
create function ostinato_internal.refuse_header_values() returns void language plpgsql immutable as $$
begin
    raise exception using errcode = 'OS400',
        message = 'the values of static headers must be sealed, and come beside their names', detail = '{}',
        hint = 'Use `ostinato webhooks`, the API or webhooks.create_endpoint(), which seal them.';
end
$$;

-- Refuses an endpoint that could not work. What its URL leads to is checked when it is called.
create function ostinato_internal.check_webhook_endpoint(endpoint ostinato_data.webhook_endpoint) returns void
language plpgsql immutable as $$
declare
    v_bad text;
begin
    perform ostinato_internal.check_name('name', endpoint.name),
            ostinato_internal.check_name('tenant_id', endpoint.tenant_id),
            ostinato_internal.check_webhook_headers(endpoint.headers);
    v_bad := case
        when endpoint.url is null or length(endpoint.url) > 2000
            or endpoint.url !~* '^https?://[^/?#@\\[:space:]]+([/?][!"$-~]*)?$'
            then 'url: an http or https URL of at most 2000 characters, without user, password and fragment'
        when endpoint.event_types is null or cardinality(endpoint.event_types) not between 1 and 100
            or exists (select from unnest(endpoint.event_types) t where t is null or t !~ '^(\*|[^\s*]{1,198}(\.\*)?)$')
            then 'event_types: 1 to 100 types, such as order.paid, order.* or *'
        when not coalesce(endpoint.timeout_seconds between 0.1 and 60, false) then 'timeout_seconds: 0.1 to 60'
        when not coalesce(endpoint.disable_after_seconds between 60 and ostinato_internal.year_seconds(), false)
            then 'disable_after_seconds: a minute to a year'
        when length(endpoint.description) > ostinato_internal.longest_text() then 'description: at most 1000 characters'
        when json_typeof(endpoint.retry) is distinct from 'object'
            or not coalesce(endpoint.retry ->> 'max_attempts' ~ '^[1-9]\d{0,2}$', false)
            then 'retry: a policy with max_attempts from 1 to 999'
    end;
    if v_bad is not null then
        raise exception using errcode = 'OS400',
            message = format('webhook endpoint %s cannot be: %s', endpoint.name, v_bad),
            detail = json_build_object('name', endpoint.name, 'rule', v_bad),
            hint = 'Correct the value that the message names.';
    end if;
end
$$;

-- Adds an endpoint. Its id is chosen before (ostinato.new_id), because the sealed secret is bound to it, and so are the
-- values of its headers: `headers` has their names, each with an empty text.
create function ostinato.create_webhook_endpoint(
    name text, url text, event_types text[] default '{*}', tenant_id text default null, description text default '',
    headers json default '{}', retry json default null, timeout_seconds double precision default 5,
    disable_after_seconds double precision default 432000, ordered boolean default true,
    endpoint_id bigint default null,
    secret text default null, secret_hint text default null, header_values text default null
) returns bigint language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
    v_now constant timestamptz := ostinato.now();
    v_new webhook_endpoint;
begin
    perform ostinato_internal.check_webhook_secret(secret, secret_hint);
    endpoint_id := coalesce(endpoint_id, ostinato.new_id(v_now));
    v_new := row(endpoint_id, ostinato.tenant(tenant_id), name, url, event_types, 'active', null,
                 coalesce(description, ''), coalesce(headers, '{}'), coalesce(retry, ostinato_internal.webhook_retry()),
                 timeout_seconds, disable_after_seconds, coalesce(ordered, true), v_now, v_now, null,
                 ostinato.last_position(), header_values);
    perform ostinato_internal.check_webhook_endpoint(v_new),
            ostinato_internal.check_header_values(v_new.headers, header_values);
    insert into webhook_endpoint select v_new.*
    on conflict on constraint webhook_endpoint_tenant_id_name_key do nothing;
    if not found then
        raise exception using errcode = 'OS409',
            message = format('tenant %s has a webhook endpoint %L already', v_new.tenant_id, name),
            detail = json_build_object('tenant_id', v_new.tenant_id, 'name', name),
            hint = 'Choose another name, or change that one.';
    end if;
    insert into webhook_secret (id, endpoint_id, secret, hint, created_at)
    values (ostinato.new_id(v_now), endpoint_id, secret, secret_hint, v_now);
    -- A slow endpoint with a long line must not have all lanes of all workers. People may change it.
    insert into queue (name, key_concurrency) values ('webhooks', 10) on conflict do nothing;
    perform ostinato_internal.record('create', 'webhook', name, v_new.tenant_id,
                                     detail => json_build_object('event_types', event_types));
    perform ostinato_internal.add_cursor('ostinato.webhooks');
    return endpoint_id;
end
$$;

-- Returns the id of an endpoint, which its secrets are bound to. It is locked until the end of the transaction.
create function ostinato.webhook_endpoint_id(name text, tenant_id text default null) returns bigint
language sql volatile
as $$
    select (ostinato_internal.lock_webhook_endpoint($1, $2)).id
$$;

-- Locks an endpoint by its name until the end of the transaction.
create function ostinato_internal.lock_webhook_endpoint(name text, tenant_id text default null)
returns ostinato_data.webhook_endpoint language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_endpoint webhook_endpoint;
begin
    select * into v_endpoint from webhook_endpoint e
    where e.tenant_id = ostinato.tenant(lock_webhook_endpoint.tenant_id) and e.name = lock_webhook_endpoint.name
    for no key update;
    if not found then
        raise exception using errcode = 'OS404',
            message = format('tenant %s has no webhook endpoint %L', ostinato.tenant(lock_webhook_endpoint.tenant_id),
                             lock_webhook_endpoint.name),
            detail = json_build_object('tenant_id', ostinato.tenant(lock_webhook_endpoint.tenant_id),
                                       'name', lock_webhook_endpoint.name),
            hint = 'See them with: ostinato webhooks list';
    end if;
    return v_endpoint;
end
$$;

-- Changes an endpoint; null leaves a value as it is, and new headers replace all those before. What is on its
-- way already goes to the new URL.
create function ostinato.change_webhook_endpoint(
    name text, tenant_id text default null, url text default null, event_types text[] default null,
    description text default null, headers json default null, retry json default null,
    timeout_seconds double precision default null, disable_after_seconds double precision default null,
    header_values text default null
) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
    v_endpoint webhook_endpoint := ostinato_internal.lock_webhook_endpoint(name, tenant_id);
begin
    v_endpoint.url := coalesce(url, v_endpoint.url);
    v_endpoint.event_types := coalesce(event_types, v_endpoint.event_types);
    v_endpoint.description := coalesce(description, v_endpoint.description);
    if headers is not null then
        v_endpoint.headers := headers;
        v_endpoint.header_values := header_values;
    end if;
    v_endpoint.retry := coalesce(retry, v_endpoint.retry);
    v_endpoint.timeout_seconds := coalesce(timeout_seconds, v_endpoint.timeout_seconds);
    v_endpoint.disable_after_seconds := coalesce(disable_after_seconds, v_endpoint.disable_after_seconds);
    perform ostinato_internal.check_webhook_endpoint(v_endpoint),
            ostinato_internal.check_header_values(headers, header_values);
    update webhook_endpoint e
    set url = v_endpoint.url, event_types = v_endpoint.event_types, description = v_endpoint.description,
        headers = v_endpoint.headers, header_values = v_endpoint.header_values, retry = v_endpoint.retry,
        timeout_seconds = v_endpoint.timeout_seconds,
        disable_after_seconds = v_endpoint.disable_after_seconds, changed_at = ostinato.now()
    where e.id = v_endpoint.id;
    perform ostinato_internal.record(
        'change', 'webhook', name, v_endpoint.tenant_id,
        detail => json_build_object('fields', array_remove(array[
            case when url is not null then 'url' end, case when event_types is not null then 'event_types' end,
            case when description is not null then 'description' end, case when headers is not null then 'headers' end,
            case when retry is not null then 'retry' end,
            case when timeout_seconds is not null then 'timeout_seconds' end,
            case when disable_after_seconds is not null then 'disable_after_seconds' end], null)));
end
$$;

-- Gives an endpoint a new secret, which signs first from now on. The older ones sign too for the time of the overlap;
-- the janitor drops them after it. At most five are kept.
create function ostinato.rotate_webhook_secret(
    name text, overlap_seconds double precision default 86400, tenant_id text default null, secret text default null,
    secret_hint text default null
) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
    v_now    constant timestamptz := ostinato.now();
    v_endpoint constant webhook_endpoint := ostinato_internal.lock_webhook_endpoint(name, tenant_id);
    v_id     constant bigint := v_endpoint.id;
begin
    perform ostinato_internal.check_webhook_secret(secret, secret_hint);
    if overlap_seconds is null or overlap_seconds not between 0 and ostinato_internal.year_seconds() then
        raise exception using errcode = 'OS400',
            message = format('the overlap of two secrets cannot be %s s', overlap_seconds),
            detail = json_build_object('overlap_seconds', overlap_seconds::text), hint = 'Choose 0 seconds to a year.';
    end if;
    update webhook_secret s set expires_at = least(s.expires_at, v_now + make_interval(secs => overlap_seconds))
    where s.endpoint_id = v_id;
    delete from webhook_secret s where s.endpoint_id = v_id and s.id not in (
        select k.id from webhook_secret k where k.endpoint_id = v_id order by k.id desc limit 4);
    insert into webhook_secret (id, endpoint_id, secret, hint, created_at)
    values (ostinato.new_id(v_now), v_id, secret, secret_hint, v_now);
    perform ostinato_internal.record('rotate', 'webhook', name, v_endpoint.tenant_id,
                                     detail => json_build_object('overlap_seconds', overlap_seconds));
end
$$;

-- Stops deliveries to an endpoint; what comes meanwhile is held for it.
create function ostinato.pause_webhook_endpoint(name text, reason text default null, tenant_id text default null)
returns void
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
    v_endpoint constant webhook_endpoint := ostinato_internal.lock_webhook_endpoint(name, tenant_id);
begin
    update webhook_endpoint e set state = 'paused',
        reason = left(pause_webhook_endpoint.reason, ostinato_internal.longest_error()), changed_at = ostinato.now()
    where e.id = v_endpoint.id;
    perform ostinato_internal.record('pause', 'webhook', name, v_endpoint.tenant_id,
                                     why => pause_webhook_endpoint.reason);
end
$$;

-- Lets deliveries to a paused or disabled endpoint go on, those that were held first. Returns how many were held;
-- heal_webhooks starts what is beyond `most`.
create function ostinato.resume_webhook_endpoint(name text, tenant_id text default null, most integer default 5000)
returns integer
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
    v_endpoint constant webhook_endpoint := ostinato_internal.lock_webhook_endpoint(name, tenant_id);
begin
    update webhook_endpoint e set state = 'active', reason = null, failing_since = null, changed_at = ostinato.now()
    where e.id = v_endpoint.id;
    perform ostinato_internal.record('resume', 'webhook', name, v_endpoint.tenant_id);
    return ostinato_internal.release_held_webhooks(v_endpoint.id, most);
end
$$;

-- Starts what is held for an active endpoint, oldest first. The caller holds the endpoint's row.
create function ostinato_internal.release_held_webhooks(endpoint_id bigint, most integer) returns integer
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_ids bigint[];
begin
    v_ids := array(select d.id from webhook_delivery d where d.endpoint_id = release_held_webhooks.endpoint_id
                     and d.state = 'held'
                   order by d.seq, d.id limit most for update);
    update webhook_delivery d set state = 'waiting' where d.id = any (v_ids);
    perform ostinato_internal.start_webhook_jobs(array(select ostinato_internal.startable_webhooks(v_ids)));
    return cardinality(v_ids);
end
$$;

-- Removes an endpoint, its secrets and its deliveries; jobs that are left of it find nothing to do.
create function ostinato.remove_webhook_endpoint(name text, tenant_id text default null) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
    v_endpoint constant webhook_endpoint := ostinato_internal.lock_webhook_endpoint(name, tenant_id);
begin
    delete from webhook_endpoint e where e.id = v_endpoint.id;
    perform ostinato_internal.record('remove', 'webhook', name, v_endpoint.tenant_id);
end
$$;

-- Returns whether an endpoint wants events of a type: it is listed, or begins as one that ends in .* does, or all are
-- wanted (*).
create function ostinato_internal.wants_event(wanted text[], event_type text) returns boolean
language sql immutable as $$
    select exists (select from unnest($1) w
                   where w in ('*', $2) or (right(w, 2) = '.*' and starts_with($2, left(w, -1))))
$$;

-- Returns a text as part of a URI: what may not stand in one is percent-encoded.
create function ostinato_internal.uri_of(text text) returns text language sql immutable as $$
    select coalesce(string_agg(case when c.c ~ '^[A-Za-z0-9/:?#\[\]@!$&''()*+,;=._~%-]$' then c.c
                                    else regexp_replace(upper(encode(convert_to(c.c, 'UTF8'), 'hex')), '(..)', '%\1',
                                                        'g') end, '' order by c.n), '')
    from regexp_split_to_table($1, '') with ordinality c (c, n)
$$;

-- Returns an event as it is sent: the JSON format of CloudEvents 1.0, as base/events.py has it. The payload is passed
-- on as it was emitted, digit by digit.
create function ostinato_internal.cloudevent_of(event ostinato_data.event, "position" bigint) returns text
language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select '{"specversion":"1.0","id":"' || ($1).id || '","source":' || to_json(ostinato_internal.uri_of(($1).producer))
        || ',"type":' || to_json(($1).type)
        || ',"time":"' || to_char(($1).occurred_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '"'
        || coalesce(',"subject":' || to_json(($1).ordering_key), '')
        || ',"datacontenttype":"application/json","dataversion":"' || ($1).version || '","tenantid":'
            || to_json(($1).tenant_id)
        || ',"correlationid":' || to_json(($1).correlation_id) || ',"sequence":"' || lpad($2::text, 20, '0')
        || '","data":' || ($1).payload || '}'
$$;

-- Limits how many endpoints one fan-out asks about its events, counted anew for each event.
create function ostinato_internal.fan_out_cap() returns integer language sql immutable parallel safe as 'select 20000';

-- Takes the next events of the outbox, writes a delivery for each endpoint that wants them, and starts what can be
-- started: all of it or nothing, and in order. `events` is how far it got, null while another transaction fans out;
-- less than `most` is the end of the log. A tenant with very many endpoints makes it stop earlier, so that the log goes
-- on for all in steps of a moment: then `events` is `most`, for there is more.
create function ostinato.fan_out_webhooks(most integer default 1000, out events integer, out deliveries integer)
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_from bigint;
    v_to   bigint;
    v_seen bigint;
    v_ids  bigint[];
begin
    select s.position into v_from from subscription s where s.name = 'ostinato.webhooks' and not s.paused
    for update skip locked;
    if not found then
        return;
    end if;
    deliveries := 0;
    with next as materialized (
        select l.position, l.tenant_id from event_log l where l.position > v_from order by l.position limit most
    ), listening as (
        select e.tenant_id, count(*) as n from webhook_endpoint e
        where e.tenant_id in (select n.tenant_id from next n) group by e.tenant_id
    ), weighed as (
        select n.position, sum(l.n) over (order by n.position) as so_far,
               row_number() over (order by n.position) as place
        from next n left join listening l on l.tenant_id = n.tenant_id
    )
    select count(*) filter (where f.fits), max(f.position) filter (where f.fits), count(*) into events, v_to, v_seen
    from (select w.position, w.place = 1 or coalesce(w.so_far, 0) <= ostinato_internal.fan_out_cap() as fits
          from weighed w) f;
    if events = 0 then
        return;
    end if;
    perform from webhook_endpoint e
    where e.tenant_id in (select l.tenant_id from event_log l where l.position > v_from and l.position <= v_to)
    order by e.id for no key update;
    v_ids := array(select ostinato_internal.add_webhook_deliveries(v_from, v_to));
    deliveries := cardinality(v_ids);
    perform ostinato_internal.start_webhook_jobs(array(select ostinato_internal.startable_webhooks(v_ids)));
    update subscription s set position = v_to where s.name = 'ostinato.webhooks';
    if v_seen > events then
        events := most;
    end if;
end
$$;

-- Adds the messages of the events at some positions, and a delivery for each endpoint that wants them. Returns the new
-- deliveries; a message or delivery that is there already, after a replay, stays as it is. The caller holds the
-- endpoints.
create function ostinato_internal.add_webhook_deliveries(after bigint, upto bigint) returns setof bigint
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now constant timestamptz := ostinato.now();
begin
    return query
    with wanted as materialized (
        select l.position, l.event_id, l.ordering_key, e.tenant_id, e.id as endpoint_id, e.state
        from event_log l join webhook_endpoint e on e.tenant_id = l.tenant_id
          and ostinato_internal.wants_event(e.event_types, l.type)
        where l.position > after and l.position <= upto
          -- An endpoint gets the events that got their position while it exists; no clock decides that.
          and l.position > e.from_position
    ), new_message as (
        insert into webhook_message (id, tenant_id, event_id, event_type, correlation_id, body, created_at, subject)
        select ostinato.new_id(v_now), v.tenant_id, v.id::text, v.type, v.correlation_id,
               ostinato_internal.cloudevent_of(v, w.position), v_now, v.subject
        from (select distinct w.event_id, w.position from wanted w) w join event v on v.id = w.event_id
        where v.erased_at is null
        on conflict (tenant_id, event_id) do nothing
        returning id, tenant_id, event_id
    ), message as (
        select m.id, m.tenant_id, m.event_id from new_message m
        union all
        select m.id, m.tenant_id, m.event_id from webhook_message m
        where exists (select from wanted w where w.tenant_id = m.tenant_id and w.event_id::text = m.event_id)
          and m.body <> '{}'  -- erased
    )
    insert into webhook_delivery (id, tenant_id, endpoint_id, message_id, seq, ordering_key, state, created_at)
    select ostinato.new_id(v_now), w.tenant_id, w.endpoint_id, w.message_id, w.position, w.ordering_key,
           case w.state when 'active' then 'waiting' else 'held' end, v_now
    from (select w.*, m.id as message_id from wanted w join message m on m.tenant_id = w.tenant_id
            and m.event_id = w.event_id::text
          order by w.position, w.endpoint_id) w
    on conflict (endpoint_id, message_id) do nothing
    returning id;
end
$$;

-- Returns those of some deliveries that may start: their endpoint is active, and nothing of their key comes before
-- them.
create function ostinato_internal.startable_webhooks(ids bigint[]) returns setof bigint language sql volatile
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select d.id from webhook_delivery d join webhook_endpoint e on e.id = d.endpoint_id
    where d.id = any (ids) and d.state = 'waiting' and e.state = 'active'
      and (not e.ordered or d.ordering_key is null or d.id = (
          select b.id from webhook_delivery b
          where b.endpoint_id = d.endpoint_id and b.ordering_key = d.ordering_key
            and b.state in ('pending', 'waiting', 'held')
          order by b.seq, b.id limit 1))
    order by d.seq, d.id
$$;

-- Gives each delivery a new job, in the order given. Their endpoints' policies say how often it is tried.
create function ostinato_internal.start_webhook_jobs(ids bigint[]) returns void language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_args     text[];
    v_tenants  text[];
    v_keys     text[];
    v_threads  text[];
    v_attempts integer[];
    v_subjects text[];
    v_jobs     bigint[];
begin
    if cardinality(ids) = 0 then
        return;
    end if;
    select array_agg(json_build_object('delivery', d.id)::text order by i.n), array_agg(d.tenant_id order by i.n),
           array_agg('endpoint-' || e.id order by i.n), array_agg(m.correlation_id order by i.n),
           array_agg((e.retry ->> 'max_attempts')::integer order by i.n),
           array_agg(ostinato_internal.subject_token(m.subject) order by i.n)
    into v_args, v_tenants, v_keys, v_threads, v_attempts, v_subjects
    from unnest(ids) with ordinality i (id, n) join webhook_delivery d on d.id = i.id
    join webhook_endpoint e on e.id = d.endpoint_id
    join webhook_message m on m.id = d.message_id;
    v_jobs := array(select ostinato_internal.enqueue_by_itself(
        '{webhooks.deliver}', v_args, '{webhooks}', tenant_ids => v_tenants, correlation_ids => v_threads,
        limit_keys => v_keys, max_attempts => v_attempts, subjects => v_subjects));
    update webhook_delivery d set state = 'pending', job_id = n.job_id, settled_at = null
    from unnest(ids, v_jobs) n (id, job_id) where d.id = n.id;
end
$$;

-- Returns the static headers of an endpoint as they are stored: an object, or a text that opens as one.
create function ostinato_internal.webhook_headers(endpoint ostinato_data.webhook_endpoint) returns json
language sql stable as $$
    select case when endpoint.header_values is null then endpoint.headers
                when ostinato.is_sealed(endpoint.header_values) then to_json(endpoint.header_values)
                else endpoint.header_values::json end
$$;

-- Returns what the job of a delivery has to send, and where. The verdict is `send`, or why there is nothing to do:
-- `held` (its endpoint does not take anything now), `stale` (another job has it, or it is gone). Secrets come newest
-- first.
create function ostinato.start_webhook_delivery(
    delivery_id bigint, job_id bigint,
    out verdict text, out tenant_id text, out endpoint_id bigint, out endpoint text, out url text, out headers json,
    out secrets text[],
    out event_id text, out body text, out timeout_seconds double precision, out retry json, out sent_at timestamptz
) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_delivery webhook_delivery;
    v_endpoint webhook_endpoint;
begin
    select * into v_delivery from webhook_delivery d where d.id = start_webhook_delivery.delivery_id;
    if not found or v_delivery.job_id is distinct from start_webhook_delivery.job_id
       or v_delivery.state not in ('pending', 'dead') then
        verdict := 'stale';
        return;
    end if;
    select * into v_endpoint from webhook_endpoint e where e.id = v_delivery.endpoint_id;
    if v_endpoint.state <> 'active' then
        -- Read again under its lock: either a resume sees what is held, or it is seen here.
        select * into v_endpoint from webhook_endpoint e where e.id = v_delivery.endpoint_id for share;
    end if;
    if v_endpoint.state <> 'active' then
        update webhook_delivery d set state = 'held', job_id = null, settled_at = null where d.id = v_delivery.id;
        verdict := 'held';
        return;
    end if;
    if v_delivery.state = 'dead' then  -- its job was redriven
        update webhook_delivery d set state = 'pending', settled_at = null where d.id = v_delivery.id;
    end if;
    verdict := 'send';
    sent_at := ostinato.now();
    tenant_id := v_delivery.tenant_id;
    endpoint_id := v_endpoint.id;
    endpoint := v_endpoint.name;
    url := v_endpoint.url;
    headers := ostinato_internal.webhook_headers(v_endpoint);
    timeout_seconds := v_endpoint.timeout_seconds;
    retry := v_endpoint.retry;
    secrets := ostinato_internal.webhook_secrets(v_endpoint.id);
    select m.event_id, m.body into event_id, body from webhook_message m where m.id = v_delivery.message_id;
end
$$;

-- Does as start_webhook_delivery does for deliveries whose jobs begin at the same moment, and returns them in their
-- order. Endpoints that rest are locked by ascending id, as everywhere.
create function ostinato.start_webhook_deliveries(delivery_ids bigint[], job_ids bigint[])
returns table (
    verdict text, tenant_id text, endpoint_id bigint, endpoint text, url text, headers json, secrets text[],
    event_id text, body text, timeout_seconds double precision, retry json, sent_at timestamptz
) language sql volatile
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    with wanted as materialized (
        select w.delivery_id, w.job_id, w.n from unnest($1, $2) with ordinality w (delivery_id, job_id, n)
        left join webhook_delivery d on d.id = w.delivery_id order by d.endpoint_id, w.n
    )
    select s.* from wanted w cross join lateral ostinato.start_webhook_delivery(w.delivery_id, w.job_id) s order by w.n
$$;

-- Returns a message that only says that it is a test, for an endpoint in any state. Nothing is written down.
create function ostinato.probe_webhook_endpoint(
    name text, of_tenant text default null,
    out verdict text, out tenant_id text, out endpoint_id bigint, out endpoint text, out url text, out headers json,
    out secrets text[],
    out event_id text, out body text, out timeout_seconds double precision, out retry json, out sent_at timestamptz
) language sql volatile
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select 'send', e.tenant_id, e.id, e.name, e.url, ostinato_internal.webhook_headers(e),
           ostinato_internal.webhook_secrets(e.id), t.id,
           '{"specversion":"1.0","id":"' || t.id || '","source":"ostinato","type":"ostinato.webhooks.test","time":"'
               || to_char(ostinato.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '","tenantid":'
                   || to_json(e.tenant_id)
               || ',"datacontenttype":"application/json","data":{"endpoint":' || to_json(e.name) || '}}',
           e.timeout_seconds, e.retry, ostinato.now()
    from ostinato_internal.lock_webhook_endpoint($1, $2) e cross join (select 'test-' || ostinato.new_id() as id) t
$$;

-- Returns the secrets of an endpoint that are valid now, the newest first, sealed. For those who sign.
create function ostinato_internal.webhook_secrets(endpoint_id bigint) returns text[] language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select array_agg(s.secret order by s.expires_at is null desc, s.id desc) from webhook_secret s
    where s.endpoint_id = $1 and (s.expires_at is null or s.expires_at > ostinato.now())
$$;

-- Writes down what an attempt met and says what comes next: `delivered`, `retry` (the job is to fail, and come again
-- after `retry_seconds`), `dead` (no retry_seconds, or the receiver is `gone`), `held` (the endpoint stopped meanwhile,
-- or stops because it failed for too long), `stale`. To be called in the transaction that completes or fences the job.
create function ostinato.settle_webhook_delivery(
    delivery_id bigint, job_id bigint, outcome text, status integer, duration_ms integer, answer text default null,
    error text default null, retry_seconds double precision default null
) returns text language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now      constant timestamptz := ostinato.now();
    v_ok       constant boolean := outcome = 'delivered';
    v_delivery webhook_delivery;
    v_endpoint webhook_endpoint;
    v_verdict  text;
begin
    select e.* into v_endpoint from webhook_delivery d join webhook_endpoint e on e.id = d.endpoint_id
    where d.id = settle_webhook_delivery.delivery_id;
    if v_endpoint.ordered or not v_ok or v_endpoint.failing_since is not null then
        select * into v_endpoint from webhook_endpoint e where e.id = v_endpoint.id for no key update;
    end if;
    select * into v_delivery from webhook_delivery d where d.id = settle_webhook_delivery.delivery_id for update;
    if not found or v_delivery.job_id is distinct from settle_webhook_delivery.job_id then
        return 'stale';
    end if;
    v_endpoint := ostinato_internal.note_webhook_health(v_endpoint, outcome, v_now);
    v_verdict := case when v_ok then 'delivered'
                      when outcome = 'gone' or retry_seconds is null then 'dead'
                      when v_endpoint.state <> 'active' then 'held' else 'retry' end;
    update webhook_delivery d
    set state = case v_verdict when 'retry' then 'pending' else v_verdict end, attempts = d.attempts + 1,
        last_status = status, last_error = left(settle_webhook_delivery.error, ostinato_internal.longest_error()),
        job_id = case when v_verdict <> 'held' then d.job_id end,
        settled_at = case when v_verdict in ('delivered', 'dead') then v_now end
    where d.id = v_delivery.id;
    insert into webhook_attempt (id, delivery_id, tenant_id, attempt, at, outcome, status, duration_ms, answer, error,
                                 next_at)
    values (ostinato.new_id(v_now), v_delivery.id, v_delivery.tenant_id, v_delivery.attempts + 1, v_now, outcome,
            status, duration_ms, left(answer, ostinato_internal.longest_text()),
            left(settle_webhook_delivery.error, ostinato_internal.longest_error()),
            case when v_verdict = 'retry' then v_now + make_interval(secs => retry_seconds) end);
    if v_verdict in ('delivered', 'dead') then
        perform ostinato_internal.start_next_webhook(v_delivery.endpoint_id, v_delivery.ordering_key);
    end if;
    return v_verdict;
end
$$;

-- Settles a delivery that the receiver took, and completes its job, in one statement; OS410 if another worker has the
-- job by now. Returns what settle_webhook_delivery returns.
create function ostinato_internal.complete_webhook_delivery(
    delivery_id bigint, job_id bigint, attempt integer, claim_id bigint, status integer, duration_ms integer,
    answer text default null, job_ms integer default null
) returns text language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_verdict text;
begin
    v_verdict := ostinato.settle_webhook_delivery(delivery_id, job_id, 'delivered', status, duration_ms, answer);
    perform ostinato.complete_job(job_id, attempt, duration_ms => job_ms, claim_id => claim_id);
    return v_verdict;
end
$$;

-- Settles deliveries that receivers took, and completes their jobs, in one statement and in the order of their ids. An
-- ordered endpoint is locked until the commit, so each alone would wait for the commit of the one before. OS410 for all
-- if another worker has one of the jobs by now. Returns what came of each, in the order in which they were given:
-- {"delivery_id": 7, "job_id": 9, "attempt": 1, "claim_id": 3, "status": 200, "duration_ms": 12, "answer": "ok",
-- "job_ms": 15}.
create function ostinato.complete_webhook_deliveries(deliveries json) returns text[] language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
declare
    v_verdicts text[];
    v_each     record;
begin
    for v_each in
        select d.*, d.ordinality as n from rows from (json_to_recordset(deliveries) as (
            delivery_id bigint, job_id bigint, attempt integer, claim_id bigint, status integer, duration_ms integer,
            answer text, job_ms integer)) with ordinality d
        order by d.delivery_id
    loop
        v_verdicts[v_each.n] := ostinato_internal.complete_webhook_delivery(
            v_each.delivery_id, v_each.job_id, v_each.attempt, v_each.claim_id, v_each.status, v_each.duration_ms,
            v_each.answer, v_each.job_ms);
    end loop;
    return v_verdicts;
end
$$;

-- Keeps in mind since when an endpoint fails; one that is gone, or fails for too long, is disabled with the reason. The
-- caller holds its row unless all is well.
create function ostinato_internal.note_webhook_health(
    endpoint ostinato_data.webhook_endpoint, outcome text, at timestamptz
)
returns ostinato_data.webhook_endpoint language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    if (outcome = 'delivered') and endpoint.failing_since is null then
        return endpoint;
    end if;
    endpoint.failing_since := case when outcome <> 'delivered' then coalesce(endpoint.failing_since, at) end;
    if endpoint.state = 'active' and outcome = 'gone' then
        endpoint.state := 'disabled';
        endpoint.reason := 'the receiver answered 410 Gone';
    elsif endpoint.state = 'active'
          and endpoint.failing_since <= at - make_interval(secs => endpoint.disable_after_seconds) then
        endpoint.state := 'disabled';
        endpoint.reason := format('nothing was delivered since %s',
                                  to_char(endpoint.failing_since at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'));
    end if;
    update webhook_endpoint e set failing_since = endpoint.failing_since, state = endpoint.state,
        reason = endpoint.reason where e.id = endpoint.id;
    return endpoint;
end
$$;

-- Starts the first delivery of a key, if it waits; for an endpoint that takes nothing now it is held. The caller holds
-- the endpoint's row when it is ordered.
create function ostinato_internal.start_next_webhook(endpoint_id bigint, ordering_key text) returns void
language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_next record;
begin
    select d.id, d.state, e.state as endpoint into v_next
    from webhook_delivery d join webhook_endpoint e on e.id = d.endpoint_id
    where d.endpoint_id = start_next_webhook.endpoint_id and d.ordering_key = start_next_webhook.ordering_key
      and d.state in ('pending', 'waiting', 'held')
    order by d.seq, d.id limit 1;
    if v_next.state = 'waiting' and v_next.endpoint = 'active' then
        perform ostinato_internal.start_webhook_jobs(array[v_next.id]);
    elsif v_next.state = 'waiting' then
        update webhook_delivery d set state = 'held' where d.id = v_next.id;
    end if;
end
$$;

-- Returns the deliveries of an endpoint that match a filter (null = any), oldest first, `most` of them (null = all).
create function ostinato.find_webhook_deliveries(
    name text, tenant_id text default null, states text[] default null, since timestamptz default null,
    event_ids text[] default null, ids bigint[] default null, most integer default null
) returns setof bigint language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select d.id from webhook_endpoint e join webhook_delivery d on d.endpoint_id = e.id
    join webhook_message m on m.id = d.message_id
    where e.tenant_id = ostinato.tenant($2) and e.name = $1 and ($3 is null or d.state = any ($3))
      and ($4 is null or d.created_at >= $4) and ($5 is null or m.event_id = any ($5))
      and ($6 is null or d.id = any ($6))
    order by d.seq, d.id limit $7
$$;

-- Sends deliveries again that are settled, by new jobs, with all attempts of their policy; what they had as dead
-- letters goes.
-- For an endpoint that takes nothing now they are held. Returns how many; those that are still under way are left
-- alone.
create function ostinato.redeliver_webhooks(name text, ids bigint[], tenant_id text default null) returns integer
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
    v_endpoint constant ostinato_data.webhook_endpoint := ostinato_internal.lock_webhook_endpoint(name, tenant_id);
    v_ids      bigint[];
begin
    v_ids := array(select d.id from webhook_delivery d where d.id = any (ids) and d.endpoint_id = v_endpoint.id
                     and d.state in ('delivered', 'dead')
                     -- What was erased is not sent again.
                     and exists (select from webhook_message m where m.id = d.message_id and m.body <> '{}')
                   order by d.seq, d.id for update);
    perform ostinato_internal.cancel_job(d.job_id, 'delivered anew') from webhook_delivery d
        join dead_letter l on l.job_id = d.job_id
    where d.id = any (v_ids);
    update webhook_delivery d
    set state = case v_endpoint.state when 'active' then 'waiting' else 'held' end, job_id = null, settled_at = null
    where d.id = any (v_ids);
    perform ostinato_internal.start_webhook_jobs(array(select ostinato_internal.startable_webhooks(v_ids)));
    perform ostinato_internal.record('redeliver', 'webhook', name, v_endpoint.tenant_id, count => cardinality(v_ids),
                                     filter => json_build_object('deliveries', ids[1:100]));
    return cardinality(v_ids);
end
$$;

-- Returns the endpoints of a tenant (null = all), or one of them. Of secrets only their last four characters and their
-- ends, of headers only their names. By tenant and name: those after `after` (tenant, name), where `failing` is true
-- those that refuse or that nothing is sent to, `most` of them. The counts are of the newest `sample` deliveries of
-- each.
create function ostinato.list_webhook_endpoints(
    tenant_id text default null, name text default null, failing boolean default false, after text[] default null,
    most integer default null, sample integer default 10000
) returns table (
    endpoint_id bigint, tenant_id text, name text, url text, event_types text[], state text, reason text,
    description text, header_names text[], retry json, timeout_seconds double precision,
    disable_after_seconds double precision, ordered boolean, created_at timestamptz, failing_since timestamptz,
    secret_hints text[], secret_expiries timestamptz[], pending bigint, waiting bigint, held bigint, dead bigint,
    last_delivered_at timestamptz
) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select e.id, e.tenant_id, e.name, e.url, e.event_types, e.state, e.reason, e.description,
           array(select k from json_object_keys(e.headers) k order by k), e.retry, e.timeout_seconds,
           e.disable_after_seconds, e.ordered, e.created_at, e.failing_since, s.hints, s.expiries, c.pending, c.waiting,
           c.held, c.dead, c.last
    from webhook_endpoint e
    cross join lateral (
        select array_agg(s.hint order by s.expires_at is null desc, s.id desc) as hints,
               array_agg(s.expires_at order by s.expires_at is null desc, s.id desc) as expiries
        from webhook_secret s where s.endpoint_id = e.id and (s.expires_at is null or s.expires_at > ostinato.now())) s
    cross join lateral (
        select count(*) filter (where d.state = 'pending') as pending, count(*)
        filter (where d.state = 'waiting') as waiting,
               count(*) filter (where d.state = 'held') as held, count(*) filter (where d.state = 'dead') as dead,
               max(d.settled_at) filter (where d.state = 'delivered') as last
        from (select d.state, d.settled_at from webhook_delivery d where d.endpoint_id = e.id order by d.id desc
              limit least(greatest($6, 1), ostinato_internal.place_cap())) d) c
    where ($1 is null or e.tenant_id = $1) and ($2 is null or e.name = $2)
      and (not $3 or e.failing_since is not null or e.state <> 'active')
      and ($4 is null or (e.tenant_id, e.name) > ($4[1], $4[2]))
    order by e.tenant_id, e.name limit $5
$$;

-- Returns the deliveries of an endpoint, newest first; `before` is the delivery to go on from.
create function ostinato.list_webhook_deliveries(
    name text, tenant_id text default null, state text default null, before bigint default null, most integer default 50
) returns table (
    delivery_id bigint, event_id text, event_type text, ordering_key text, state text, job_id bigint, attempts integer,
    last_status integer, last_error text, created_at timestamptz, settled_at timestamptz
) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select d.id, m.event_id, m.event_type, d.ordering_key, d.state, d.job_id, d.attempts, d.last_status, d.last_error,
           d.created_at, d.settled_at
    from webhook_endpoint e join webhook_delivery d on d.endpoint_id = e.id
    join webhook_message m on m.id = d.message_id
    where e.tenant_id = ostinato.tenant($2) and e.name = $1 and ($3 is null or d.state = $3)
      and ($4 is null or d.id < $4)
    order by d.id desc limit $5
$$;

-- Returns the attempts at an endpoint, newest first, or those of one delivery; `before` is the attempt to go on from.
create function ostinato.list_webhook_attempts(
    name text, tenant_id text default null, delivery_id bigint default null, before bigint default null,
    most integer default 50
) returns table (
    attempt_id bigint, delivery_id bigint, event_id text, event_type text, attempt integer, at timestamptz,
    outcome text, status integer, duration_ms integer, answer text, error text, next_at timestamptz
) language sql stable
set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select a.id, a.delivery_id, m.event_id, m.event_type, a.attempt, a.at, a.outcome, a.status, a.duration_ms, a.answer,
           a.error, a.next_at
    from webhook_endpoint e join webhook_delivery d on d.endpoint_id = e.id
    join webhook_message m on m.id = d.message_id
    join webhook_attempt a on a.delivery_id = d.id
    where e.tenant_id = ostinato.tenant($2) and e.name = $1 and ($3 is null or d.id = $3) and ($4 is null or a.id < $4)
    order by a.id desc limit $5
$$;

-- Notes a message that came in, in the caller's transaction; false: it came before. `source` names the sender.
create function ostinato.accept_webhook(
    source text, message_id text, keep_seconds double precision default 900, tenant_id text default null
) returns boolean language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
begin
    perform ostinato_internal.check_name('source', source);
    if message_id is null or length(message_id) not between 1 and ostinato_internal.longest_message_id() then
        raise exception using errcode = 'OS400', message = 'the id of a message must be 1 to 256 characters',
            detail = json_build_object('length', length(message_id)), hint = 'Refuse the message.';
    end if;
    insert into webhook_receipt (tenant_id, source, message_id, received_at, keep_until)
    values (ostinato.tenant($4), $1, $2, ostinato.now(), ostinato.now() + make_interval(secs => $3))
      on conflict do nothing;
    return found;
end
$$;

-- Forgets secrets and receipts that have run out, deliveries that were made before retention, what was held so long for
-- disabled endpoints, and messages that nobody needs: at most `most` of each. Returns a line for each that had some.
create function ostinato.prune_webhooks(retention_days integer, most integer default 5000)
returns table (name text, rows bigint) language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_now    constant timestamptz := ostinato.now();
    v_before constant bigint := ostinato_internal.first_id(v_now - make_interval(days => retention_days));
begin
    return query
    with secrets as (
        delete from webhook_secret s where s.expires_at <= v_now returning 1
    ), receipts as (
        delete from webhook_receipt r where r.ctid = any (array(
            select o.ctid from webhook_receipt o where o.keep_until < v_now order by o.keep_until limit most))
            returning 1
    ), delivered as (
        delete from webhook_delivery d where d.id = any (array(
            select o.id from webhook_delivery o where o.state = 'delivered' and o.id < v_before order by o.id limit most
            for update skip locked)) returning 1
    ), missed as (
        delete from webhook_delivery d where d.id = any (array(
            select o.id from webhook_endpoint e join webhook_delivery o on o.endpoint_id = e.id and o.state = 'held'
            where e.state = 'disabled' and o.id < v_before limit most for update of o skip locked)) returning 1
    ), messages as (  -- of deliveries that were gone before this call
        delete from webhook_message m where m.id = any (array(
            select o.id from webhook_message o
            where o.id < v_before and not exists (select from webhook_delivery d where d.message_id = o.id)
            order by o.id limit most)) returning 1
    )
    select p.name, p.rows from (
        select 'webhook_secret', count(*) from secrets union all select 'webhook_receipt', count(*) from receipts
        union all select 'webhook_delivery', count(*) from (select from delivered union all select from missed) x
        union all select 'webhook_message', count(*) from messages) p (name, rows)
    where p.rows > 0;
end
$$;

-- Sets right what a crash or a person left: deliveries whose job is dead, cancelled or gone are buried, what is held
-- for an active endpoint is started, and a key whose first delivery waits goes on. Returns how many deliveries it
-- moved. It looks at some endpoints, and of each at some deliveries, by chance: nothing is in a hurry, and a call is
-- short however long lines are.
create function ostinato.heal_webhooks(most integer default 500, endpoints integer default 50) returns integer
language plpgsql set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_count    integer := 0;
    v_endpoint record;
    v_ids      bigint[];
begin
    if exists (select from webhook_endpoint) then
        perform ostinato_internal.add_cursor('ostinato.webhooks');  -- in case that somebody dropped it
    end if;
    for v_endpoint in
        select o.id from (
            select e.id from webhook_endpoint e
            where exists (select from webhook_delivery d
                          where d.endpoint_id = e.id and d.state in ('pending', 'waiting', 'held'))
            order by random() limit heal_webhooks.endpoints) o
        order by o.id
    loop
        -- One that is busy is looked at by the next call.
        continue when not exists (select from webhook_endpoint e where e.id = v_endpoint.id
                                  for no key update skip locked);
        v_count := v_count + ostinato_internal.bury_webhooks(v_endpoint.id, most);
        if (select e.state from webhook_endpoint e where e.id = v_endpoint.id) = 'active' then
            v_count := v_count + ostinato_internal.release_held_webhooks(v_endpoint.id, most);
            v_ids := array(select ostinato_internal.startable_webhooks(array(
                select distinct on (d.ordering_key) d.id from webhook_delivery d
                where d.endpoint_id = v_endpoint.id and d.ordering_key is not null
                  and d.state in ('pending', 'waiting', 'held')
                order by d.ordering_key, d.seq, d.id)) limit most);
            perform ostinato_internal.start_webhook_jobs(v_ids);
            v_count := v_count + cardinality(v_ids);
        end if;
    end loop;
    return v_count;
end
$$;

-- Deprecated: the name of `heal_webhooks` that workers of 0.1.0 call.
create function ostinato.mend_webhooks(most integer default 500, endpoints integer default 50) returns integer
language sql set search_path = ostinato_data, pg_catalog, pg_temp as $$
    select ostinato.heal_webhooks(most, endpoints)
$$;

-- Buries the deliveries of an endpoint whose job ended without them. All dead letters are looked at, and of the others
-- `most` from a random place on. The caller holds the endpoint's row. Returns how many.
create function ostinato_internal.bury_webhooks(endpoint_id bigint, most integer) returns integer language plpgsql
set search_path = ostinato_data, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_from constant bigint := (
        select min(d.id) + floor(random() * (max(d.id) - min(d.id) + 1))::bigint from webhook_delivery d
        where d.endpoint_id = bury_webhooks.endpoint_id and d.state = 'pending');
    v_ids  bigint[];
begin
    v_ids := array(
        select d.id from dead_letter l join webhook_delivery d on d.job_id = l.job_id and d.state = 'pending'
        where l.queue = 'webhooks' and d.endpoint_id = bury_webhooks.endpoint_id
        union
        (select d.id from webhook_delivery d where d.endpoint_id = bury_webhooks.endpoint_id and d.state = 'pending'
           and d.id >= v_from
         order by d.id limit most)
        union
        (select d.id from webhook_delivery d where d.endpoint_id = bury_webhooks.endpoint_id and d.state = 'pending'
           and d.id < v_from
         order by d.id limit most));
    update webhook_delivery d
    set state = 'dead', settled_at = ostinato.now(), last_error = coalesce(d.last_error, 'its job ended without it')
    where d.id = any (array(
        select p.id from webhook_delivery p where p.id = any (v_ids) and p.state = 'pending'
          and not coalesce(ostinato.job_state(p.job_id) in ('ready', 'scheduled', 'running'), false)
        for update skip locked));
    get diagnostics most = row_count;
    return most;
end
$$;
