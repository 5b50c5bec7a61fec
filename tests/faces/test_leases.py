"""`ostinato leases list | show | release`."""

from tests.faces.conftest import Place, Shell


def acquire(place: Place, name: str = "import", *, ttl: float = 3600, tenant: str | None = None) -> int:
    call = "(ostinato.acquire_lease(%s, 'nightly', %s, tenant_id => %s)).token"
    return int(place.call(call, name, ttl, tenant))


def test_without_leases_the_list_says_so(shell: Shell) -> None:
    assert shell("leases", "list") == "Nobody holds a lease.\n"
    assert shell.json("leases", "list") == {"leases": []}


def test_the_list_shows_who_holds_what(shell: Shell, place: Place) -> None:
    token = acquire(place)
    acquire(place, "other", tenant="t2")
    job = place.call("(ostinato.enqueue_or_attach('report', 'mail.send')).job_id")

    lines = shell("leases", "list").splitlines()
    found = shell.json("leases", "list", "--prefix", "imp")["leases"]

    assert lines[0].split() == ["lease", "tenant", "state", "holder", "since", "ends", "attempt"]
    assert lines[2].split()[:4] == ["import", "default", "held", "nightly"]
    assert f"with job {job}" in lines[3]
    assert [(line["name"], line["token"], line["state"]) for line in found] == [("import", token, "held")]
    assert shell.json("leases", "list", "--tenant", "t2")["leases"][0]["name"] == "other"
    assert len(shell.json("leases", "list", "--most", "1")["leases"]) == 1


def test_one_lease_is_shown_with_what_it_hangs_on(shell: Shell, place: Place) -> None:
    acquire(place)
    job = place.call("(ostinato.enqueue_or_attach('report', 'mail.send')).job_id")

    assert "its holder has it" in shell("leases", "show", "import")
    assert f"{job} (ready)" in shell("leases", "show", "report")
    assert shell.json("leases", "show", "import")["holder"] == "nightly"
    place.call("ostinato.cancel_job(%s)", job)
    assert "its job has ended" in shell("leases", "show", "report")


def test_a_living_lease_is_taken_away_by_force_only(shell: Shell, place: Place) -> None:
    acquire(place)

    assert "lease 'import' is held by nightly" in shell.fails("leases", "release", "import")
    assert shell.json("leases", "release", "import", code=1)["error"]["code"] == "lease_held"
    assert shell("leases", "release", "import", "--force") == "lease import is free\n"
    assert shell.json("leases", "list") == {"leases": []}


def test_a_lease_of_a_tenant_is_named_with_its_tenant(shell: Shell, place: Place) -> None:
    acquire(place, tenant="t2")

    assert "nobody has a lease 'import'" in shell.fails("leases", "release", "import", "--force")
    assert "nobody has a lease" in shell.fails("leases", "show", "import")
    answer = shell.json("leases", "release", "import", "--force", "--tenant", "t2")
    assert answer == {"lease": "import", "released": True}
