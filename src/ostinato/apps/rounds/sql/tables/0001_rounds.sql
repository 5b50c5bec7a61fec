-- Groups with their settings, members and prompts; one round per group and local day; what members do in it; what the jobs did.
--
-- Instants are computed in Python (rules.round_instants) and stored, so that every reader means the same moment. A round obeys the
-- machine `round`; once it is open its instants are fixed, once it has a prompt that is frozen, and once it is closed, or its time
-- is over, nothing in it changes any more, whoever asks.

create table rounds.groups (
    tenant_id  text not null,
    id         bigint not null default ostinato.new_id(),
    name       text not null check (length(name) between 1 and 200),
    is_active  boolean not null default true,
    created_at timestamptz not null default ostinato.now(),
    created_by text,
    primary key (tenant_id, id)
);
create index groups_by_id on rounds.groups (id);

-- Null: as the installation says (settings.py).
create table rounds.group_settings (
    tenant_id             text not null,
    group_id              bigint not null,
    drop_time             time(0) check (drop_time < '24:00'),
    zone                  text check (length(zone) between 1 and 100),
    notifications_enabled boolean not null default true,
    updated_at            timestamptz not null default ostinato.now(),
    primary key (tenant_id, group_id),
    foreign key (tenant_id, group_id) references rounds.groups (tenant_id, id) on delete cascade
);

create table rounds.members (
    tenant_id text not null,
    group_id  bigint not null,
    user_id   text not null check (length(user_id) between 1 and 100),
    mute      boolean not null default false,
    push      boolean not null default true,
    joined_at timestamptz not null default ostinato.now(),
    primary key (tenant_id, group_id, user_id),
    foreign key (tenant_id, group_id) references rounds.groups (tenant_id, id) on delete cascade
);
create index members_by_user on rounds.members (tenant_id, user_id);

create table rounds.group_prompts (
    tenant_id  text not null,
    id         bigint not null default ostinato.new_id(),
    group_id   bigint not null,
    type       text not null check (type in ('question', 'vote', 'challenge')),
    title      text not null check (length(title) between 1 and 200),
    body       text not null default '' check (length(body) <= 4000),
    metadata   jsonb not null default '{}' check (jsonb_typeof(metadata) = 'object'),
    tags       text[] not null default '{}',
    is_active  boolean not null default true,
    created_at timestamptz not null default ostinato.now(),
    primary key (tenant_id, id),
    unique (tenant_id, group_id, id),
    foreign key (tenant_id, group_id) references rounds.groups (tenant_id, id) on delete cascade
);
create index active_prompts on rounds.group_prompts (tenant_id, group_id, id) where is_active;

create table rounds.daily_rounds (
    tenant_id                text not null,
    id                       bigint not null default ostinato.new_id(),
    group_id                 bigint not null,
    scheduled_for_local_date date not null,
    status                   text not null default 'scheduled' check (status in ('scheduled', 'open', 'closed')),
    drop_time                time(0) not null,
    zone                     text not null,
    open_at                  timestamptz not null,
    close_at                 timestamptz not null,
    timed_at                 timestamptz not null default ostinato.now(),
    stale                    boolean not null default false,
    source_prompt_id         bigint,
    resolved_type            text,
    resolved_title           text,
    resolved_body            text,
    resolved_metadata        jsonb,
    resolved_tags            text[],
    missed                   boolean not null default false,
    created_at               timestamptz not null default ostinato.now(),
    opened_at                timestamptz,
    prompted_at              timestamptz,
    closed_at                timestamptz,
    primary key (tenant_id, id),
    constraint one_round_a_day unique (tenant_id, group_id, scheduled_for_local_date),
    foreign key (tenant_id, group_id) references rounds.groups (tenant_id, id),
    foreign key (tenant_id, group_id, source_prompt_id) references rounds.group_prompts (tenant_id, group_id, id),
    -- Not more than that: a country may leave out a whole day, and then both are the same moment.
    check (close_at >= open_at)
);
create index rounds_by_id on rounds.daily_rounds (id);
create index rounds_to_open on rounds.daily_rounds (open_at, id) where status = 'scheduled' and not stale;
create index rounds_to_retime on rounds.daily_rounds (id) where status = 'scheduled' and stale;
create index rounds_to_close on rounds.daily_rounds (close_at, id) where status = 'open';
create index rounds_to_prompt on rounds.daily_rounds (id) where status = 'open' and resolved_title is null;

