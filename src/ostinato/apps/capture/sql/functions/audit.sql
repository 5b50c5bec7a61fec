-- The audit log: one hash chain for each user of a tenant, to which entries are only ever appended.
--
--   entry_hash = SHA-256 of {"chain_id":…,"event_type":…,"occurred_at":…,"payload":…,"prev_hash":…,"seq":…} as RFC 8785
--   writes it
--
-- The text that was hashed is kept beside the payload: jsonb would give it back in another order. What verifies a chain
-- (rules.py) hashes that text again, compares it with the columns, and follows prev_hash from entry to entry.

-- Names the chain of a user.
create function vault_secure.chain_of(user_id text) returns text language sql immutable parallel safe as $$
    select 'capture:' || $1
$$;

-- Waits for its turn with a chain, until the end of the transaction. Always the last lock that is taken.
create function vault_secure.hold_chain(tenant_id text, user_id text) returns void language sql
set search_path = vault_secure, pg_catalog, pg_temp as $$
    select pg_advisory_xact_lock(hashtextextended(concat_ws(e'\x1f', 'capture.audit', $1, vault_secure.chain_of($2)),
                                                  0))
$$;

-- Writes an object of texts and whole numbers as RFC 8785 does; null when it has anything else, or keys of other
-- letters.
create function vault_secure.canonical_payload(payload jsonb) returns text language sql immutable parallel safe
set search_path = vault_secure, pg_catalog, pg_temp as $$
    select case when count(*) = count(m.member)
                then '{' || string_agg(m.member, ',' order by m.key collate "C") || '}' end
    from (
        select e.key, to_json(e.key)::text || ':' || case
            when e.key !~ '^[a-z0-9_]+$' then null
            when jsonb_typeof(e.value) = 'string' then to_json(e.value #>> '{}')::text
            when e.value::text !~ '^-?[0-9]{1,16}$' then null
            when abs(e.value::numeric) <= 9007199254740991 then e.value::text
        end as member
        from jsonb_each($1) e
    ) m
$$;

-- Appends an entry to the chain of a user and returns its place. `payload` is an object as RFC 8785 writes it, with the
-- tenant inside. With the rights of the owner: nobody else can write into the log. A session of a user makes entries of
-- his own intake only, and of what he thinks of its conflicts; and nobody one that would not verify: what is in the
-- chain stays there.
create function vault_secure.append_audit(
    user_id text, event_type text, payload text, out seq bigint, out entry_hash text
) returns record
language plpgsql security definer
set search_path = vault_secure, pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    v_tenant constant text := append_audit.payload::jsonb ->> 'tenant_id';
    v_user   constant text := nullif(current_setting('app.current_user_id', true), '');
    v_chain  constant text := vault_secure.chain_of(append_audit.user_id);
    -- Whose session it is, whether it took the role on or logged in with it.
    v_role   constant text := coalesce(nullif(current_setting('role', true), 'none'), session_user::text);
    v_at     timestamptz;
    v_prev   text;
    v_text   text;
begin
    if v_tenant is null
       or (v_role = 'ostinato_tenant'
           and (v_tenant, append_audit.user_id)
               is distinct from (nullif(current_setting('app.tenant_id', true), ''), v_user)) then
        raise exception using errcode = 'OS400',
            message = 'an entry of the audit log can only be made for the tenant and user of the transaction',
            hint = 'Enter both first: client.for_tenant(tenant, user).transaction().';
    end if;
    if v_role = 'ostinato_tenant'
       and append_audit.event_type not in ('CAPTURE_ACCEPTED', 'CAPTURE_REPLAYED', 'CAPTURE_CONFLICT',
                                           'CAPTURE_REFUSED', 'CAPTURE_CONFLICT_SEEN') then
        raise exception using errcode = 'OS400',
            message = format('a user''s session cannot make an entry %L', append_audit.event_type),
            detail = json_build_object('event_type', append_audit.event_type),
            hint = 'Only workers make entries about what follows the intake.';
    end if;
    if append_audit.payload is distinct from vault_secure.canonical_payload(append_audit.payload::jsonb) then
        raise exception using errcode = 'OS400',
            message = 'the payload of an entry must be texts and whole numbers, as RFC 8785 writes them',
            hint = 'Write it with ostinato.idempotency.canonical.';
    end if;
    perform vault_secure.hold_chain(v_tenant, append_audit.user_id);
    select l.seq, l.entry_hash into seq, v_prev from capture_audit_log l
    where l.tenant_id = v_tenant and l.chain_id = v_chain order by l.seq desc limit 1;
    seq := coalesce(seq, 0) + 1;
    v_prev := coalesce(v_prev, repeat('0', 64));
    -- The real clock, also where tests move the other one: an entry is a proof of when it was made.
    v_at := date_trunc('milliseconds', clock_timestamp());
    v_text := format('{"chain_id":%s,"event_type":%s,"occurred_at":"%s","payload":%s,"prev_hash":"%s","seq":%s}',
        to_json(v_chain), to_json(append_audit.event_type),
        to_char(v_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), append_audit.payload, v_prev, seq);
    entry_hash := encode(sha256(convert_to(v_text, 'UTF8')), 'hex');
    insert into capture_audit_log (tenant_id, user_id, chain_id, seq, prev_hash, entry_hash, occurred_at, event_type,
                                   event_payload, canonical)
    values (v_tenant, append_audit.user_id, v_chain, seq, v_prev, entry_hash, v_at, append_audit.event_type,
            append_audit.payload::jsonb, v_text);
exception when unique_violation then
    -- Only where the transaction cannot see what was committed while it waited: another isolation level than READ
    -- COMMITTED.
    raise exception using errcode = '40001', message = 'the audit log was appended to meanwhile';
end
$$;
