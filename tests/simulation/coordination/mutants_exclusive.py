"""Mutants of leases and idempotency."""

from tests.simulation.mutants import Mutant

LEASES = (
    Mutant(
        "a guard does not ask for the token",
        "guard_lease",
        "if not found or v_lease.token <> guard_lease.token or guard_lease.token is null then",
        "if not found then",
        seed=3,
    ),
    Mutant("a guard does not hold the lease", "guard_lease", "for key share;", ";", seed=3),
    Mutant(
        "a guard does not ask for the attempt",
        "guard_lease",
        "perform ostinato.fence_job(v_lease.job_id, v_lease.job_attempt);",
        "null;",
        seed=49,
    ),
    Mutant(
        "anybody renews a lease",
        "renew_lease",
        "where (l.tenant_id, l.name, l.token) = (v_tenant, renew_lease.name, renew_lease.token)",
        "where (l.tenant_id, l.name) = (v_tenant, renew_lease.name)",
        seed=3,
    ),
    Mutant(
        "a renewal leaves the doubt",
        "renew_lease",
        "renewed_at = ostinato.now(), doubted_at = null,",
        "renewed_at = ostinato.now(),",
        seed=160,
    ),
    Mutant(
        "anybody gives a lease back",
        "release_lease",
        "where (l.tenant_id, l.name, l.token) = (v_tenant, release_lease.name, release_lease.token);",
        "where (l.tenant_id, l.name) = (v_tenant, release_lease.name);",
        seed=3,
    ),
    Mutant(
        "a lease ends without grace",
        "is_lapsed",
        "and (coalesce($4 - $3 > make_interval(secs => $2), false) or not ostinato_internal.in_grace($2))",
        "",
        seed=4,
    ),
    Mutant(
        "a lease has no grace after a gap",
        "in_grace",
        "n.at < t.grace_until + make_interval(secs => $1) or",
        "",
        seed=10,
    ),
    Mutant(
        "a lease never ends",
        "is_lapsed",
        "select ostinato_internal.is_expired($1, $2, $4) and",
        "select false and",
        seed=8,
    ),
    Mutant(
        "a lease of a job never ends",
        "lease_state",
        "v_over := not exists (select from job_unique u where u.job_id = lease.job_id);",
        "v_over := false;",
    ),
    Mutant("a lease is taken without a lock", "take_lease", "for update skip locked;", ";", seed=3),
    Mutant(
        "a lease is taken after a wait, without looking again",
        "take_lease",
        "select l.* into v_lease from lease l where (l.tenant_id, l.name) = (asked.tenant_id,"
        " asked.name) for update skip locked; v_own := ostinato_internal.is_own_lease(v_lease, asked);"
        " if v_lease.name is null or (not v_own and ostinato_internal.lease_state(v_lease)"
        " in ('held', 'late')) then",
        "perform from lease l where (l.tenant_id, l.name) = (asked.tenant_id, asked.name) for update; if false then",
        seed=3,
    ),
    Mutant(
        "the next holder has the same token",
        "take_lease",
        "token = nextval('lease_token_seq')",
        "token = greatest(l.token, 1)",
    ),
    Mutant(
        "the next holder has the same attempt",
        "take_lease",
        "attempt = l.attempt + 1",
        "attempt = greatest(l.attempt, 1)",
    ),
)

IDEMPOTENCY = (
    Mutant(
        "a late holder finishes",
        "finish_idempotent",
        "and i.token = finish_idempotent.token and i.state = 'in_flight';",
        "and i.state = 'in_flight';",
        seed=16,
    ),
    Mutant(
        "anybody renews a key",
        "renew_idempotent",
        "and i.token = renew_idempotent.token and i.state = 'in_flight'",
        "and i.state = 'in_flight'",
        seed=16,
    ),
    Mutant(
        "a late holder frees the key",
        "abandon_idempotent",
        "delete from idempotency i"
        " where (i.tenant_id, i.scope, i.key)"
        " = (v_tenant, abandon_idempotent.scope, abandon_idempotent.key)"
        " and i.token = abandon_idempotent.token and i.state = 'in_flight';",
        "delete from idempotency i"
        " where (i.tenant_id, i.scope, i.key)"
        " = (v_tenant, abandon_idempotent.scope, abandon_idempotent.key);",
        seed=2,
    ),
    Mutant(
        "a key is taken over although it was finished meanwhile",
        "take_key",
        "and (i.token, i.state, i.renewed_at) = (held.token, held.state, held.renewed_at);",
        ";",
        seed=27,
    ),
    Mutant(
        "a key is taken over with the same attempt",
        "take_key",
        "then held.attempt + 1 else 1 end",
        "then held.attempt else 1 end",
        seed=16,
    ),
    Mutant(
        "a key has no grace after an outage",
        "may_take_over",
        "ostinato_internal.is_lapsed(held.renewed_at, held.lease_seconds, held.doubted_at, v_now)",
        "ostinato_internal.is_expired(held.renewed_at, held.lease_seconds, v_now)",
        seed=17,
    ),
    Mutant(
        "a key is never taken over",
        "may_take_over",
        "ostinato_internal.is_lapsed(held.renewed_at, held.lease_seconds, held.doubted_at, v_now)",
        "false",
        seed=1,
    ),
    Mutant(
        "a key is taken over at once",
        "begin_idempotent",
        "or (v_old.state = 'in_flight' and not ostinato_internal.may_take_over(v_old));",
        ";",
    ),
    Mutant(
        "another request goes on with the first one",
        "begin_idempotent",
        "(v_old.expires_at > v_now and ostinato_internal.differing_fields(v_old, v_new) is not null)",
        "false",
        seed=16,
    ),
    Mutant(
        "an answer stands for ever",
        "begin_idempotent",
        "exit when v_old.state = 'done' and v_old.expires_at > v_now;",
        "exit when v_old.state = 'done';",
    ),
    Mutant(
        "tenants share their keys",
        "begin_idempotent",
        "v_tenant constant text := ostinato.tenant(begin_idempotent.tenant_id);",
        "v_tenant constant text := 't1';",
    ),
    Mutant(
        "asking without waiting waits",
        "begin_idempotent",
        "if not wait and not pg_try_advisory_xact_lock(v_lock) then",
        "if false then",
    ),
    Mutant(
        "keys that somebody works on are forgotten",
        "prune_idempotency",
        "when 'in_flight' then ostinato_internal.is_lapsed(d.renewed_at, d.lease_seconds, d.doubted_at, v_now)",
        "when 'in_flight' then true",
        seed=20,
    ),
)