create table rounds.submissions (
    tenant_id  text not null,
    id         bigint not null default ostinato.new_id(),
    round_id   bigint not null,
    user_id    text not null,
    body       text not null check (length(body) between 1 and 8000),
    created_at timestamptz not null default ostinato.now(),
    updated_at timestamptz not null default ostinato.now(),
    primary key (tenant_id, id),
    unique (tenant_id, round_id, id),
    unique (tenant_id, round_id, user_id),
    foreign key (tenant_id, round_id) references rounds.daily_rounds (tenant_id, id)
);

create table rounds.comments (
    tenant_id     text not null,
    id            bigint not null default ostinato.new_id(),
    round_id      bigint not null,
    submission_id bigint,
    user_id       text not null,
    body          text not null check (length(body) between 1 and 4000),
    created_at    timestamptz not null default ostinato.now(),
    primary key (tenant_id, id),
    foreign key (tenant_id, round_id) references rounds.daily_rounds (tenant_id, id),
    foreign key (tenant_id, round_id, submission_id) references rounds.submissions (tenant_id, round_id, id)
);
create index comments_of_round on rounds.comments (tenant_id, round_id, id);

-- One vote of each member in a round: for a submission, or for a member.
create table rounds.votes (
    tenant_id     text not null,
    round_id      bigint not null,
    user_id       text not null,
    submission_id bigint,
    member_id     text,
    created_at    timestamptz not null default ostinato.now(),
    primary key (tenant_id, round_id, user_id),
    foreign key (tenant_id, round_id) references rounds.daily_rounds (tenant_id, id),
    foreign key (tenant_id, round_id, submission_id) references rounds.submissions (tenant_id, round_id, id),
    check (num_nonnulls(submission_id, member_id) = 1)
);

-- When each job last came to its end; a row each from the beginning, so that one that never ran is noticed.
create table rounds.job_state (
    job           text primary key check (job in ('create', 'open', 'close')),
    known_since   timestamptz not null default ostinato.now(),
    last_ended_at timestamptz
);
insert into rounds.job_state (job) values ('create'), ('open'), ('close');

create table rounds.runs (
    id             bigint primary key default ostinato.new_id(),
    job            text not null references rounds.job_state (job),
    started_at     timestamptz not null,
    ended_at       timestamptz not null,
    groups         integer not null,
    failed         integer not null,
    worst_lateness double precision not null default 0
);
create index runs_by_end on rounds.runs (job, ended_at);

create table rounds.failures (
    tenant_id text not null,
    id        bigint not null default ostinato.new_id(),
    job       text not null references rounds.job_state (job),
    group_id  bigint not null,
    round_id  bigint,
    at        timestamptz not null default ostinato.now(),
    error     text not null,
    primary key (tenant_id, id)
);
create index failures_by_time on rounds.failures (at);

select ostinato.protect_table('rounds.' || t) from unnest(array[
    'groups', 'group_settings', 'members', 'group_prompts', 'daily_rounds', 'submissions', 'comments', 'votes', 'failures']) t;

-- The machine, as machine.py declares it.
select ostinato.install_machine($machine${
    "name": "round",
    "about": "The round of a group for one local day.",
    "states": ["scheduled", "open", "closed"],
    "initial": "scheduled",
    "terminal": ["closed"],
    "transitions": [
        {"from": "scheduled", "event": "open", "to": "open", "guard": "now is open_at or later"},
        {"from": "open", "event": "close", "to": "closed", "guard": "now is close_at or later"}
    ],
    "invariants": [
        {"states": ["open", "closed"], "any": false, "why": "", "text": "opened_at is filled",
         "checks": [{"column": "opened_at", "is": "filled", "value": null}]},
        {"states": ["closed"], "any": false, "why": "it is an archive from then on", "text": "closed_at is filled",
         "checks": [{"column": "closed_at", "is": "filled", "value": null}]}
    ]
}$machine$);
select ostinato.attach_machine('round', 'rounds.daily_rounds', 'id', 'status', 'tenant_id');

-- Refuses to open or close a round before its time, and to change what is fixed: the instants of a round that is open, a prompt
-- that members have seen, anything of one that is closed.
create function rounds.guard_round() returns trigger language plpgsql
set search_path = rounds, pg_catalog, pg_temp as $$
declare
    v_what text;
