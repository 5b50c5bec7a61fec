-- Rows of the five applications, of 1,000 tenants, in the last two hours; machines are not asked, for speed.
-- %(count)s of each.
set local session_replication_role = replica;

insert into outbound.sender (tenant_id, channel, provider, provider_key)
select 'tenant' || n, 'EMAIL', 'smtp', 'desk@tenant' || n || '.example' from generate_series(0, 999) n;
insert into outbound.message (tenant_id, id, dossier_id, subject_id, channel, purpose, to_address, language, payload,
                              fingerprint, status, sender_id, idempotency_key, sent_at, failed_at, error_code, correlation_id,
                              created_at, updated_at)
select s.tenant_id, gen_random_uuid(), 'D-' || n, 'contact-' || n, 'EMAIL', 'TRANSACTIONAL', 'ana' || n || '@example.test', 'fr',
       '{"text": "Bonjour"}', md5(n::text), case n %% 20 when 0 then 'FAILED' when 1 then 'QUEUED' else 'SENT' end, s.id,
       'key-' || n, at, case n %% 20 when 0 then at end, case n %% 20 when 0 then '550' end, 'order-' || n, at, at
from generate_series(1, %(count)s) n
cross join lateral (select now() - interval '2 hours' * random() as at) t
join outbound.sender s on s.tenant_id = 'tenant' || n %% 1000;
insert into outbound.consent (tenant_id, subject_id, channel, purpose, address, status, granted_at)
select 'tenant' || n %% 1000, 'contact-' || n, 'EMAIL', 'TRANSACTIONAL', 'ana' || n || '@example.test', 'GRANTED', now()
from generate_series(1, %(count)s) n;

insert into enrichment.company (siren, legal_name, enrichment_status, enrichment_last_run_at, updated_at)
select lpad(n::text, 9, '0'), 'COMPANY ' || n, case n %% 50 when 0 then 'PARTIAL' else 'SUCCESS' end, now(), now()
from generate_series(1, %(count)s) n;
insert into enrichment.request (tenant_id, id, siren, company_siren, created_at, created_by, correlation_id)
select 'tenant' || n %% 1000, gen_random_uuid(), lpad(n::text, 9, '0'), lpad(n::text, 9, '0'),
       now() - interval '2 hours' * random(), 'bench', 'order-' || n
from generate_series(1, %(count)s) n;

insert into watchfolder.folder (tenant_id, name, path, lang, created_at, created_by, ticked_at)
select 'tenant' || n, 'courrier', '/nowhere/' || n, 'fra', now(), 'bench', now() from generate_series(0, 999) n;
insert into watchfolder.job (tenant_id, folder_id, job_key, seq, state, file_name, pages, created_at, changed_at)
select f.tenant_id, f.id, encode(sha256(n::text::bytea), 'hex') || '__0badcafe', 9, case n %% 50 when 0 then 'ERROR' else 'DONE' end,
       'scan-' || n || '.pdf', 1, at, at
from generate_series(1, %(count)s) n
cross join lateral (select now() - interval '2 hours' * random() as at) t
join watchfolder.folder f on f.tenant_id = 'tenant' || n %% 1000;
insert into watchfolder.reading (tenant_id, folder_id, job_key, body)
select j.tenant_id, j.folder_id, j.job_key, 'Facture ' || j.file_name || ' pour la toiture, côté nord et pignon, net à payer'
from watchfolder.job j;
insert into watchfolder.duplicate (tenant_id, folder_id, job_key, files, detected_at)
select j.tenant_id, j.folder_id, j.job_key, array['encore.pdf'], now() from watchfolder.job j order by j.job_key limit 2000;

insert into rounds.groups (tenant_id, name)
select 'tenant' || n %% 1000, 'Group ' || n from generate_series(1, %(count)s / 10) n;
insert into rounds.group_settings (tenant_id, group_id, drop_time, zone)
select g.tenant_id, g.id, '18:00', 'Europe/Paris' from rounds.groups g;
insert into rounds.members (tenant_id, group_id, user_id)
select g.tenant_id, g.id, 'user-' || n from rounds.groups g cross join generate_series(1, 5) n;

insert into vault_secure.capture_events (
    tenant_id, user_id, capture_id, state, content_hash, aes_gcm_nonce_b64, aes_gcm_tag_b64, dek_wrapped_b64, kek_id, mime_type,
    size_bytes, upload_object_key, payload_canonical_sha256, timestamp_device, skew_ms, received_at, verified_at, sealed_seq
)
select 'tenant' || n %% 1000, 'user-' || n %% 5000, gen_random_uuid(), 'SEALED', encode(sha256(n::text::bytea), 'hex'), 'n', 't',
       'd', 'k', 'image/jpeg', 100, 'o/' || n, encode(sha256(n::text::bytea), 'hex'), at, 0, at, at, n
from generate_series(1, %(count)s) n cross join lateral (select now() - interval '2 hours' * random() as at) t;

insert into ostinato_data.webhook_endpoint (
    id, tenant_id, name, url, event_types, description, headers, retry, timeout_seconds, disable_after_seconds, ordered,
    created_at, changed_at, from_position
)
select n + 1, 'tenant' || n, 'partner', 'https://partner' || n || '.example.test/in', '{*}', '', '{}', '{}', 5, 86400, true,
       now(), now(), 0
from generate_series(0, 999) n;
