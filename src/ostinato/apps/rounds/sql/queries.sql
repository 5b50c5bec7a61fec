-- The plain statements of rounds. Those of the jobs come first; those of the API are a tenant's, under row-level
-- security.

-- name: zones
-- The zones of active groups, as far as they have their own.
select distinct coalesce(s.zone, %(default_zone)s) as zone from rounds.groups g
left join rounds.group_settings s on s.tenant_id = g.tenant_id and s.group_id = g.id where g.is_active;

-- name: to_create
-- Active groups without a round for the next day in their zone, or for today while its time may be ahead.
select g.tenant_id, g.id as group_id, null::bigint as round_id, null::timestamptz as at, g.id as place
from rounds.groups g left join rounds.group_settings s on s.tenant_id = g.tenant_id and s.group_id = g.id
where g.is_active and g.id > %(after_id)s and exists (
    select from unnest(%(zones)s::text[], %(dates)s::date[], %(known_before)s::timestamptz[], %(walls)s::timestamp[])
        d (zone, day, known_before, wall)
    where d.zone = coalesce(s.zone, %(default_zone)s) and g.created_at < d.known_before
      and d.day + coalesce(s.drop_time, %(default_time)s) > d.wall
      and not exists (
        select from rounds.daily_rounds r
        where r.tenant_id = g.tenant_id and r.group_id = g.id and r.scheduled_for_local_date = d.day))
order by g.id limit %(most)s;

-- name: to_retime
-- Scheduled rounds whose group has other settings now.
select r.tenant_id, r.group_id, r.id as round_id, null::timestamptz as at, r.id as place from rounds.daily_rounds r
where r.status = 'scheduled' and r.stale and r.id > %(after_id)s order by r.id limit %(most)s;

-- name: to_open
-- Scheduled rounds whose time has come. The clock is asked once, here and below: asked for each row it is no bound of
-- the index, and every round that is scheduled at all would be read.
select r.tenant_id, r.group_id, r.id as round_id, r.open_at as at, r.id as place from rounds.daily_rounds r
where r.status = 'scheduled' and not r.stale and r.open_at <= (select ostinato.now())
  and (r.open_at, r.id) > (%(after_at)s::timestamptz, %(after_id)s)
order by r.open_at, r.id limit %(most)s;

-- name: to_prompt
-- Open rounds that wait for a prompt, of groups that have one now.
select r.tenant_id, r.group_id, r.id as round_id, null::timestamptz as at, r.id as place from rounds.daily_rounds r
where r.status = 'open' and r.resolved_title is null and r.close_at > (select ostinato.now()) and r.id > %(after_id)s
  and exists (select from rounds.group_prompts p where p.tenant_id = r.tenant_id and p.group_id = r.group_id
                and p.is_active)
order by r.id limit %(most)s;

-- name: to_close
-- Open rounds whose time is over.
select r.tenant_id, r.group_id, r.id as round_id, r.close_at as at, r.id as place from rounds.daily_rounds r
where r.status = 'open' and r.close_at <= (select ostinato.now())
  and (r.close_at, r.id) > (%(after_at)s::timestamptz, %(after_id)s)
order by r.close_at, r.id limit %(most)s;

-- name: next_opening
-- The next opening within a time.
select min(r.open_at) from rounds.daily_rounds r
where r.status = 'scheduled' and not r.stale and r.open_at > (select ostinato.now())
  and r.open_at < (select ostinato.now() + %(within)s);

-- name: next_closing
-- The next closing within a time.
select min(r.close_at) from rounds.daily_rounds r
where r.status = 'open' and r.close_at > (select ostinato.now()) and r.close_at < (select ostinato.now() + %(within)s);

-- name: begin_creation
-- Which groups of a set need a round, under their locks.
select * from rounds.begin_creation(%(ids)s, %(zones)s::text[], %(dates)s::date[], %(known_before)s::timestamptz[],
    %(walls)s::timestamp[], %(default_zone)s, %(default_time)s, %(recent)s, %(wait)s);