begin
    if old.status = 'closed' then
        v_what := 'it is closed, and an archive';
    elsif (new.tenant_id, new.group_id, new.scheduled_for_local_date) is distinct from (old.tenant_id, old.group_id, old.scheduled_for_local_date) then
        v_what := 'its group and day stay';
    elsif old.status <> 'scheduled' and (new.open_at, new.close_at, new.drop_time, new.zone, new.opened_at, new.missed)
            is distinct from (old.open_at, old.close_at, old.drop_time, old.zone, old.opened_at, old.missed) then
        v_what := 'its times are fixed since it opened';
    elsif old.resolved_title is not null
          and (new.source_prompt_id, new.resolved_type, new.resolved_title, new.resolved_body, new.resolved_metadata, new.resolved_tags)
              is distinct from
              (old.source_prompt_id, old.resolved_type, old.resolved_title, old.resolved_body, old.resolved_metadata, old.resolved_tags) then
        v_what := 'its prompt is frozen';
    elsif old.status = 'scheduled' and new.status = 'open' and ostinato.now() < new.open_at then
        v_what := format('it opens at %s', new.open_at);
    elsif old.status = 'open' and new.status = 'closed' and ostinato.now() < new.close_at then
        v_what := format('it closes at %s', new.close_at);
    else
        return new;
    end if;
    raise exception using errcode = 'OS409', message = format('round %s cannot be changed so: %s', old.id, v_what),
        detail = json_build_object('round_id', old.id, 'status', old.status), hint = 'Rounds go scheduled, open, closed, each at its time.';
end
$$;
create trigger guard before update on rounds.daily_rounds for each row execute function rounds.guard_round();

-- Refuses whatever members do in a round that is not open, has no prompt yet, or whose time is over. The row of the round is held
-- until the end of the transaction, so that it cannot be closed in between.
create function rounds.guard_taking_part() returns trigger language plpgsql security definer
set search_path = rounds, pg_catalog, pg_temp as $$
declare
    v_row   record;
    v_round rounds.daily_rounds;
    v_state text;
begin
    if tg_op = 'DELETE' then v_row := old; else v_row := new; end if;
    if tg_op = 'UPDATE' and (new.tenant_id, new.round_id, new.user_id) is distinct from (old.tenant_id, old.round_id, old.user_id) then
        raise exception using errcode = 'OS409', message = format('what is said in round %s stays there', old.round_id),
            detail = json_build_object('round_id', old.round_id), hint = 'Say it anew in the other round.';
    end if;
    select r.* into v_round from daily_rounds r where r.tenant_id = v_row.tenant_id and r.id = v_row.round_id for share;
    v_state := case when not found then 'missing'
                    when v_round.status = 'open' and ostinato.now() >= v_round.close_at then 'over'
                    when v_round.status = 'open' and v_round.resolved_title is null then 'without a prompt yet'
                    else v_round.status end;
    if v_state <> 'open' then
        raise exception using errcode = 'OS409', message = format('round %s is %s: no %s are taken', v_row.round_id, v_state, tg_table_name),
            detail = json_build_object('round_id', v_row.round_id, 'status', v_state, 'close_at', v_round.close_at),
            hint = 'Submissions, comments and votes are possible while a round is open.';
    end if;
    return v_row;
end
$$;
create trigger while_open before insert or update or delete on rounds.submissions for each row execute function rounds.guard_taking_part();
create trigger while_open before insert or update or delete on rounds.comments for each row execute function rounds.guard_taking_part();
create trigger while_open before insert or update or delete on rounds.votes for each row execute function rounds.guard_taking_part();

-- Other settings: what is scheduled must be timed anew before it opens, whoever changed them, and however.
create function rounds.note_new_times() returns trigger language plpgsql
set search_path = rounds, pg_catalog, pg_temp as $$
begin
    update daily_rounds r set stale = true
    where r.tenant_id = new.tenant_id and r.group_id = new.group_id and r.status = 'scheduled' and not r.stale;
    return null;
end
$$;
create trigger new_times after update on rounds.group_settings for each row
    when ((old.drop_time, old.zone) is distinct from (new.drop_time, new.zone)) execute function rounds.note_new_times();
create trigger first_times after insert on rounds.group_settings for each row execute function rounds.note_new_times();
