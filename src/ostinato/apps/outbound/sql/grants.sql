-- Who may do what. A tenant's session accepts messages, keeps consents, templates and the data of Coop Habitat, and
-- reads its own; what providers told of messages, and sending itself, is for workers. Nobody changes or deletes proofs,
-- audit and timeline.
grant usage on schema outbound to ostinato_worker, ostinato_tenant;
revoke all on all tables in schema outbound from ostinato_worker, ostinato_tenant;
revoke execute on all functions in schema outbound from public, ostinato_worker, ostinato_tenant, ostinato_api;

grant select on
    outbound.organisation, outbound.sender, outbound.consent, outbound.consent_event, outbound.template,
    outbound.message, outbound.attempt, outbound.inbound, outbound.audit_event, outbound.activity, outbound.coop_member,
    outbound.coop_contribution, outbound.pair, outbound.suppression, outbound.ownership
to ostinato_worker, ostinato_tenant;
grant insert on
    outbound.organisation, outbound.sender, outbound.consent, outbound.consent_event, outbound.template,
    outbound.message, outbound.audit_event, outbound.activity, outbound.coop_member, outbound.coop_contribution,
    outbound.suppression
to ostinato_worker, ostinato_tenant;
grant update on
    outbound.organisation, outbound.sender, outbound.consent, outbound.template, outbound.message, outbound.coop_member,
    outbound.coop_contribution, outbound.suppression
to ostinato_worker, ostinato_tenant;
grant delete on outbound.suppression to ostinato_worker, ostinato_tenant;

grant insert, update, delete on outbound.ownership to ostinato_worker;
grant insert, update on outbound.attempt, outbound.pair to ostinato_worker;
grant insert, update on outbound.inbound to ostinato_worker;
grant insert on outbound.callback_line to ostinato_worker;
grant select on outbound.callback_line to ostinato_worker;
grant select, insert, update, delete on outbound.callback, outbound.refused_callback to ostinato_worker;
grant delete on
    outbound.callback_line, outbound.inbound, outbound.pair, outbound.message, outbound.attempt
to ostinato_worker;

-- A person who is erased is erased from what came in, and from what providers answered, too.
grant update (body, from_address, provider_message_id) on outbound.inbound to ostinato_tenant;
grant update (provider_response, error_message) on outbound.attempt to ostinato_tenant;
grant delete on outbound.pair, outbound.callback_line to ostinato_tenant;
-- What a person wrote is applied at once, as the tenant whom it is for; only a callback that was signed leads to it.
grant insert on outbound.inbound, outbound.callback_line to ostinato_tenant;
grant select on outbound.callback_line to ostinato_tenant;

grant execute on all functions in schema outbound to ostinato_worker;
-- What the API does before it knows a tenant, figures without one, and what concerns all tenants: whose a sender is.
grant execute on function
    outbound.add_callback, outbound.end_callback, outbound.refuse_callback, outbound.tenant_of_consent,
    outbound.tenants_told_of, outbound.account_of_hook, outbound.observe, outbound.claim_ownership,
    outbound.grant_ownership, outbound.withdraw_ownership, outbound.owners, outbound.accept_messages_as
to ostinato_api;
grant execute on function
    outbound.note_message, outbound.note_messages, outbound.note_audit, outbound.figures, outbound.sealed,
    outbound.sealed_address, outbound.proof_of, outbound.usable, outbound.hears,
    outbound.accept_messages, outbound.consent_refusal, outbound.lanes, outbound.facts, outbound.is_outdated,
    outbound.emit_status, outbound.judge_messages, outbound.add_messages, outbound.note_judged, outbound.start_judged,
    outbound.start_sends, outbound.start_send,
    outbound.start_wake, outbound.start_forget, outbound.start_replan, outbound.start_timers,
    outbound.leave_ownership
to ostinato_tenant;
