-- The plain statements of the outbound application. Each names its tenant: workers see the rows of all.

-- name: organisation
-- What a tenant has chosen.
select * from outbound.organisation where tenant_id = %(tenant_id)s;

-- name: put_organisation
-- Writes what a tenant has chosen.
insert into outbound.organisation
    (tenant_id, zone, region, language, notice_time, holidays, stop_covers_all, stop_reply, help_reply, start_reply,
    replies, opens, closes, marketing_opens, marketing_closes, reminder_days, updated_at)
values (%(tenant_id)s, %(zone)s, %(region)s, %(language)s, %(notice_time)s, %(holidays)s, %(stop_covers_all)s,
    %(stop_reply)s, %(help_reply)s, %(start_reply)s, %(replies)s::jsonb, %(opens)s, %(closes)s, %(marketing_opens)s,
    %(marketing_closes)s, %(reminder_days)s::integer[], ostinato.now())
on conflict (tenant_id) do update set zone = excluded.zone, region = excluded.region, language = excluded.language,
    notice_time = excluded.notice_time, holidays = excluded.holidays, stop_covers_all = excluded.stop_covers_all,
    stop_reply = excluded.stop_reply, help_reply = excluded.help_reply, start_reply = excluded.start_reply,
    replies = excluded.replies, opens = excluded.opens, closes = excluded.closes,
    marketing_opens = excluded.marketing_opens, marketing_closes = excluded.marketing_closes,
    reminder_days = excluded.reminder_days, updated_at = excluded.updated_at;

-- name: put_sender
-- Adds a sender, or changes how it is shown and what opens its account. With another rate its turns begin anew.
with before as (
    select rate from outbound.sender
    where tenant_id = %(tenant_id)s and channel = %(channel)s and provider_key = %(provider_key)s)
insert into outbound.sender (tenant_id, channel, provider, provider_key, display, account_key, credentials, on_unknown,
    rate, is_default, reply_to)
values (%(tenant_id)s, %(channel)s, %(provider)s, %(provider_key)s, %(display)s, %(account_key)s, %(credentials)s,
    %(on_unknown)s, %(rate)s, %(is_default)s, %(reply_to)s)
on conflict (tenant_id, channel, provider_key) do update set display = excluded.display,
    account_key = coalesce(excluded.account_key, outbound.sender.account_key),
    credentials = coalesce(excluded.credentials, outbound.sender.credentials), on_unknown = excluded.on_unknown,
    rate = excluded.rate, is_default = excluded.is_default, reply_to = excluded.reply_to,
    next_turn_at = case when outbound.sender.rate is not distinct from excluded.rate then outbound.sender.next_turn_at
        when outbound.sender.next_turn_at > ostinato.now()
        then ostinato.now() + make_interval(secs => 1 / excluded.rate) end,
    deleted_at = null
returning id, exists (select from before b where b.rate is distinct from outbound.sender.rate) as paced_anew;

-- name: no_default
-- No sender of a channel is the usual one: another one is about to be.
update outbound.sender set is_default = false
where tenant_id = %(tenant_id)s and channel = %(channel)s and is_default;

-- name: delete_sender
-- Takes a sender out of use, unless messages wait for it; its row stays for those that it has sent. What opened its
-- account goes.
update outbound.sender s set deleted_at = ostinato.now(), credentials = null, is_default = false
where s.tenant_id = %(tenant_id)s and s.id = %(id)s and s.deleted_at is null and not exists (
    select from outbound.message m where m.tenant_id = s.tenant_id and m.sender_id = s.id
    and m.status in ('QUEUED', 'SENDING')) returning s.provider, s.provider_key;

-- name: leave_ownership
-- What an organisation has no sender for any more is for anybody to prove.
select outbound.leave_ownership(%(tenant_id)s, %(provider)s, %(provider_key)s);

-- name: take_turn
-- The turn of a message at a sender with a rate of its own: when it is, counted from the one before.
update outbound.sender set next_turn_at = greatest(next_turn_at, ostinato.now()) + make_interval(secs => 1 / rate)
where tenant_id = %(tenant_id)s and id = %(id)s
returning next_turn_at - make_interval(secs => 1 / rate) as at;

-- name: set_turn
-- Notes the turn of a message.
update outbound.message set turn_at = %(at)s where tenant_id = %(tenant_id)s and id = %(id)s;

-- name: forget_turns
-- Clears the turns of the messages that wait for a sender, because its rate has changed. A worker that sends locks the
-- message before its sender, which is locked here, so messages that a worker holds are skipped.
with waiting as (
    select id from outbound.message
    where tenant_id = %(tenant_id)s and sender_id = %(sender_id)s and status = 'QUEUED' and waits_for is not null
        and turn_at > ostinato.now() order by id for update skip locked)
update outbound.message m set turn_at = null from waiting w where m.tenant_id = %(tenant_id)s and m.id = w.id;

-- name: senders
-- The senders of a tenant, or one of them, and whether something may be sent by them.
select s.*, outbound.usable(s) as usable, p.proof from outbound.sender s
left join lateral outbound.proof_of(s.tenant_id, s.provider, s.provider_key) p on true
where s.tenant_id = %(tenant_id)s and (%(id)s::bigint is null or s.id = %(id)s) and s.deleted_at is null
order by s.id;

