-- The statements of Coop Habitat. Each names its tenant: workers see the rows of all.

-- name: put_member
-- Writes a member of a coop group.
insert into outbound.coop_member (tenant_id, id, group_id, subject_id, dossier_id, name, channel, address, language,
    status, updated_at)
values (%(tenant_id)s, %(id)s, %(group_id)s, %(subject_id)s, %(dossier_id)s, %(name)s, %(channel)s, %(address)s,
    %(language)s, %(status)s, ostinato.now())
on conflict (tenant_id, id) do update set group_id = excluded.group_id, subject_id = excluded.subject_id,
    dossier_id = excluded.dossier_id, name = excluded.name, channel = excluded.channel, address = excluded.address,
    language = excluded.language, status = excluded.status, updated_at = excluded.updated_at;

-- name: member
-- A member.
select * from outbound.coop_member where tenant_id = %(tenant_id)s and id = %(id)s;

-- name: active_members
-- The active members of a group.
select * from outbound.coop_member where tenant_id = %(tenant_id)s and group_id = %(group_id)s and status = 'ACTIVE'
    order by id;

-- name: contribution
-- A contribution, held until the end of the transaction.
select * from outbound.coop_contribution where tenant_id = %(tenant_id)s and id = %(id)s for update;

-- name: open_contributions
-- A page of the contributions that nobody has paid, held until the end of the transaction.
select * from outbound.coop_contribution where tenant_id = %(tenant_id)s and id > %(after)s
    and status in ('PENDING', 'LATE') and paid_date is null order by id limit %(most)s for update;

-- name: put_contribution
-- Writes a contribution.
insert into outbound.coop_contribution (tenant_id, id, member_id, plan_id, plan_version, due_date, amount_due, currency,
    penalty, status, paid_date, updated_at)
values (%(tenant_id)s, %(id)s, %(member_id)s, %(plan_id)s, %(plan_version)s, %(due_date)s, %(amount_due)s, %(currency)s,
    %(penalty)s, %(status)s, %(paid_date)s, ostinato.now())
on conflict (tenant_id, id) do update set member_id = excluded.member_id, plan_id = excluded.plan_id,
    plan_version = excluded.plan_version, due_date = excluded.due_date, amount_due = excluded.amount_due,
    currency = excluded.currency, penalty = excluded.penalty, status = excluded.status, paid_date = excluded.paid_date,
    updated_at = excluded.updated_at;

-- name: set_late
-- A contribution that was not paid by its date.
update outbound.coop_contribution set status = 'LATE', updated_at = ostinato.now()
    where tenant_id = %(tenant_id)s and id = %(id)s and status = 'PENDING';

-- name: local_instant
-- The instant of a local time, by the engine's rule for days on which clocks are moved.
select ostinato.local_instant(%(local)s, %(zone)s, 'shift', 'first') as at, ostinato.now() as now;

-- name: start_timers
-- Writes the timers of a contribution.
select outbound.start_timers(%(tenant_id)s, %(contribution_id)s, %(steps)s::text[], %(times)s::timestamp[], %(zone)s);
