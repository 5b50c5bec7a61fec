-- Who may do what. A user's session makes captures and reads its own; states change through workers. Nobody writes into
-- the audit log but append_audit, and nobody deletes.
grant usage on schema vault_secure to ostinato_worker, ostinato_tenant, ostinato_api;
revoke all on all tables in schema vault_secure from ostinato_worker, ostinato_tenant;
revoke execute on all functions in schema vault_secure from public, ostinato_worker, ostinato_tenant, ostinato_api;

grant select on vault_secure.capture_events to ostinato_worker, ostinato_tenant;
grant insert (
    tenant_id, user_id, capture_id, content_hash, aes_gcm_nonce_b64, aes_gcm_tag_b64, dek_wrapped_b64, kek_id,
    mime_type, size_bytes, upload_object_key, payload_canonical_sha256, device_id, timestamp_device, skew_ms, ocr_text,
    ocr_confidence, ocr_language
) on vault_secure.capture_events to ostinato_worker, ostinato_tenant;
grant update (
    state, signature_status, reason, verified_at, sealed_seq, anchored_at, reconciliation_attempts, last_reconciled_at,
    object_version, rechecked_at, changed_at, changed_reason
) on vault_secure.capture_events to ostinato_worker;

grant select on vault_secure.capture_audit_log, vault_secure.capture_audit_head to ostinato_worker, ostinato_tenant;
grant insert on vault_secure.capture_audit_head to ostinato_worker;

grant execute on function
    vault_secure.find_capture, vault_secure.append_audit, vault_secure.chain_of, vault_secure.start_check
    to ostinato_worker, ostinato_tenant;
grant execute on function vault_secure.announce_uploads to ostinato_tenant;
grant execute on function vault_secure.changed_captures, vault_secure.restart_checks to ostinato_worker;

-- The whole intake says as whom it acts: no user's session has it.
grant execute on function vault_secure.take_capture_as to ostinato_api, ostinato_worker;
grant execute on function vault_secure.canonical_payload to ostinato_tenant;
