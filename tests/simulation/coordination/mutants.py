"""Mutants of leases, idempotency, the outbox, schedules and steps: each must be found."""

from tests.simulation.mutants import Mutant

LEASES = (
    Mutant(
        "a guard does not ask for the token",
        "guard_lease",
        "if not found or v_lease.token <> guard_lease.token or guard_lease.token is null then",
        "if not found then",
    ),
    Mutant("a guard does not hold the lease", "guard_lease", "for key share;", ";"),
    Mutant(
        "a guard does not ask for the attempt",
        "guard_lease",
        "perform ostinato.fence_job(v_lease.job_id, v_lease.job_attempt);",
        "null;",
    ),
    Mutant(
        "anybody renews a lease",
        "renew_lease",
        "where (l.tenant_id, l.name, l.token) = (v_tenant, renew_lease.name, renew_lease.token)",
        "where (l.tenant_id, l.name) = (v_tenant, renew_lease.name)",
    ),
    Mutant(
        "a renewal leaves the doubt",
        "renew_lease",
        "renewed_at = ostinato.now(), doubted_at = null,",
        "renewed_at = ostinato.now(),",
    ),
    Mutant(
        "anybody gives a lease back",
        "release_lease",
        "where (l.tenant_id, l.name, l.token)"
        " = (v_tenant, release_lease.name, release_lease.token);",
        "where (l.tenant_id, l.name) = (v_tenant, release_lease.name);",
    ),
    Mutant(
        "a lease ends without grace",
        "is_lapsed",
        "and (coalesce($4 - $3 > make_interval(secs => $2), false) or not ostinato.in_grace($2))",
        "",
    ),
    Mutant(
        "a lease has no grace after a gap",
        "in_grace",
        "n.at < t.grace_until + make_interval(secs => $1) or",
        "",
    ),
    Mutant(
        "a lease never ends",
        "is_lapsed",
        "select ostinato.is_expired($1, $2, $4) and",
        "select false and",
    ),
    Mutant(
        "a lease of a job never ends",
        "lease_state",
        "v_state is null or v_state in ('done', 'cancelled', 'dead')",
        "v_state is null",
    ),
    Mutant(
        "a lease is taken without a lock",
        "take_lease",
        "for update skip locked;",
        ";",
    ),
    Mutant(
        "a lease is taken after a wait, without looking again",
        "take_lease",
        "select l.* into v_lease from lease l where (l.tenant_id, l.name) = (asked.tenant_id,"
        " asked.name) for update skip locked; v_own := ostinato.is_own_lease(v_lease, asked);"
        " if v_lease.name is null or (not v_own and ostinato.lease_state(v_lease)"
        " in ('held', 'late')) then",
        "perform from lease l where (l.tenant_id, l.name) = (asked.tenant_id, asked.name)"
        " for update; if false then",
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

MUTANTS: tuple[Mutant, ...] = (*LEASES,)
