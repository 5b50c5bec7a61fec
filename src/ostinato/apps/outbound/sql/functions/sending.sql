-- What a worker writes of one message: that an attempt begins, that the provider has it, that it arrived. Each is one
-- call, in a transaction that the caller fences; whoever calls has locked the message, except where it is said.

-- Notes how an attempt ended. One that was taken may fail later, and one whose outcome was unknown may turn out to be
-- taken; else its end stays.
create function outbound.end_attempt(
    tenant_id text, message_id uuid, attempt_no integer, status text, error_code text default null,
    error_class text default null, error_message text default null, provider_response jsonb default '{}',
    next_retry_at timestamptz default null, counted boolean default true
) returns void language sql
set search_path = outbound, pg_catalog, pg_temp as $$
    update attempt a set status = $4, error_code = $5, error_class = $6, error_message = $7, provider_response = $8,
        next_retry_at = $9, counted = $10, ended_at = ostinato.now()
    where a.tenant_id = $1 and a.message_id = $2 and a.attempt_no = $3
      and (a.status = 'TRYING' or (a.status = 'SUCCESS' and $4 = 'FAILED')
      or (a.error_code = 'UNKNOWN_OUTCOME' and $4 = 'SUCCESS'))
$$;

-- Notes by which other number WhatsApp knows a recipient.
create function outbound.note_wa_id(tenant_id text, sender_id bigint, address text, wa_id text) returns void
language sql set search_path = outbound, pg_catalog, pg_temp as $$
    insert into pair (tenant_id, sender_id, address, wa_id) select $1, $2, $3, $4 where $4 <> $3
    on conflict (tenant_id, sender_id, address) do update set wa_id = excluded.wa_id
    where outbound.pair.wa_id is distinct from excluded.wa_id
$$;

-- Notes what the provider calls a message.
create function outbound.note_provider_id(tenant_id text, id uuid, provider_message_id text) returns void
language sql set search_path = outbound, pg_catalog, pg_temp as $$
    update message m set provider_message_id = $3, updated_at = ostinato.now()
    where m.tenant_id = $1 and m.id = $2 and m.provider_message_id is null
$$;

-- What a message that arrived at its provider, or its reader, has no more.
create function outbound.nothing_wrong() returns jsonb language sql immutable as $$
    select '{"unknown_until": null, "next_retry_at": null, "waits_for": null, "failed_at": null,
        "dead_lettered_at": null, "dead_reason": null, "error_code": null, "error_class": null,
        "error_message": null}'::jsonb
$$;

-- Takes a token of a pair of sender and recipient, if there is one: `burst` at most, and one more every so many
-- seconds.
-- One statement, so that of two messages that want the last one only one gets it. Returns what is left without one,
-- null if it was taken.
create function outbound.take_token(
    tenant_id text, sender_id bigint, address text, burst double precision, seconds double precision
) returns double precision language plpgsql
set search_path = outbound, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    insert into pair as p (tenant_id, sender_id, address, tokens, counted_at)
    values ($1, $2, $3, $4 - 1, ostinato.now())
    on conflict (tenant_id, sender_id, address) do update set counted_at = excluded.counted_at,
        tokens = least($4, p.tokens + greatest(0, extract(epoch from excluded.counted_at - p.counted_at)) / $5) - 1
    where least($4, p.tokens + greatest(0, extract(epoch from excluded.counted_at - p.counted_at)) / $5) >= 1;
    if found then
        return null;
    end if;
    return coalesce((select least($4, p.tokens + greatest(0, extract(epoch from ostinato.now() - p.counted_at)) / $5)
        from pair p where p.tenant_id = $1 and p.sender_id = $2 and p.address = $3), 0);
end
$$;