-- name: apply_creation
-- Writes new rounds.
select apply_creation as group_id
from rounds.apply_creation(%(tenant_ids)s::text[], %(group_ids)s::bigint[], %(dates)s::date[],
    %(drop_times)s::time[], %(zones)s::text[], %(open_ats)s::timestamptz[], %(close_ats)s::timestamptz[],
    %(prompt_ids)s::bigint[]);

-- name: begin_retiming
-- Which rounds of a set must be timed anew, under the locks of their groups.
select * from rounds.begin_retiming(%(ids)s, %(default_zone)s, %(default_time)s, %(wait)s);

-- name: apply_retiming
-- Gives rounds their new times.
select apply_retiming as round_id
from rounds.apply_retiming(%(round_ids)s::bigint[], %(drop_times)s::time[], %(zones)s::text[],
    %(open_ats)s::timestamptz[], %(close_ats)s::timestamptz[]);

-- name: begin_opening
-- Which rounds of a set are to be opened, under the locks of their groups.
select * from rounds.begin_opening(%(ids)s, %(recent)s, %(wait)s);

-- name: apply_opening
-- Opens rounds.
select * from rounds.apply_opening(%(round_ids)s::bigint[], %(tenant_ids)s::text[], %(prompt_ids)s::bigint[],
                                   %(missed)s::boolean[], %(by)s, %(correlation_id)s);

-- name: close_rounds
-- Closes rounds, under the locks of their groups.
select * from rounds.close_rounds(%(ids)s, %(wait)s, %(by)s, %(correlation_id)s);

-- name: note_run
-- Notes what a run did.
select rounds.note_run(%(job)s, %(started_at)s, %(groups)s, %(failed)s, %(worst_lateness)s, %(keep)s, %(error)s,
                       %(mended)s);

-- name: note_failure
-- Notes that a group failed, and with what; whether it did not within the last hour.
insert into rounds.failures as f (tenant_id, job, group_id, round_id, error)
values (%(tenant_id)s, %(job)s, %(group_id)s, %(round_id)s, %(error)s)
returning not exists (
    select from rounds.failures e where e.job = f.job and e.group_id = f.group_id
      and e.round_id is not distinct from f.round_id and e.at > ostinato.now() - interval '1 hour');

-- name: figures
-- What the jobs did of late.
select * from rounds.figures(%(period)s);

-- name: failures_by_type
-- Which errors they met.
select * from rounds.failures_by_type(%(period)s);

-- name: round_ids
-- The rounds of a group that are not closed.
select r.id from rounds.daily_rounds r where r.group_id = %(group_id)s and r.status <> 'closed' order by r.id;

-- name: find_group
-- A group by its id or its name, of any tenant, with what its rounds are timed by.
select g.tenant_id, g.id, g.name, g.is_active, s.drop_time, s.zone from rounds.groups g
left join rounds.group_settings s on s.tenant_id = g.tenant_id and s.group_id = g.id
where (g.id::text = %(group)s or g.name = %(group)s) and (%(tenant_id)s::text is null or g.tenant_id = %(tenant_id)s)
order by g.id::text <> %(group)s, g.id limit 2;

-- name: add_group
-- Adds a group.
insert into rounds.groups (tenant_id, name, created_by) values (%(tenant_id)s, %(name)s, %(by)s) returning id;

-- name: change_group
-- Changes a group; what is null stays.
update rounds.groups g set name = coalesce(%(name)s, g.name), is_active = coalesce(%(is_active)s, g.is_active)
where g.id = %(group_id)s returning g.id;

-- name: groups
-- Groups, with their settings: all of the tenant, or those of one member.
select g.id, g.name, g.is_active, g.created_at, s.drop_time, s.zone, s.notifications_enabled,
       (select count(*) from rounds.members m where m.tenant_id = g.tenant_id and m.group_id = g.id) as members,
       exists (select from rounds.members m where m.tenant_id = g.tenant_id and m.group_id = g.id
                 and m.user_id = %(user_id)s) as is_member