-- name: sender_of_provider
-- Whose sender a provider speaks of: his who has proven that it is; with `only`, if that is whose account it is.
select s.* from outbound.sender s
where s.provider = %(provider)s and s.provider_key = %(provider_key)s and outbound.hears(s)
    and (%(only)s::text is null or s.tenant_id = %(only)s);

-- name: tenants_told_of
-- Which tenants the lines of a callback speak of; with `only`, no other than whose account it is.
select key, consent_id, tenant_id
from outbound.tenants_told_of(%(provider)s, %(keys)s::text[], %(consents)s::uuid[], %(only)s);

-- name: account_of_hook
-- The account of a sender, sealed, by the name under which its provider calls back.
select tenant_id, provider_key, credentials from outbound.account_of_hook(%(provider)s, %(hook)s);

-- name: challenge
-- Returns the text that proves a domain: only this installation can have asked its owner to write it.
select outbound.sealed(jsonb_build_object('domain', %(about)s::text)) ->> 'domain' as code;

-- name: claim_ownership
-- Records the owner of a number, name or domain, unless another organisation has proven it before.
select outbound.claim_ownership(%(tenant_id)s, %(provider)s, %(key)s, %(proven)s, %(account)s, %(by)s) as claimed;

-- name: grant_ownership
-- The administrator says whose something is.
select * from outbound.grant_ownership(%(provider)s, %(key)s, %(tenant_id)s, %(account)s, %(by)s);

-- name: withdraw_ownership
-- The administrator takes something away.
select * from outbound.withdraw_ownership(%(provider)s, %(key)s, %(by)s);

-- name: owners
-- What is whose.
select * from outbound.owners(%(tenant_id)s);

-- name: learn_account
-- Notes to which account a number belongs at its provider.
update outbound.sender set account_key = %(account_key)s
where tenant_id = %(tenant_id)s and provider = %(provider)s and provider_key = %(provider_key)s
    and account_key is distinct from %(account_key)s;

-- name: hold_sender
-- Lets nothing more go out by a sender for a while.
update outbound.sender set held_until = greatest(held_until, %(until)s), hold_reason = %(reason)s, hold_code = %(code)s
where tenant_id = %(tenant_id)s and id = %(id)s;

-- name: release_sender
-- Ends the hold of a sender, and says whether there was one to end.
update outbound.sender set held_until = null, hold_reason = null, hold_code = null, troubles = 0, outage_since = null,
    probes = 0, probed_by = null
where tenant_id = %(tenant_id)s and id = %(id)s returning id;

-- name: lock_sender
-- A sender, held until the end of the transaction.
select * from outbound.sender where tenant_id = %(tenant_id)s and id = %(id)s for update;

-- name: note_trouble
-- Records how often in a row the provider of a sender did not answer, since when it is away, and until when it is not
-- tried. The probe, if this was one, is over.
update outbound.sender set troubles = %(troubles)s, probed_by = null, outage_since = %(since)s, held_until = %(until)s,
    hold_reason = case when %(since)s::timestamptz is null then hold_reason else %(reason)s end,
    hold_code = case when %(since)s::timestamptz is null then hold_code else %(code)s end
where tenant_id = %(tenant_id)s and id = %(id)s;

-- name: end_outage
-- Its provider answers again, or nobody waits for it; a hold for another reason stays.
update outbound.sender set troubles = 0, outage_since = null, probes = 0, probed_by = null,
    held_until = case when outage_since is null then held_until end,
    hold_reason = case when outage_since is null then hold_reason end,
    hold_code = case when outage_since is null then hold_code end
where tenant_id = %(tenant_id)s and id = %(id)s;

-- name: next_probe
-- Which message tries a provider that was away, the one that did so last after all others; and how many are not sent.
select w.waiting, p.id, p.job_id from (
    select count(*) as waiting from outbound.message
    where tenant_id = %(tenant_id)s and sender_id = %(id)s and status in ('QUEUED', 'SENDING')) w
left join lateral (
    select m.id, m.job_id from outbound.message m
    where m.tenant_id = %(tenant_id)s and m.sender_id = %(id)s and m.status = 'QUEUED'
    and m.waits_for in ('SENDER_HELD', 'HOLD') and m.attempts_used < %(most)s
    order by m.attempts_used, m.updated_at, m.id limit 1) p on true;

-- name: begin_probe
-- One message tries a provider that was away; others wait until then.
update outbound.sender set probes = probes + 1, probed_by = %(message_id)s::uuid, held_until = %(until)s
where tenant_id = %(tenant_id)s and id = %(id)s;

-- name: put_template
-- Writes a template.
insert into outbound.template (tenant_id, template_code, language, category, provider_name, body, html, subject,
    variables_schema, components, parameter_format, is_active, held_until, updated_at)
values (%(tenant_id)s, %(template_code)s, %(language)s, %(category)s, %(provider_name)s, %(body)s, %(html)s,
    %(subject)s, %(variables)s, %(components)s, %(parameter_format)s, %(is_active)s, null, ostinato.now())
on conflict (tenant_id, template_code, language) do update set category = excluded.category,
    provider_name = excluded.provider_name, body = excluded.body, html = excluded.html, subject = excluded.subject,
    variables_schema = excluded.variables_schema, components = excluded.components,
    parameter_format = excluded.parameter_format, is_active = excluded.is_active, held_until = null,
    provider_status = null, provider_status_at = null, updated_at = excluded.updated_at;

-- name: templates
-- The templates of a tenant.
select template_code, language, category, provider_name, body, html, subject, variables_schema, components,
    parameter_format,
    provider_status, is_active, held_until