-- Notes an attempt, before the provider is called; with `burst`, if the recipient's pair has a token for it. Returns
-- what is left without one; null: it begins.
create function outbound.begin_attempt(
    tenant_id text, id uuid, attempt_no integer, mode text, job_id bigint, actor text, correlation_id text,
    burst double precision, seconds double precision
) returns double precision language plpgsql
set search_path = outbound, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_left double precision;
begin
    if burst is not null then
        select outbound.take_token($1, m.sender_id, m.to_address, burst, seconds) into v_left
        from message m where m.tenant_id = $1 and m.id = $2;
        if v_left is not null then
            return v_left;
        end if;
    end if;
    insert into attempt (tenant_id, message_id, attempt_no, mode, job_id) values ($1, $2, $3, $4, $5);
    perform ostinato.transition('outbound_message', 'outbound.message', $2::text, 'send', by => $6, tenant_id => $1,
        correlation_id => $7, changes => json_build_object('next_retry_at', null, 'waits_for', null, 'updated_at',
        ostinato.now()));
    perform outbound.note_message($1, $2, 'NOTIFICATION_SENDING', $6,
                                  details => jsonb_build_object('attempt_no', $3));
    return null;
end
$$;

-- Tells that a message was sent: on its timeline, in the audit, and as an event.
create function outbound.tell_sent(tenant_id text, id uuid, attempt_no integer, actor text) returns void language sql
set search_path = outbound, pg_catalog, pg_temp as $$
    select outbound.note_message($1, $2, 'NOTIFICATION_SENT', $4, 'SENT', jsonb_build_object('attempt_no', $3));
    select outbound.tell_status($1, array[$2], 'SENT')
$$;

-- Notes that the provider has a message; a callback may have said so before.
create function outbound.note_taken(
    tenant_id text, id uuid, attempt_no integer, provider_response jsonb, provider_message_id text, wa_id text,
    at timestamptz, actor text, correlation_id text
) returns void language plpgsql
set search_path = outbound, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_message message;
begin
    select m.* into v_message from message m where m.tenant_id = $1 and m.id = $2;
    perform outbound.end_attempt($1, $2, $3, 'SUCCESS', provider_response => $4);
    perform outbound.note_wa_id($1, v_message.sender_id, v_message.to_address, $6);
    if v_message.status in ('SENT', 'DELIVERED', 'CANCELLED') then
        perform outbound.note_provider_id($1, $2, $5);
        return;
    end if;
    perform ostinato.transition('outbound_message', 'outbound.message', $2::text, 'accept', by => $8, tenant_id => $1,
        correlation_id => $9, changes => (outbound.nothing_wrong() || jsonb_build_object('sent_at', $7,
        'provider_message_id', $5))::json);
    perform outbound.tell_sent($1, $2, $3, $8);
end
$$;

-- Settles an attempt that the provider took: the message is locked here. If a callback was first, its word stands.
create function outbound.settle_taken(
    tenant_id text, id uuid, attempt_no integer, provider_response jsonb, provider_message_id text, wa_id text,
    actor text, correlation_id text
) returns void language plpgsql
set search_path = outbound, pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
    perform from message m where m.tenant_id = $1 and m.id = $2 for update;
    perform from attempt a where a.tenant_id = $1 and a.message_id = $2 and a.attempt_no = $3 and a.status = 'TRYING';
    if found then
        perform outbound.note_taken($1, $2, $3, $4, $5, $6, ostinato.now(), $7, $8);
    else
        perform outbound.note_provider_id($1, $2, $5);
    end if;
end
$$;

-- Notes that a message arrived; `sent` may come later, or never: what arrived was sent.
create function outbound.note_delivered(
    tenant_id text, id uuid, attempt_no integer, wa_id text, at timestamptz, actor text, told_by text,
    correlation_id text
) returns void language plpgsql
set search_path = outbound, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_message message;
begin
    select m.* into v_message from message m where m.tenant_id = $1 and m.id = $2;
    perform outbound.note_wa_id($1, v_message.sender_id, v_message.to_address, $4);
    perform outbound.end_attempt($1, $2, $3, 'SUCCESS', provider_response => '{"callback": "delivered"}');
    perform ostinato.transition('outbound_message', 'outbound.message', $2::text, 'deliver', by => $6, tenant_id => $1,
        correlation_id => $8, changes => (outbound.nothing_wrong() || jsonb_build_object('sent_at',
        coalesce(v_message.sent_at, $5), 'delivered_at', $5))::json);
    if v_message.sent_at is null then
        perform outbound.tell_sent($1, $2, $3, $6);
    end if;
    perform outbound.note_message($1, $2, 'NOTIFICATION_DELIVERED', $7, 'DELIVERED');
    perform outbound.tell_status($1, array[$2], 'DELIVERED');
end
$$;