from rounds.groups g left join rounds.group_settings s on s.tenant_id = g.tenant_id and s.group_id = g.id
where (%(group_id)s::bigint is null or g.id = %(group_id)s) and g.id > %(after)s and (%(everybody)s or exists (
    select from rounds.members m where m.tenant_id = g.tenant_id and m.group_id = g.id and m.user_id = %(user_id)s))
order by g.id limit %(most)s;

-- name: write_settings
-- Writes the settings of a group.
insert into rounds.group_settings (tenant_id, group_id, drop_time, zone, notifications_enabled)
values (%(tenant_id)s, %(group_id)s, %(drop_time)s, %(zone)s, %(notifications_enabled)s)
on conflict (tenant_id, group_id) do update set drop_time = excluded.drop_time, zone = excluded.zone,
    notifications_enabled = excluded.notifications_enabled, updated_at = ostinato.now();

-- name: lock_group
-- Holds a group, as the jobs do.
select rounds.lock_groups(array[%(group_id)s]::bigint[], true);

-- name: stale_of_group
-- The rounds of a group that must be timed anew.
select r.id from rounds.daily_rounds r where r.group_id = %(group_id)s and r.status = 'scheduled' and r.stale
order by r.id;

-- name: members
-- The members of a group.
select m.user_id, m.mute, m.push, m.joined_at from rounds.members m where m.group_id = %(group_id)s order by m.user_id;

-- name: put_member
-- Adds a member, or changes its preferences; what is null stays.
insert into rounds.members as m (tenant_id, group_id, user_id, mute, push)
values (%(tenant_id)s, %(group_id)s, %(user_id)s, coalesce(%(mute)s, false), coalesce(%(push)s, true))
on conflict (tenant_id, group_id, user_id) do update
set mute = coalesce(%(mute)s, m.mute), push = coalesce(%(push)s, m.push)
returning m.user_id, m.mute, m.push, m.joined_at;

-- name: remove_member
-- Removes a member.
delete from rounds.members m where m.group_id = %(group_id)s and m.user_id = %(user_id)s returning m.user_id;

-- name: prompts
-- The prompts of a group.
select p.id, p.type, p.title, p.body, p.metadata, p.tags, p.is_active, p.created_at from rounds.group_prompts p
where p.group_id = %(group_id)s and p.id > %(after)s and (%(prompt_id)s::bigint is null or p.id = %(prompt_id)s)
order by p.id limit %(most)s;

-- name: add_prompt
-- Adds a prompt to a group.
insert into rounds.group_prompts (tenant_id, group_id, type, title, body, metadata, tags)
values (%(tenant_id)s, %(group_id)s, %(type)s, %(title)s, %(body)s, %(metadata)s, %(tags)s) returning id;

-- name: change_prompt
-- Changes a prompt; what is null stays.
update rounds.group_prompts p set type = coalesce(%(type)s, p.type), title = coalesce(%(title)s, p.title),
    body = coalesce(%(body)s, p.body), metadata = coalesce(%(metadata)s, p.metadata), tags = coalesce(%(tags)s, p.tags),
    is_active = coalesce(%(is_active)s, p.is_active)
where p.group_id = %(group_id)s and p.id = %(prompt_id)s returning p.id;

-- name: rounds
-- Rounds of a group, newest first; or one round, by its id.
select r.id, r.group_id, r.scheduled_for_local_date, r.status, r.drop_time, r.zone, r.open_at, r.close_at, r.missed,
       r.opened_at, r.closed_at, case when r.status <> 'scheduled' then r.resolved_type end as resolved_type,
       case when r.status <> 'scheduled' then r.resolved_title end as resolved_title, r.resolved_body,
       r.resolved_metadata, r.resolved_tags
from rounds.daily_rounds r
where (%(group_id)s::bigint is null or r.group_id = %(group_id)s)
  and (%(round_id)s::bigint is null or r.id = %(round_id)s)
  and (%(status)s::text is null or r.status = %(status)s)
  and r.scheduled_for_local_date < coalesce(%(before)s::date, 'infinity')
order by r.scheduled_for_local_date desc limit %(most)s;

