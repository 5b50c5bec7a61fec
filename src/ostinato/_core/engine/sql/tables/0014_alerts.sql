-- Alerts: what is watched, and what was found. The functions are in alerts.sql.
--
--   alert          the declarations of the applications and of the engine, and how their last evaluation went
--   alert_firing   one row for each time that a label of an alert was bad: pending (no fired_at yet), firing, or resolved.
--                  What was bad for less than its time leaves no row; what was resolved stays for the retention time.

create table ostinato_data.alert (
    name           text        collate "C" primary key,
    owner          text        collate "C" not null,  -- the application
    severity       text        collate "C" not null check (severity in ('info', 'warning', 'critical')),
    -- What is measured: a figure of ostinato.observe(), or a function with its parameters.
    figure         text        collate "C",
    function       text        collate "C" check (function ~ '^[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*$'),
    parameters     jsonb       not null default '{}' check (jsonb_typeof(parameters) = 'object'),
    labels         text[]      not null default '{}',  -- only these; none: all
    comparison     text        collate "C" not null check (comparison in ('>', '<')),
    threshold      double precision not null,
    clears_at      double precision not null,
    for_seconds    double precision not null check (for_seconds >= 0),
    clear_seconds  double precision not null check (clear_seconds >= 0),
    tenant_id      text        collate "C",  -- null: each label is a tenant
    message        text        not null,
    remedy         text        not null,
    declared_at    timestamptz not null,
    -- The last evaluation. An alert whose source failed keeps what it had found before.
    evaluated_at   timestamptz,
    failures       integer     not null default 0,
    error          text,
    check ((figure is null) <> (function is null)),
    check (case comparison when '>' then clears_at <= threshold else clears_at >= threshold end)
) with (fillfactor = 50);

create table ostinato_data.alert_firing (
    id            bigint      primary key,
    alert         text        collate "C" not null,
    label         text        collate "C" not null,
    tenant_id     text        collate "C" not null,
    severity      text        collate "C" not null,
    since         timestamptz not null,  -- bad since
    fired_at      timestamptz,
    good_since    timestamptz,
    resolved_at   timestamptz,
    value         double precision not null,
    worst         double precision not null,
    message       text        not null,
    details       json        not null,
    check (fired_at is not null or resolved_at is null)
) with (fillfactor = 50);
-- A label of an alert fires once at a time, whoever evaluates.
create unique index alert_firing_open on ostinato_data.alert_firing (alert, label) where resolved_at is null;
create index alert_firing_alert on ostinato_data.alert_firing (alert, id);
create index alert_firing_resolved on ostinato_data.alert_firing (resolved_at) where resolved_at is not null;

-- An alert as people see it: its declaration, and what is known of it now.
create type ostinato_data.alert_line as (
    name text, owner text, severity text, state text, firing integer, since timestamptz, source text, parameters text, labels text[],
    comparison text, threshold double precision, clears_at double precision, for_seconds double precision, clear_seconds double precision,
    tenant_id text, message text, remedy text, evaluated_at timestamptz, failures integer, error text
);
-- What an evaluation changed.
create type ostinato_data.alert_change as (
    alert text, label text, change text, severity text, tenant_id text, value double precision, message text, firing_id bigint
);

-- Only the engine: what operators of a tenant may see of it, own_alerts says.
select ostinato_data.protect('alert'), ostinato_data.protect('alert_firing');
