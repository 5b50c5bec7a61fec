-- The numbers that several functions share, each with its reason. They are immutable functions of SQL, so the planner
-- puts the number itself into a plan. Where Python needs the same number, tests/sql/test_constants.py compares both.

-- The lanes that one look-up holds. Each costs an index probe, so a look-up of all of them stays under a millisecond
-- or two; with more lanes in a queue the next look-up goes on behind the last one served.
create function ostinato_internal.most_lanes() returns integer language sql immutable parallel safe as $$ select 256 $$;

-- The limit keys that one claim of a queue with key limits looks at.
create function ostinato_internal.most_keys() returns integer language sql immutable parallel safe as $$ select 1000 $$;

-- A claim of at most so many jobs is small: it locks few rows, waits for no other claim, and asks an empty queue at the
-- price of one probe. In Python: claimer.SMALL_CLAIM.
create function ostinato_internal.small_claim() returns integer language sql immutable parallel safe as $$ select 32 $$;

-- A look-up of lanes that gave fewer jobs than this was a poor one: its lanes hold next to nothing for the claim.
create function ostinato_internal.poor_look_up() returns integer language sql immutable parallel safe as $$
    select 64 $$;

-- After so many poor look-ups a claim is content with what it has.
create function ostinato_internal.most_poor_look_ups() returns integer language sql immutable parallel safe as $$
    select 4 $$;

-- A job that took so many processes down is suspect: it runs alone. The index ready_suspect has the same number, as
-- `crashes >= 2`: a query that is to use it compares with >=, and the planner sees the number. In Python:
-- buffer.SUSPECT_CRASHES.
create function ostinato_internal.suspect_crashes() returns integer language sql immutable parallel safe as $$
    select 2 $$;

-- So long a process that died is evidence that not the job alone ends processes, in seconds.
create function ostinato_internal.death_seconds() returns integer language sql immutable parallel safe as $$
    select 3600 $$;

-- While other processes die too, a job is buried only after so many times `max_crashes`.
create function ostinato_internal.doubt_factor() returns integer language sql immutable parallel safe as $$
    select 3 $$;

-- The bytes of the args of a job, the payload of an event, or an idempotent answer. In Python: MAX_ARGS_BYTES.
create function ostinato_internal.most_bytes() returns integer language sql immutable parallel safe as $$
    select 262144 $$;

-- The bytes of the args of a schedule: firing adds scheduled_for, and needs room for it. In Python:
-- schedules.MAX_ARGS_BYTES.
create function ostinato_internal.most_schedule_bytes() returns integer language sql immutable parallel safe as $$
    select 260000 $$;

-- The streams that one call emits to: it locks each until the commit, and the server has room for some thousand locks.
create function ostinato_internal.most_streams() returns integer language sql immutable parallel safe as $$
    select 1000 $$;

-- The bytes of the hashes of a request's fields.
create function ostinato_internal.most_field_bytes() returns integer language sql immutable parallel safe as $$
    select 65536 $$;

-- The characters of a name: a kind, a queue, a tenant, a key. In Python: LONGEST_NAME and its like.
create function ostinato_internal.longest_name() returns integer language sql immutable parallel safe as $$
    select 200 $$;

-- So many ready jobs of a queue are counted.
create function ostinato_internal.ready_cap() returns integer language sql immutable parallel safe as $$
    select 10000 $$;

-- So many scheduled jobs, dead ones, leases or events without a position are counted.
create function ostinato_internal.place_cap() returns integer language sql immutable parallel safe as $$
    select 100000 $$;

-- So many jobs of a line are counted.
create function ostinato_internal.line_cap() returns integer language sql immutable parallel safe as $$ select 1000 $$;

-- The ids of a day: an id is its day times this, and then a sequence. A week has seven times as many.
create function ostinato_internal.ids_of_a_day() returns bigint language sql immutable parallel safe as $$
    select 10000000000 $$;

-- The id that no other is above: where a page of the newest begins.
create function ostinato_internal.last_id() returns bigint language sql immutable parallel safe as $$
    select 9223372036854775807 $$;

-- The rows that a list without pages has at the most.
create function ostinato_internal.most_rows() returns integer language sql immutable parallel safe as $$ select 1000 $$;

-- The missed slots that a schedule counts, and the most that it may fire.
create function ostinato_internal.most_catch_up() returns integer language sql immutable parallel safe as $$
    select 1000 $$;

-- The slots of a schedule that one call looks at.
create function ostinato_internal.most_slots() returns integer language sql immutable parallel safe as $$
    select 10000 $$;

-- The characters of a text that people write or read: a reason, a description, a target, an answer.
create function ostinato_internal.longest_text() returns integer language sql immutable parallel safe as $$
    select 1000 $$;

-- The characters of the id of a message that is received.
create function ostinato_internal.longest_message_id() returns integer language sql immutable parallel safe as $$
    select 256 $$;

-- The characters of an error that is kept beside a row.
create function ostinato_internal.longest_error() returns integer language sql immutable parallel safe as $$
    select 500 $$;

-- The bytes of what is kept beside a row: the headers of an endpoint, the reason of a transition.
create function ostinato_internal.most_note_bytes() returns integer language sql immutable parallel safe as $$
    select 8192 $$;

-- The bytes of the result of a step. In Python: MAX_RESULT_BYTES.
create function ostinato_internal.most_result_bytes() returns integer language sql immutable parallel safe as $$
    select 1048576 $$;

-- After so many tries that another session undid, a loop is taken for one that does not end.
create function ostinato_internal.most_tries() returns integer language sql immutable parallel safe as $$ select 100 $$;

-- What a key without a limit has room for: more than any claim wants.
create function ostinato_internal.no_limit() returns integer language sql immutable parallel safe as $$
    select 1000000 $$;

-- A year, in seconds: the longest that an overlap of secrets, or the window of a rate, may be.
create function ostinato_internal.year_seconds() returns integer language sql immutable parallel safe as $$
    select 31536000 $$;

-- The expiry of a worker that says none, in seconds. In Python: the setting expiry_seconds.
create function ostinato_internal.usual_expiry() returns integer language sql immutable parallel safe as $$
    select 15 $$;

-- A longer silence between two ticks is an outage, in seconds: nearly half of an expiry, because workers beat at least
-- every third of theirs.
create function ostinato_internal.gap_seconds(expiry double precision) returns double precision
language sql immutable parallel safe as $$ select $1 * 7 / 15 $$;
