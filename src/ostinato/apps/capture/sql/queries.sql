-- name: here
-- Whose transaction this is.
select ostinato.tenant(%(tenant_id)s) as tenant_id;

-- name: find_capture
-- Waits for its turn with a capture, then says whether it is there.
select f.tenant_id, f.now, f.id::text as id, f.state, f.payload_canonical_sha256
from vault_secure.find_capture(%(user_id)s::text, %(capture_id)s, %(tenant_id)s) f;

-- name: insert_capture
-- Writes a capture down; nothing comes back when it is there already.
insert into vault_secure.capture_events (
    tenant_id, user_id, capture_id, content_hash, aes_gcm_nonce_b64, aes_gcm_tag_b64, dek_wrapped_b64, kek_id,
    mime_type, size_bytes, upload_object_key, payload_canonical_sha256, device_id, timestamp_device, skew_ms, ocr_text,
    ocr_confidence, ocr_language
) values (
    %(tenant_id)s, %(user_id)s::text, %(capture_id)s, %(content_hash)s, %(aes_gcm_nonce_b64)s, %(aes_gcm_tag_b64)s,
    %(dek_wrapped_b64)s, %(kek_id)s, %(mime_type)s, %(size_bytes)s, %(upload_object_key)s, %(payload_canonical_sha256)s,
    %(device_id)s, %(timestamp_device)s, %(skew_ms)s, %(ocr_text)s, %(ocr_confidence)s, %(ocr_language)s
)
on conflict on constraint capture_once do nothing
returning id::text;

-- name: start_check
-- Adds the job that checks a capture that was just made.
select vault_secure.start_check(%(tenant_id)s, %(id)s, %(correlation_id)s);

-- name: show_capture
-- A capture of a user, without what opens it.
select c.id::text as capture_event_id, c.capture_id, c.state, c.content_hash, c.mime_type, c.size_bytes,
       c.upload_object_key, c.signature_status, c.reason, c.skew_ms, c.ocr_text, c.ocr_confidence, c.ocr_language,
       c.received_at, c.verified_at, c.anchored_at, c.object_version, c.rechecked_at, c.changed_at, c.changed_reason
from vault_secure.capture_events c
where c.tenant_id = ostinato.tenant(%(tenant_id)s) and c.user_id = %(user_id)s::text and c.capture_id = %(capture_id)s;

-- name: list_captures
-- The captures of a user before a place, newest first, and whether each is what was asked for: a page looks at some of
-- them only, however rare that is.
select c.id::text as capture_event_id, c.capture_id, c.state, c.content_hash, c.mime_type, c.size_bytes,
       c.upload_object_key, c.device_id, c.signature_status, c.reason, c.received_at, c.verified_at, c.anchored_at,
       c.rechecked_at, c.changed_at, c.changed_reason,
       (%(state)s::text is null or c.state = %(state)s)
       and (%(mime_type)s::text is null or c.mime_type = %(mime_type)s)
       and (%(device_id)s::text is null or c.device_id = %(device_id)s)
       and (%(content_hash)s::text is null or c.content_hash = %(content_hash)s)
       and (not %(changed)s or c.changed_at is not null)
       and (%(text)s::text is null or strpos(lower(c.ocr_text), lower(%(text)s)) > 0) as fits
from vault_secure.capture_events c
where c.tenant_id = ostinato.tenant(%(tenant_id)s) and c.user_id = %(user_id)s::text
  and (c.received_at, c.id) < (%(before_at)s::timestamptz, %(before_id)s::uuid)
  and c.received_at >= coalesce(%(since)s::timestamptz, '-infinity')
order by c.received_at desc, c.id desc limit %(most)s;

-- name: upload_of
-- What an upload of a capture of a user is for, as long as it is waited for.
select c.upload_object_key, c.size_bytes, c.state from vault_secure.capture_events c
where c.tenant_id = ostinato.tenant(%(tenant_id)s) and c.user_id = %(user_id)s::text and c.capture_id = %(capture_id)s;

-- name: announce_uploads
-- Notes that objects were uploaded; the captures that wait for them.
select a.id::text as capture_event_id, a.found_id as capture_id
from vault_secure.announce_uploads(ostinato.tenant(%(tenant_id)s), %(capture_id)s, %(object_keys)s::text[]) a;

-- name: to_recheck
-- Sealed captures whose object was not looked at for long, the longest ago first.
select c.tenant_id, c.id::text as capture_event_id from vault_secure.capture_events c
where c.state in ('SEALED', 'ANCHORED') and coalesce(c.rechecked_at, c.verified_at) < %(before)s
order by coalesce(c.rechecked_at, c.verified_at) limit %(most)s;

-- name: note_recheck
-- Notes that the object of a capture was looked at, and whether it is what was sealed.
update vault_secure.capture_events c
set rechecked_at = ostinato.now(), changed_reason = %(reason)s,
    changed_at = case when %(reason)s::text is not null then coalesce(c.changed_at, ostinato.now()) end
where c.tenant_id = %(tenant_id)s and c.id = %(id)s::uuid;

