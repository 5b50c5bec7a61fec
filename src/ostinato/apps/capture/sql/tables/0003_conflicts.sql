-- Conflicts wait for the person whose capture it is; they are counted every few seconds, and a decision is an entry of the chain.
create index capture_conflicts on vault_secure.capture_audit_log (occurred_at) where event_type = 'CAPTURE_CONFLICT';
create index capture_conflicts_seen on vault_secure.capture_audit_log (tenant_id, chain_id, (event_payload ->> 'conflict_seq'))
    where event_type = 'CAPTURE_CONFLICT_SEEN';
-- The newest captures, of a person and of all.
create index capture_newest on vault_secure.capture_events (received_at desc);
create index capture_newest_of_user on vault_secure.capture_events (tenant_id, user_id, received_at desc);
