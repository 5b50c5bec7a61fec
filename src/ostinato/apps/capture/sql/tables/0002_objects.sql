-- What became of the objects of captures: announced, pinned at the seal, and looked at again.

-- The version of the object that was sealed (in a store that keeps versions), how often the object was announced, when
-- it was last looked at again, and since when it is not what was sealed, and why.
alter table vault_secure.capture_events
    add column object_version text,
    add column announced integer not null default 0,
    add column rechecked_at timestamptz,
    add column changed_at timestamptz,
    add column changed_reason text,
    add constraint changed_for_a_reason check ((changed_at is null) = (changed_reason is null));

-- The captures of a user, newest first; those that wait for an object; those whose turn it is to be looked at again.
create index capture_by_time on vault_secure.capture_events (tenant_id, user_id, received_at, id);
create index capture_awaited on vault_secure.capture_events (tenant_id, upload_object_key)
    where state in ('RECEIVED', 'UPLOADING');
create index capture_to_recheck on vault_secure.capture_events ((coalesce(rechecked_at, verified_at)))
    where state in ('SEALED', 'ANCHORED');
create index capture_changed on vault_secure.capture_events (tenant_id) where changed_at is not null;