-- name: put_off_recheck
-- Notes that the object of a capture could not be looked at.
update vault_secure.capture_events c set rechecked_at = ostinato.now()
where c.tenant_id = %(tenant_id)s and c.id = %(id)s::uuid;

-- name: material
-- What the check of a capture needs.
select c.id::text as capture_event_id, c.tenant_id, c.user_id, c.state, c.received_at, ostinato.now() as now,
       c.object_version, c.changed_at, c.capture_id, c.content_hash, c.aes_gcm_nonce_b64, c.aes_gcm_tag_b64,
       c.dek_wrapped_b64, c.kek_id, c.mime_type, c.size_bytes, c.upload_object_key
from vault_secure.capture_events c
where c.tenant_id = %(tenant_id)s and c.id = %(id)s::uuid;

-- name: hold
-- Holds a capture until the end of the transaction.
select c.state from vault_secure.capture_events c where c.tenant_id = %(tenant_id)s and c.id = %(id)s::uuid
for no key update;

-- name: unsettled
-- Captures that should have been settled by now, oldest first, and that nobody looked after lately. Who was looked
-- after is not found again, so the next page is the same question.
select c.tenant_id, c.id::text as capture_event_id from vault_secure.capture_events c
where c.state in ('RECEIVED', 'UPLOADING', 'UPLOADED', 'VERIFYING') and c.received_at < %(before)s
  and coalesce(c.last_reconciled_at, '-infinity') < %(before)s
order by c.received_at limit %(most)s;

-- name: restart_checks
-- Looks after some captures: those without a live check, and whether it was started anew.
select r.tenant_id, r.id::text as capture_event_id, r.started
from vault_secure.restart_checks(%(tenant_ids)s::text[], %(ids)s::uuid[], %(most)s) r;

-- name: append_audit
-- Appends an entry to the chain of a user.
select a.seq, a.entry_hash from vault_secure.append_audit(%(user_id)s::text, %(event_type)s, %(payload)s) a;

-- name: append_audits
-- Appends some entries to the chain of a user, in their order.
select a.seq, a.entry_hash from unnest(%(payloads)s::text[]) with ordinality p (payload, n)
cross join lateral vault_secure.append_audit(%(user_id)s::text, %(event_type)s, p.payload) a;

-- name: events_of
-- What the log tells of a capture.
select l.event_type from vault_secure.capture_audit_log l
where l.tenant_id = %(tenant_id)s and l.chain_id = vault_secure.chain_of(%(user_id)s::text)
  and l.capture_id = %(capture_id)s
order by l.seq;

-- name: chains
-- The chains there are: those that have entries, and those of which a head was signed.
select c.tenant_id, c.chain_id from (
    select l.tenant_id, l.chain_id from vault_secure.capture_audit_log l
    union
    select h.tenant_id, h.chain_id from vault_secure.capture_audit_head h
) c
where (%(tenant_id)s::text is null or c.tenant_id = %(tenant_id)s)
  and (%(chain_id)s::text is null or c.chain_id = %(chain_id)s)
order by c.tenant_id, c.chain_id;

-- name: entries
-- The next entries of a chain.
select l.tenant_id, l.user_id, l.chain_id, l.seq, l.prev_hash, l.entry_hash, l.occurred_at, l.event_type,
       l.event_payload::text as event_payload, l.canonical
from vault_secure.capture_audit_log l
where l.tenant_id = %(tenant_id)s and l.chain_id = %(chain_id)s and l.seq > %(after)s
order by l.seq limit %(most)s;

-- name: head
-- The last entry of a chain, and the real time: a signed head proves when that entry was there.
select l.chain_id, l.seq, l.entry_hash, clock_timestamp() as signed_at from vault_secure.capture_audit_log l
where l.tenant_id = %(tenant_id)s and l.chain_id = vault_secure.chain_of(%(user_id)s) order by l.seq desc limit 1;

-- name: chains_to_sign
-- The chains that went on since a key signed them last, or whose signed head covers captures that are not anchored yet.
-- From chain to chain by the index: the log is long, its chains are few.
with recursive chain as (
    (select l.tenant_id, l.chain_id, l.user_id from vault_secure.capture_audit_log l order by l.tenant_id, l.chain_id
     limit 1)
    union all
    select n.tenant_id, n.chain_id, n.user_id from chain c
    cross join lateral (
        select l.tenant_id, l.chain_id, l.user_id from vault_secure.capture_audit_log l
        where (l.tenant_id, l.chain_id) > (c.tenant_id, c.chain_id) order by l.tenant_id, l.chain_id limit 1
    ) n
)
select c.tenant_id, c.user_id from chain c
cross join lateral (
    select l.seq from vault_secure.capture_audit_log l
    where l.tenant_id = c.tenant_id and l.chain_id = c.chain_id order by l.seq desc limit 1
) last
cross join lateral (
    select coalesce(max(h.seq), 0) as seq from vault_secure.capture_audit_head h
    where h.tenant_id = c.tenant_id and h.chain_id = c.chain_id and h.public_key = %(public_key)s
) signed
where (%(tenant_id)s::text is null or c.tenant_id = %(tenant_id)s) and (
    last.seq > signed.seq
    or exists (
        select from vault_secure.capture_events e
        where e.tenant_id = c.tenant_id and e.user_id = c.user_id and e.state = 'SEALED' and e.sealed_seq <= signed.seq
    )
)
order by c.tenant_id, c.chain_id;

