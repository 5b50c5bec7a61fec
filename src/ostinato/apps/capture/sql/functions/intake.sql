-- Takes a capture in one statement, as the service does in a transaction.
--
-- One that is new is stored, one that came before is answered. Whatever is to be refused (another payload under
-- the same id, a clock that is off, an object that is too large) it leaves alone: no row comes back, nothing was done,
-- and the service refuses it, with an entry in the audit log.
create function vault_secure.take_capture_as(
    as_tenant text, as_correlation text, as_user text, as_key bigint,
    capture_id text, content_hash text, aes_gcm_nonce_b64 text, aes_gcm_tag_b64 text, dek_wrapped_b64 text, kek_id text,
    mime_type text, size_bytes bigint, upload_object_key text, payload_canonical_sha256 text, device_id text,
    timestamp_device timestamptz, ocr_text text, ocr_confidence double precision, ocr_language text, source_ip text,
    skew_seconds double precision, max_object_bytes bigint
) returns table (taken uuid, state text, replayed boolean, queues text[]) language plpgsql
set search_path = vault_secure, pg_catalog, pg_temp as $$
#variable_conflict use_variable
declare
    v_found   record;
    v_skew_ms double precision;
begin
    perform ostinato.enter_tenant(as_tenant, as_correlation, as_user, as_key);
    select f.* into v_found from vault_secure.find_capture(as_user, capture_id) f;
    if v_found.id is null then
        v_skew_ms := round(extract(epoch from timestamp_device - v_found.now) * 1000);
        if size_bytes > max_object_bytes or abs(v_skew_ms) > skew_seconds * 1000 then
            return;
        end if;
        insert into capture_events as c (
            tenant_id, user_id, capture_id, content_hash, aes_gcm_nonce_b64, aes_gcm_tag_b64, dek_wrapped_b64, kek_id,
            mime_type, size_bytes, upload_object_key, payload_canonical_sha256, device_id, timestamp_device, skew_ms,
            ocr_text, ocr_confidence, ocr_language
        ) values (
            as_tenant, as_user, capture_id, content_hash, aes_gcm_nonce_b64, aes_gcm_tag_b64, dek_wrapped_b64, kek_id,
            mime_type, size_bytes, upload_object_key, payload_canonical_sha256, device_id, timestamp_device, v_skew_ms,
            ocr_text, ocr_confidence, ocr_language
        ) on conflict on constraint capture_once do nothing returning c.id, c.state into taken, state;
        if taken is null then
            return;  -- somebody was first after all, without the lock
        end if;
        perform vault_secure.start_check(as_tenant, taken, as_correlation);
        perform ostinato.emit_event(
            'capture.received',
            json_build_object('capture_event_id', taken, 'capture_id', capture_id, 'state', state),
            taken::text, correlation_id => coalesce(as_correlation, 'capture-' || taken), occurred_at => ostinato.now(),
            producer => 'capture');
        replayed := false;
        queues := '{capture,@relay}';
    elsif v_found.payload_canonical_sha256 = payload_canonical_sha256 then
        taken := v_found.id;
        state := v_found.state;
        replayed := true;
    else
        return;
    end if;
    -- The chain is the last lock.
    perform vault_secure.append_audit(
        as_user, case when replayed then 'CAPTURE_REPLAYED' else 'CAPTURE_ACCEPTED' end,
        vault_secure.canonical_payload(jsonb_strip_nulls(jsonb_build_object(
            'capture_id', capture_id, 'tenant_id', as_tenant, 'source_ip', source_ip,
            'http_status', case when replayed then 200 else 202 end, 'capture_event_id', taken,
            'payload_canonical_sha256', case when not replayed then payload_canonical_sha256 end,
            'correlation_id', as_correlation))));
    return next;
end
$$;
