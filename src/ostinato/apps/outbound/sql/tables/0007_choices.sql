-- What an organisation chooses: its hours, its days of reminders, and of a sender how fast it sends, whether it is the usual one, and what
-- is done when nobody knows whether something was sent.

alter table outbound.organisation
    add column opens time not null default '08:00',
    add column closes time not null default '21:00',
    add column marketing_opens time not null default '08:00',
    add column marketing_closes time not null default '20:00',
    -- Days from the due date of a contribution: before it a reminder, after it a follow-up.
    add column reminder_days integer[] not null default '{-3,-1,1,7}',
    add constraint hours check (opens < closes and marketing_opens < marketing_closes);

alter table outbound.sender
    -- Null: as its provider has it.
    add column on_unknown text check (on_unknown in ('hold', 'resend')),
    add column is_default boolean not null default false,
    -- Messages a second; null: as its channel has it.
    add column rate double precision check (rate > 0),
    add column next_turn_at timestamptz,
    -- Its messages stay, so its row does.
    add column deleted_at timestamptz;
create unique index sender_default on outbound.sender (tenant_id, channel) where is_default;

-- The turn of a message at a sender with a rate of its own.
alter table outbound.message add column turn_at timestamptz;