from outbound.template where tenant_id = %(tenant_id)s order by template_code, language;

-- name: template
-- One template.
select template_code, language, category, provider_name, body, html, subject, variables_schema, components,
    parameter_format,
    provider_status, is_active, held_until
from outbound.template where tenant_id = %(tenant_id)s and template_code = %(template_code)s
    and language = %(language)s;

-- name: hold_template
-- Lets nothing more go out with a template for a while.
update outbound.template set held_until = %(until)s where tenant_id = %(tenant_id)s
    and template_code = %(template_code)s and language = %(language)s;

-- name: tell_template
-- What a provider says about a template, unless it has said something newer: whose template it is.
update outbound.template t set provider_status = %(status)s, provider_status_at = %(at)s, held_until = %(held_until)s,
    updated_at = ostinato.now()
where t.provider_name = %(name)s and t.language = %(language)s
    and (t.provider_status_at is null or t.provider_status_at <= %(at)s)
  and exists (select from outbound.sender s where s.tenant_id = t.tenant_id and s.provider = %(provider)s
  and s.account_key = %(account_key)s and outbound.usable(s))
  and (%(only)s::text is null or t.tenant_id = %(only)s)
returning t.tenant_id, t.template_code, t.language;

-- name: deactivate_template
-- Takes a template out of use that its provider has disabled.
update outbound.template set provider_status = 'DISABLED', provider_status_at = ostinato.now(),
    updated_at = ostinato.now()
where tenant_id = %(tenant_id)s and template_code = %(template_code)s and language = %(language)s;

-- name: lock_consent
-- The consent of a subject for a channel and purpose, held until the end of the transaction, so that nobody ends it
-- meanwhile.
select * from outbound.consent where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s and channel = %(channel)s
    and purpose = %(purpose)s for update;

-- name: lock_consents_of_address
-- The consents that were given for an address, however it is spelt, held until the end of the transaction.
select * from outbound.consent
where tenant_id = %(tenant_id)s and channel = %(channel)s
    and lower(address collate "C") = lower(%(address)s collate "C") and purpose = any (%(purposes)s)
    order by id for update;

-- name: subject_of_address
-- Whose an address is, as far as consents tell.
select subject_id from outbound.consent where tenant_id = %(tenant_id)s and channel = %(channel)s
    and lower(address collate "C") = lower(%(address)s collate "C")
order by updated_at desc limit 1;

-- name: language_of_address
-- In which language somebody was last written to at an address; the answers to what they wrote do not count.
select language from outbound.message
where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s and channel = %(channel)s and inbound_id is null
    and to_address <> '' and lower(to_address collate "C") = lower(%(address)s collate "C")
order by created_at desc, id desc limit 1;

-- name: consent_of_id
-- Returns a consent by its id, of any subject.
select * from outbound.consent where id = %(id)s;

-- name: tenant_of_consent
-- Whose a consent is: for a link that somebody clicked on.
select outbound.tenant_of_consent(%(id)s) as tenant_id;

-- name: consents
-- The consents of a subject.
select * from outbound.consent where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s
    order by channel, purpose;

-- name: add_consent
-- A consent nobody has given yet.
insert into outbound.consent (tenant_id, id, subject_id, channel, purpose, address)
values (%(tenant_id)s, %(id)s, %(subject_id)s, %(channel)s, %(purpose)s, %(address)s) on conflict do nothing;

-- name: renew_consent
-- Updates the address, the legal basis and the end of a consent.
update outbound.consent set address = %(address)s, legal_basis = %(legal_basis)s, expires_at = %(expires_at)s,
    granted_at = %(granted_at)s, version = version + 1, updated_at = ostinato.now()
where tenant_id = %(tenant_id)s and id = %(id)s;

-- name: add_consent_event
-- Appends to the proof of a consent.
insert into outbound.consent_event (tenant_id, consent_id, event_type, old_status, new_status, occurred_at, source,
    actor, proof)
values (%(tenant_id)s, %(consent_id)s, %(event_type)s, %(old_status)s, %(new_status)s, %(occurred_at)s, %(source)s,
    %(actor)s, %(proof)s);

-- name: consent_events
-- The whole proof of a consent, oldest first.
select id, event_type, old_status, new_status, occurred_at, recorded_at, source, actor, proof
from outbound.consent_event where tenant_id = %(tenant_id)s and consent_id = %(consent_id)s order by id;

-- name: lock_consents_of_subject
-- The consents of a subject, held until the end of the transaction.
select * from outbound.consent where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s order by id for update;

-- name: erase_consents
-- Blanks the addresses of a subject's consents, and says so in their proof.
with blanked as (
    update outbound.consent set address = '', version = version + 1, updated_at = ostinato.now()
    where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s and address <> '' returning id, status)
insert into outbound.consent_event (tenant_id, consent_id, event_type, old_status, new_status, occurred_at, source,
    actor, proof)
select %(tenant_id)s, b.id, 'ERASED', b.status, b.status, ostinato.now(), 'OPERATOR', %(actor)s, %(proof)s
    from blanked b;