-- name: has_taken_part
-- Whether somebody has submitted or voted in a round.
select exists (select from rounds.submissions s where s.round_id = %(round_id)s and s.user_id = %(user_id)s)
    or exists (select from rounds.votes v where v.round_id = %(round_id)s and v.user_id = %(user_id)s);

-- name: is_member
-- Whether somebody is a member of a group.
select exists (select from rounds.members m where m.group_id = %(group_id)s and m.user_id = %(user_id)s);

-- name: put_submission
-- Submits, or changes what was submitted.
insert into rounds.submissions as s (tenant_id, round_id, user_id, body)
values (%(tenant_id)s, %(round_id)s, %(user_id)s, %(body)s)
on conflict (tenant_id, round_id, user_id) do update set body = excluded.body, updated_at = ostinato.now()
returning s.id, s.user_id, s.body, s.created_at, s.updated_at;

-- name: submissions
-- What was submitted in a round: by all, or by one.
select s.id, s.user_id, s.body, s.created_at, s.updated_at from rounds.submissions s
where s.round_id = %(round_id)s and (%(user_id)s::text is null or s.user_id = %(user_id)s) and s.id > %(after)s
order by s.id limit %(most)s;

-- name: has_submission
-- Whether a submission belongs to a round.
select exists (select from rounds.submissions s where s.round_id = %(round_id)s and s.id = %(submission_id)s);

-- name: add_comment
-- Comments on a round, or on a submission in it.
insert into rounds.comments as c (tenant_id, round_id, submission_id, user_id, body)
values (%(tenant_id)s, %(round_id)s, %(submission_id)s, %(user_id)s, %(body)s)
returning c.id, c.submission_id, c.user_id, c.body, c.created_at;

-- name: comments
-- The comments of a round: of all, or of one.
select c.id, c.submission_id, c.user_id, c.body, c.created_at from rounds.comments c
where c.round_id = %(round_id)s and (%(user_id)s::text is null or c.user_id = %(user_id)s) and c.id > %(after)s
order by c.id limit %(most)s;

-- name: put_vote
-- Votes, or votes otherwise.
insert into rounds.votes as v (tenant_id, round_id, user_id, submission_id, member_id)
values (%(tenant_id)s, %(round_id)s, %(user_id)s, %(submission_id)s, %(member_id)s)
on conflict (tenant_id, round_id, user_id) do update
set submission_id = excluded.submission_id, member_id = excluded.member_id
returning v.submission_id, v.member_id;

-- name: votes
-- How many votes each submission and each member has.
select v.submission_id, v.member_id, count(*) as votes from rounds.votes v
where v.round_id = %(round_id)s group by 1, 2 order by 3 desc, 1, 2 limit 1000;

-- name: page_groups
-- Returns the groups that the viewer may see, by name.
select g.tenant_id, g.id, g.name, g.is_active, s.drop_time, s.zone,
       (select count(*) from rounds.members m where m.tenant_id = g.tenant_id and m.group_id = g.id) as members
from rounds.groups g left join rounds.group_settings s on s.tenant_id = g.tenant_id and s.group_id = g.id
where (%(tenant_id)s::text is null or g.tenant_id = %(tenant_id)s)
  and (%(group_id)s::bigint is null or g.id = %(group_id)s) and g.id > %(after)s
order by g.id limit %(most)s;

-- name: rounds_between
-- The rounds of a group on some local days.
select r.scheduled_for_local_date as day, r.status, r.open_at, r.zone, r.missed, r.opened_at, r.closed_at,
       (select count(*) from rounds.submissions s where s.tenant_id = r.tenant_id and s.round_id = r.id) as submissions
from rounds.daily_rounds r
where r.group_id = %(group_id)s and r.scheduled_for_local_date between %(first)s and %(last)s
order by r.scheduled_for_local_date;

-- name: count_rounds
-- Returns the rounds that are scheduled or open, of those that the viewer may see.
select r.status, count(*) as rounds from rounds.daily_rounds r where r.status in ('scheduled', 'open')
group by r.status order by r.status;
