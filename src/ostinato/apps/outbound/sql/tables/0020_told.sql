-- What a provider says of a message, in its answer or by a callback; `event` is what that means for the message.
create type outbound.told as (
    n                   integer,
    tenant_id           text,
    id                  uuid,
    attempt_no          integer,
    event               text,
    response            jsonb,
    provider            text,
    provider_message_id text,
    status              text,
    wa_id               text,
    at                  timestamptz,
    line_at             timestamptz,
    correlation_id      text,
    is_read             boolean
);