-- name: addresses_of_subject
-- Where a subject was, or was to be, written to.
select distinct a.address from (
    select address from outbound.consent where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s
    union all select unnest(array[to_address, payload #>> '{fallback,to}']) from outbound.message
    where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s) a where a.address <> '' order by 1;

-- name: open_messages
-- How many messages of a subject are not at their end.
select count(*) as open from outbound.message
where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s and status in ('QUEUED', 'SENDING');

-- name: erase_members
-- Forgets what a member of Coop Habitat is called, and where he is reached.
update outbound.coop_member set name = '', address = '', updated_at = ostinato.now()
where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s and (name, address) <> ('', '');

-- name: erase_messages
-- Blanks the recipient and the text of a subject's messages that wait for nothing more, and what stands for them: their
-- fingerprints, and the provider's ids, in which WhatsApp writes the number. Held in the order of their ids, as
-- callbacks hold them.
with ended as (
    select id, provider_message_id as told from outbound.message
    where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s and status not in ('QUEUED', 'SENDING')
    and to_address <> '' order by id for update
), attempts as (
    update outbound.attempt a set provider_response = null, error_message = null
    from ended e where a.tenant_id = %(tenant_id)s and a.message_id = e.id
), lines as (
    delete from outbound.callback_line l using ended e
    where l.tenant_id = %(tenant_id)s and l.provider_message_id = e.told)
update outbound.message m set to_address = '', payload = '{}', subject = null, error_message = null,
    fingerprint = '{}', provider_message_id = null, updated_at = ostinato.now()
from ended e where m.tenant_id = %(tenant_id)s and m.id = e.id returning m.id;

-- name: erase_inbound
-- Forgets what was written from some addresses, and how fast they may be written to.
with a as (update outbound.inbound set body = null, from_address = '', provider_message_id = 'erased:' || id
    where tenant_id = %(tenant_id)s and from_address = any (%(addresses)s) returning 1
), b as (delete from outbound.callback_line where tenant_id = %(tenant_id)s and provider_message_id in
    (select 'preference:' || address from unnest(%(addresses)s::text[]) address) returning 1)
delete from outbound.pair where tenant_id = %(tenant_id)s and address = any (%(addresses)s);

-- name: last_refusal
-- When a consent was last denied or revoked.
select max(occurred_at) as at from outbound.consent_event
where tenant_id = %(tenant_id)s and consent_id = %(consent_id)s and event_type in ('DENIED', 'REVOKED');

-- name: was_granted
-- Whether a consent was granted at some time.
select exists (select from outbound.consent_event where tenant_id = %(tenant_id)s and consent_id = %(consent_id)s
    and new_status = 'GRANTED') as granted;

-- name: expired_consents
-- Consents whose time is over.
select tenant_id, id from outbound.consent where status = 'GRANTED' and expires_at <= ostinato.now()
    order by id limit 500 for update skip locked;

-- name: accept_messages
-- Accepts messages, or says what has changed since it was seen.
select results, facts, queues from outbound.accept_messages(%(tenant_id)s, %(actor)s, %(asked)s, %(seen)s, %(limits)s,
    %(correlation_id)s);

-- name: start_send
-- Adds the job that sends a message.
select outbound.start_send(%(tenant_id)s, %(id)s, %(run_at)s);

-- name: start_wake
-- Adds the job that wakes what waits for a sender, a template or its hours.
select outbound.start_wake(%(tenant_id)s, %(sender_id)s, %(template_code)s, %(language)s, %(again)s, %(run_at)s,
    %(correlation_id)s, %(quiet)s);

-- name: start_forget
-- Adds the job that blanks what is just being sent to a person who is erased.
select outbound.start_forget(%(tenant_id)s, %(subject_id)s, %(run_at)s, %(correlation_id)s);

-- name: start_replan
-- Adds the job that writes the timers of contributions anew.
select outbound.start_replan(%(tenant_id)s, %(correlation_id)s);

-- name: message
-- A message.
select * from outbound.message where tenant_id = %(tenant_id)s and id = %(id)s;

-- name: lock_message
-- A message, held until the end of the transaction.
select * from outbound.message where tenant_id = %(tenant_id)s and id = %(id)s for update;

-- name: message_of_provider
-- The message that a provider speaks of, held until the end of the transaction.
select * from outbound.message where tenant_id = %(tenant_id)s and provider_message_id = %(provider_message_id)s
    for update;

-- name: tenants_of_messages
-- Whose messages are; with `only`, those of that tenant.
select id, tenant_id from outbound.message
where id = any (%(ids)s::uuid[]) and (%(only)s::text is null or tenant_id = %(only)s);

-- name: messages
-- A page of messages, newest first.
select * from outbound.message
where tenant_id = %(tenant_id)s and (%(dossier_id)s::text is null or dossier_id = %(dossier_id)s)
    and (%(status)s::text is null or status = %(status)s)
  and (not %(dead)s or dead_lettered_at is not null)
  and (%(before_at)s::timestamptz is null or (created_at, id) < (%(before_at)s, %(before_id)s::uuid))
order by created_at desc, id desc limit %(most)s;

-- name: attempts
-- The attempts of a message.
select id, attempt_no, status, mode, counted, unknown_since, error_code, error_class, error_message, provider_response,
    next_retry_at, created_at, ended_at
from outbound.attempt where tenant_id = %(tenant_id)s and message_id = %(message_id)s order by attempt_no;

-- name: waiting_messages
-- Messages that have not been sent, to a subject on a channel.
select id from outbound.message
where tenant_id = %(tenant_id)s and subject_id = %(subject_id)s and channel = %(channel)s and purpose = %(purpose)s
    and status = 'QUEUED'
  and inbound_id is null order by id for update;

-- name: waiting_of_entity
-- Messages about an entity that have not been sent.
select id from outbound.message
where tenant_id = %(tenant_id)s and entity_type = %(entity_type)s and entity_id = %(entity_id)s and status = 'QUEUED'
    order by id for update;

-- name: for_sending
-- Everything that decides whether messages may go now; they are held until the end of the transaction, in the order of
-- their ids.
select m.*, to_jsonb(s) as sender, outbound.usable(s) as usable, to_jsonb(t) as template,
    to_jsonb(f) as other_template, to_jsonb(o) as organisation,
    to_jsonb(p) as pair, to_jsonb(a) as last_attempt, i.received_at as last_inbound,
    i.provider_message_id as last_inbound_id, to_jsonb(k) as contribution, to_jsonb(b) as member, to_jsonb(r) as asked,
    ostinato.now() as now, outbound.consent_refusal(c, m.to_address, exists (select from outbound.suppression x
    where x.tenant_id = m.tenant_id and x.channel = m.channel and x.purpose = m.purpose
               and x.address_mac in (outbound.sealed_address(w.mac), outbound.sealed_address(w.other_mac)))) as refusal
from unnest(%(tenant_ids)s::text[], %(ids)s::uuid[], %(macs)s::bytea[], %(other_macs)s::bytea[])
    as w (tenant_id, id, mac, other_mac)
join outbound.message m on m.tenant_id = w.tenant_id and m.id = w.id
join outbound.sender s on s.tenant_id = m.tenant_id and s.id = m.sender_id
left join outbound.consent c on c.tenant_id = m.tenant_id and c.subject_id = m.subject_id and c.channel = m.channel
    and c.purpose = m.purpose
left join outbound.template t on t.tenant_id = m.tenant_id and t.template_code = m.template_code
    and t.language = m.language
left join outbound.template f on f.tenant_id = m.tenant_id
    and f.template_code = m.payload #>> '{fallback_template,code}' and f.language = m.language
left join outbound.organisation o on o.tenant_id = m.tenant_id
left join outbound.pair p on p.tenant_id = m.tenant_id and p.sender_id = m.sender_id and p.address = m.to_address
left join lateral (
    select x.attempt_no, x.status, x.unknown_since, x.created_at from outbound.attempt x
    where x.tenant_id = m.tenant_id and x.message_id = m.id
    order by x.attempt_no desc limit 1) a on true
left join lateral (
    select x.received_at, x.provider_message_id from outbound.inbound x
    where x.tenant_id = m.tenant_id and x.sender_id = m.sender_id and x.from_address = m.to_address
    and m.template_code is null
    order by x.received_at desc limit 1) i on true
left join outbound.inbound r on r.tenant_id = m.tenant_id and r.id = m.inbound_id
left join outbound.coop_contribution k on m.entity_type = 'COOP_CONTRIBUTION' and k.tenant_id = m.tenant_id
    and k.id = m.entity_id
left join outbound.coop_member b on m.entity_type like 'COOP\_%%' and b.tenant_id = m.tenant_id
    and b.id = m.recipient_ref
order by m.id for update of m;

-- name: consents_for_sending
-- The consents that messages need, held against their end until the attempts are noted. Before the messages: that is
-- the order of locks.
select c.*, m.id as message_id from unnest(%(tenant_ids)s::text[], %(ids)s::uuid[]) as w (tenant_id, id)
join outbound.message m on m.tenant_id = w.tenant_id and m.id = w.id
join outbound.consent c on c.tenant_id = m.tenant_id and c.subject_id = m.subject_id and c.channel = m.channel
    and c.purpose = m.purpose
order by c.id for share of c;

-- name: wait
-- Notes until when a message waits, and for what.
update outbound.message set next_retry_at = %(until)s, waits_for = %(waits_for)s, updated_at = ostinato.now()
    where tenant_id = %(tenant_id)s and id = %(id)s;

-- name: begin_attempts
-- Notes attempts, before the provider is called, or says what the recipients' pairs have left.
select id, tokens from outbound.begin_attempts(%(tenant_ids)s::text[], %(ids)s::uuid[], %(numbers)s::integer[],
    %(modes)s::text[], %(job_ids)s::bigint[], %(correlations)s::text[], %(bursts)s::double precision[],
    %(senders)s::bigint[], %(addresses)s::text[], %(actor)s, %(seconds)s);

-- name: address_of_wa_id
-- Which recipient WhatsApp knows by a number.
select address from outbound.pair where tenant_id = %(tenant_id)s and sender_id = %(sender_id)s and wa_id = %(wa_id)s
    order by counted_at desc limit 1;

-- name: pause_pair
-- Lets nothing more go to a recipient for a while.
insert into outbound.pair (tenant_id, sender_id, address, paused_until)
    values (%(tenant_id)s, %(sender_id)s, %(address)s, %(until)s)
on conflict (tenant_id, sender_id, address) do update
    set paused_until = greatest(outbound.pair.paused_until, excluded.paused_until);

-- name: end_attempt
-- How an attempt ended.
select outbound.end_attempt(%(tenant_id)s, %(message_id)s, %(attempt_no)s, %(status)s, %(error_code)s, %(error_class)s,
    %(error_message)s, %(provider_response)s, %(next_retry_at)s, %(counted)s);

-- name: settle_taken
-- The provider took attempts; their messages are locked in the order of their ids.
select outbound.settle_taken(array(select t from jsonb_populate_recordset(null::outbound.told, %(told)s) t), %(actor)s);

-- name: note_taken
-- A provider says that it has messages of a tenant.
select outbound.note_taken(%(tenant_id)s,
    array(select t from jsonb_populate_recordset(null::outbound.told, %(told)s) t), %(actor)s);

-- name: note_delivered
-- A provider says that messages of a tenant arrived.
select outbound.note_delivered(%(tenant_id)s,
    array(select t from jsonb_populate_recordset(null::outbound.told, %(told)s) t), %(actor)s, %(told_by)s);

-- name: find_told
-- What lines of callbacks speak of; the messages are held until the end of the transaction.
select n, id, status, attempt_no, attempt_status, error_code, is_alone, is_known
from outbound.find_told(%(tenant_ids)s::text[], %(ids)s::uuid[], %(provider_ids)s::text[], %(numbers)s::integer[],
    %(providers)s::text[], %(reported)s::text[], %(ats)s::timestamptz[], %(codes)s::text[]);

-- name: note_told
-- What lines of callbacks mean for messages that are held.
select outbound.note_told(array(select t from jsonb_populate_recordset(null::outbound.told, %(told)s) t), %(actor)s,
    %(told_by)s);

-- name: attempt_told
-- The attempt that a callback speaks of, the last if it names none; and whether another one goes on or was taken.
select a.attempt_no, a.status, a.error_code, not exists (
    select from outbound.attempt b where b.tenant_id = a.tenant_id and b.message_id = a.message_id
    and b.attempt_no <> a.attempt_no
    and b.status in ('TRYING', 'SUCCESS')) as alone
from outbound.attempt a
where a.tenant_id = %(tenant_id)s and a.message_id = %(message_id)s
    and (%(attempt_no)s::integer is null or a.attempt_no = %(attempt_no)s)
order by a.attempt_no desc limit 1;

-- name: open_attempt
-- Whether an attempt is still without an end.
select attempt_no from outbound.attempt
where tenant_id = %(tenant_id)s and message_id = %(message_id)s and attempt_no = %(attempt_no)s and status = 'TRYING';

-- name: doubt_attempt
-- Nobody knows how an attempt ended.
update outbound.attempt set unknown_since = ostinato.now(), error_message = %(error_message)s
where tenant_id = %(tenant_id)s and message_id = %(message_id)s and attempt_no = %(attempt_no)s and status = 'TRYING';

-- name: doubt_message
-- Waits for the callback of a message until a time.
update outbound.message set unknown_until = %(until)s, next_retry_at = %(until)s, waits_for = 'UNKNOWN_OUTCOME',
    updated_at = ostinato.now()
where tenant_id = %(tenant_id)s and id = %(id)s;

-- name: note_provider_id
-- Stores the provider's id of a message.
update outbound.message set provider_message_id = %(provider_message_id)s, updated_at = ostinato.now()
where tenant_id = %(tenant_id)s and id = %(id)s and provider_message_id is null;

-- name: note_read
-- Stores when a message was read.
update outbound.message set read_at = coalesce(read_at, %(at)s) where tenant_id = %(tenant_id)s and id = %(id)s;

-- name: convert
-- Makes a message one with a template.
update outbound.message set template_code = %(template_code)s, payload = %(payload)s, updated_at = ostinato.now()
where tenant_id = %(tenant_id)s and id = %(id)s;

-- name: emit_status
-- Emits the event of a message that reached a status.
select outbound.emit_status(%(tenant_id)s, array[%(id)s::uuid], %(status)s, %(reason)s);

-- name: note_message
-- Audit and timeline of a step of a message.
select outbound.note_message(%(tenant_id)s, %(message_id)s, %(action)s, %(actor)s, %(status)s, %(details)s, %(note)s);

-- name: note_audit
-- Audit of something else.
select outbound.note_audit(%(tenant_id)s, %(action)s, %(actor)s, %(consent_id)s, %(dossier_id)s, %(subject_id)s,
    %(details)s, %(status)s, %(channel)s, %(template_code)s, %(note)s);

-- name: audit
-- A page of the audit, newest first.
select id, at, action, actor, message_id, consent_id, dossier_id, subject_id, correlation_id, details
    from outbound.audit_event
where tenant_id = %(tenant_id)s and (%(message_id)s::uuid is null or message_id = %(message_id)s)
    and (%(dossier_id)s::text is null or dossier_id = %(dossier_id)s)
  and (%(action)s::text is null or action = %(action)s) and (%(before)s::bigint is null or id < %(before)s)
order by id desc limit %(most)s;

-- name: timeline
-- A page of a dossier's timeline, newest first.
select id, at, activity_code, message_id, channel, template_code, status, note from outbound.activity
where tenant_id = %(tenant_id)s and dossier_id = %(dossier_id)s and (%(before)s::bigint is null or id < %(before)s)
order by id desc limit %(most)s;

-- name: add_callback
-- The bytes of a callback, and the job that reads them.
select id, received_at from outbound.add_callback(%(provider)s, %(url)s, %(content_type)s, %(body)s, %(tenant_id)s,
    queue => %(queue)s, correlation_id => %(correlation_id)s);

-- name: callback
-- A callback.
select * from outbound.callback where id = %(id)s;

-- name: callbacks
-- Callbacks that nobody has worked through, in the order in which they came.
select * from outbound.callback where id = any (%(ids)s::bigint[]) and processed_at is null order by id;

-- name: end_callback
-- A callback was worked through: its bytes go.
select outbound.end_callback(%(id)s, %(lines)s, %(ignored)s);

-- name: end_callbacks
-- Callbacks were worked through: their bytes go.
select outbound.end_callback(w.id, w.lines, w.ignored)
from unnest(%(ids)s::bigint[], %(lines)s::integer[], %(ignored)s::integer[]) as w (id, lines, ignored);

-- name: add_callback_line
-- A line of a callback, unless it came before.
insert into outbound.callback_line (tenant_id, provider, provider_message_id, status, at, error_code)
values (%(tenant_id)s, %(provider)s, %(provider_message_id)s, %(status)s, %(at)s, %(error_code)s) on conflict do nothing
    returning status;

-- name: refuse_callback
-- Counts a callback that was refused.
select outbound.refuse_callback(%(provider)s, %(reason)s);

-- name: add_inbound
-- An inbound message, unless it came before.
insert into outbound.inbound (tenant_id, sender_id, provider, provider_message_id, from_address, kind, body, asked,
    received_at)
values (%(tenant_id)s, %(sender_id)s, %(provider)s, %(provider_message_id)s, %(from_address)s, %(kind)s, %(body)s,
    %(asked)s, %(received_at)s)
on conflict (tenant_id, provider, provider_message_id) do nothing returning id;

-- name: inbound_messages
-- A page of what people wrote, newest first.
select i.id, i.sender_id, s.channel, i.from_address, i.kind, i.body, i.asked, i.received_at
from outbound.inbound i join outbound.sender s on s.tenant_id = i.tenant_id and s.id = i.sender_id
where i.tenant_id = %(tenant_id)s and (%(from_address)s::text is null or i.from_address = %(from_address)s)
    and (%(before)s::bigint is null or i.id < %(before)s)
order by i.id desc limit %(most)s;

-- name: suppress
-- Remembers that nothing more is wanted at an address; the last word counts. A trigger seals what stands for it.
insert into outbound.suppression (tenant_id, channel, purpose, address_mac, source, since)
select %(tenant_id)s, %(channel)s, p, %(address_mac)s, %(source)s, %(since)s from unnest(%(purposes)s::text[]) p
on conflict (tenant_id, channel, purpose, address_mac) do update set source = excluded.source, since = excluded.since
where outbound.suppression.since < excluded.since;

-- name: lift_suppression
-- Lifts the suppressions of an address that are older than a new consent.
delete from outbound.suppression
where tenant_id = %(tenant_id)s and channel = %(channel)s and purpose = any (%(purposes)s)
    and address_mac in (select outbound.sealed_address(a) from unnest(%(address_macs)s::bytea[]) a) and since < %(at)s
returning purpose;

-- name: suppressed_since
-- Returns since when an address is suppressed, for one of some purposes.
select max(since) as since from outbound.suppression
where tenant_id = %(tenant_id)s and channel = %(channel)s and purpose = any (%(purposes)s)
    and address_mac in (select outbound.sealed_address(a) from unnest(%(address_macs)s::bytea[]) a);

-- name: prune
-- Forgets the bytes of callbacks and what guards against their repetition, when no provider repeats them any more; what
-- people wrote; how fast somebody may be written to. Suppressions last for years.
with a as (delete from outbound.callback where processed_at < ostinato.now() - make_interval(days => %(days)s)
    returning 1), u as (delete from outbound.callback where processed_at is null
    and received_at < ostinato.now() - make_interval(days => 3 * %(days)s) returning 1),
    b as (delete from outbound.callback_line where recorded_at < ostinato.now() - make_interval(days => %(days)s)
    returning 1), c as (delete from outbound.refused_callback
    where minute < ostinato.now() - make_interval(days => %(days)s) returning 1),
    d as (delete from outbound.inbound where recorded_at < ostinato.now() - make_interval(days => %(days)s)
    returning 1), e as (delete from outbound.pair where counted_at < ostinato.now() - make_interval(days => %(days)s)
    and wa_id is null
           and (paused_until is null or paused_until < ostinato.now()) returning 1),
     f as (delete from outbound.suppression where since < ostinato.now() - make_interval(years => %(suppression_years)s)
     returning 1)
select (select count(*) from a) + (select count(*) from u) + (select count(*) from b) + (select count(*)
    from c) + (select count(*) from d)
     + (select count(*) from e) + (select count(*) from f) as forgotten;

-- name: prune_messages
-- Forgets a batch of messages that ended long ago, with their attempts; audit and timeline, which name nobody, stay.
with old as (
    select tenant_id, id from outbound.message
    where status not in ('QUEUED', 'SENDING') and updated_at < ostinato.now() - make_interval(days => %(days)s)
    order by updated_at limit %(most)s for update skip locked
), attempts as (
    delete from outbound.attempt a using old o where a.tenant_id = o.tenant_id and a.message_id = o.id
), gone as (
    delete from outbound.message m using old o where m.tenant_id = o.tenant_id and m.id = o.id returning 1)
select count(*) as forgotten from gone;

-- name: lost_messages
-- Messages that should have gone by now and that no job sends any more: it was cancelled, or died of a fault of ours.
-- Held until the end of the transaction.
select m.*, s.state as job_state from outbound.message m,
    lateral (select coalesce(ostinato.job_state(m.job_id), 'gone') as state) s
where m.status in ('QUEUED', 'SENDING') and m.updated_at < ostinato.now() - make_interval(mins => %(minutes)s)
  and coalesce(m.next_retry_at, m.updated_at) < ostinato.now() - make_interval(mins => %(minutes)s)
  and s.state not in ('ready', 'scheduled', 'running')
order by m.tenant_id, m.id limit %(most)s for update of m skip locked;

-- name: held_messages
-- A page of the messages that wait for a sender or a template, with their jobs.
select id, job_id from outbound.message
where tenant_id = %(tenant_id)s and status = 'QUEUED' and waits_for = any (%(waits_for)s)
  and (%(sender_id)s::bigint is null or sender_id = %(sender_id)s)
  and (%(template_code)s::text is null or (template_code = %(template_code)s and language = %(language)s))
  and (%(after)s::uuid is null or id > %(after)s) order by id limit %(most)s;

-- name: figures
-- Figures of a tenant.
select name, label, value from outbound.figures(%(tenant_id)s, %(minutes)s);

-- name: panel_counts
-- Counts the messages of the last day by status, of those that the viewer may see; the newest so many.
select status, count(*) as messages from (
    select status from outbound.message where created_at > ostinato.now() - interval '1 day'
    order by created_at desc limit %(most)s) newest
group by status;

-- name: panel_waits
-- Returns what messages wait for, of those that the viewer may see.
select coalesce(waits_for, 'a worker') as waits_for, channel, count(*) as messages, min(next_retry_at) as next_at
from outbound.message where status in ('QUEUED', 'SENDING') group by 1, 2 order by 3 desc, 1, 2 limit 20;

-- name: panel_senders
-- Returns the senders that are held, of those that the viewer may see.
select channel, provider_key, hold_reason, hold_code, held_until from outbound.sender
where held_until > ostinato.now() or outage_since is not null order by held_until desc limit 20;

-- name: panel_failed
-- Counts the messages that failed within the last day by error, of those that the viewer may see.
select error_code, error_class, count(*) as messages, count(dead_lettered_at) as dead_letters
from outbound.message where status = 'FAILED' and failed_at > ostinato.now() - interval '1 day' group by 1, 2
    order by 3 desc, 1 limit 20;

-- name: observe
-- Figures of all tenants together.
select substr(name, 10) as name, label, value from outbound.observe();

-- name: page_messages
-- Returns a page of messages that the viewer may see, newest first.
select tenant_id, id, created_at, channel, purpose, to_address, template_code, status, waits_for, error_code,
    cancel_reason, dossier_id
from outbound.message
where (%(tenant_id)s::text is null or tenant_id = %(tenant_id)s) and (%(status)s::text is null or status = %(status)s)
    and (%(dossier_id)s::text is null or dossier_id = %(dossier_id)s)
    and (%(before_at)s::timestamptz is null or (created_at, id) < (%(before_at)s, %(before_id)s::uuid))
order by created_at desc, id desc limit %(most)s;

-- name: page_senders
-- Returns the senders that the viewer may see, and whether they may send.
select s.tenant_id, s.id, s.channel, s.provider_key, s.display, s.is_default, s.held_until, s.hold_reason, s.hold_code,
    s.outage_since, outbound.usable(s) as usable, p.proof
from outbound.sender s left join lateral outbound.proof_of(s.tenant_id, s.provider, s.provider_key) p on true
where (%(tenant_id)s::text is null or s.tenant_id = %(tenant_id)s) and s.deleted_at is null
order by s.tenant_id, s.id limit 200;

-- name: page_templates
-- Returns the templates that the viewer may see.
select tenant_id, template_code, language, category, provider_status, is_active, held_until, subject,
    left(body, 200) as body
from outbound.template where %(tenant_id)s::text is null or tenant_id = %(tenant_id)s
order by tenant_id, template_code, language limit 200;

-- name: held_senders
-- Senders that nothing goes out by until somebody fixes what their provider refused; an outage ends by itself.
select s.tenant_id, s.id, s.channel, s.provider_key, s.display, s.hold_reason, s.hold_code, s.held_until,
    (select count(*) from outbound.message m where m.tenant_id = s.tenant_id and m.sender_id = s.id
        and m.status = 'QUEUED') as waiting,
    coalesce((select min(m.updated_at) from outbound.message m where m.tenant_id = s.tenant_id and m.sender_id = s.id
        and m.status = 'QUEUED' and m.waits_for in ('SENDER_HELD', 'HOLD')), s.created_at) as since
from outbound.sender s
where s.held_until > ostinato.now() and s.outage_since is null and s.deleted_at is null
order by s.held_until, s.id limit 50;

-- name: messages_in_doubt
-- Messages of which nobody knows whether they were sent, oldest first.
select m.tenant_id, m.id, m.channel, m.to_address, m.subject, m.template_code, m.failed_at, m.created_at, m.dossier_id
from outbound.message m where m.status = 'FAILED' and m.error_code = %(code)s
order by m.failed_at limit 50;

-- name: count_held_senders
-- How many senders are held.
select count(*) from outbound.sender s
where s.held_until > ostinato.now() and s.outage_since is null and s.deleted_at is null;

-- name: count_in_doubt
-- Counts the messages of which nobody knows whether they were sent; it stops at a thousand.
select count(*) from (
    select from outbound.message m where m.status = 'FAILED' and m.error_code = %(code)s limit 1000) doubtful;