-- name: keep_head
-- Keeps a signed head.
insert into vault_secure.capture_audit_head (tenant_id, user_id, chain_id, seq, entry_hash, signed_at, canonical,
                                             public_key, signature)
values (%(tenant_id)s, %(user_id)s, %(chain_id)s, %(seq)s, %(entry_hash)s, %(signed_at)s, %(canonical)s, %(public_key)s,
        %(signature)s)
on conflict do nothing;

-- name: heads
-- The signed heads of a chain.
select h.tenant_id, h.chain_id, h.seq, h.entry_hash, h.signed_at, h.canonical, h.public_key, h.signature
from vault_secure.capture_audit_head h
where h.tenant_id = %(tenant_id)s and h.chain_id = %(chain_id)s order by h.seq;

-- name: to_anchor
-- Sealed captures that a signed head covers.
select c.id::text as capture_event_id, c.capture_id from vault_secure.capture_events c
where c.tenant_id = %(tenant_id)s and c.user_id = %(user_id)s and c.state = 'SEALED' and c.sealed_seq <= %(seq)s
order by c.sealed_seq limit %(most)s;

-- name: page_counts
-- Counts the captures of the last day by state, of those that the viewer may see; the newest so many.
select c.state, count(*) as captures from (
    select c.state from vault_secure.capture_events c where c.received_at > ostinato.now() - interval '1 day'
    order by c.received_at desc limit %(most)s) c
group by c.state order by c.state;

-- name: page_captures
-- Returns the newest captures that the viewer may see.
select c.tenant_id, c.user_id, c.capture_id, c.state, c.mime_type, c.size_bytes, c.received_at, c.reason
from vault_secure.capture_events c
where (%(tenant_id)s::text is null or c.tenant_id = %(tenant_id)s)
  and (%(before)s::timestamptz is null or c.received_at < %(before)s)
order by c.received_at desc limit %(most)s;

-- name: certificate
-- A capture, without what opens it, and what the chain tells of it.
select c.tenant_id, c.user_id, c.capture_id, c.state, c.content_hash, c.mime_type, c.size_bytes, c.kek_id,
       c.payload_canonical_sha256, c.device_id, c.timestamp_device, c.skew_ms, c.ocr_text, c.ocr_confidence,
       c.signature_status, c.reason, c.received_at, c.verified_at, c.sealed_seq, c.anchored_at,
       (select max(l.seq) from vault_secure.capture_audit_log l
        where l.tenant_id = c.tenant_id and l.chain_id = vault_secure.chain_of(c.user_id)) as chain_length
from vault_secure.capture_events c
where (%(tenant_id)s::text is null or c.tenant_id = %(tenant_id)s) and c.user_id = %(user_id)s
  and c.capture_id = %(capture_id)s;

-- name: entries_of
-- What the chain tells of one capture.
select l.seq, l.occurred_at, l.event_type, l.entry_hash, l.http_status from vault_secure.capture_audit_log l
where l.tenant_id = %(tenant_id)s and l.chain_id = vault_secure.chain_of(%(user_id)s) and l.capture_id = %(capture_id)s
order by l.seq limit 500;

-- name: covering_head
-- The first signed head that covers an entry of a chain.
select h.seq, h.signed_at, h.entry_hash, h.public_key, h.signature from vault_secure.capture_audit_head h
where h.tenant_id = %(tenant_id)s and h.chain_id = vault_secure.chain_of(%(user_id)s) and h.seq >= %(seq)s
order by h.seq limit 1;

-- name: conflicts
-- Captures that came again with another payload, and that nobody has looked at; oldest first.
select l.tenant_id, l.user_id, l.seq, l.occurred_at, l.capture_id, l.source_ip, l.event_payload ->> 'stored' as stored,
       l.event_payload ->> 'received' as received
from vault_secure.capture_audit_log l
where l.event_type = 'CAPTURE_CONFLICT' and not exists (
    select from vault_secure.capture_audit_log s
    where s.event_type = 'CAPTURE_CONFLICT_SEEN' and s.tenant_id = l.tenant_id and s.chain_id = l.chain_id
      and s.event_payload ->> 'conflict_seq' = l.seq::text)
  and (%(seq)s::bigint is null
       or (l.seq = %(seq)s and l.tenant_id = %(tenant_id)s and l.user_id = %(user_id)s))
order by l.occurred_at limit 50;

-- name: count_conflicts
-- How many of them there are; it stops at a thousand.
select count(*) from (
    select from vault_secure.capture_audit_log l
    where l.event_type = 'CAPTURE_CONFLICT' and not exists (
        select from vault_secure.capture_audit_log s
        where s.event_type = 'CAPTURE_CONFLICT_SEEN' and s.tenant_id = l.tenant_id and s.chain_id = l.chain_id
          and s.event_payload ->> 'conflict_seq' = l.seq::text)
    limit 1000) waiting;
