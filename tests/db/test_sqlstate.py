import psycopg
import pytest
from psycopg_pool import PoolTimeout

from ostinato._core.base.errors import DatabaseUnavailable, InvalidInput, LeaseLost, NotConfigured, OstinatoError
from ostinato._core.db.embedded import Urls
from ostinato._core.db.sqlstate import is_lost, is_transient, translate, translated


def raised(url: str, statement: str) -> psycopg.Error:
    with psycopg.connect(url, autocommit=True) as conn, pytest.raises(psycopg.Error) as caught:
        conn.execute(statement)
    return caught.value


def raising(state: str, message: str, detail: str = "", hint: str = "") -> str:
    using = f"errcode = '{state}', message = '{message}', detail = '{detail}', hint = '{hint}'"
    return f"do $$ begin raise exception using {using}; end $$"


def test_an_error_of_our_sql_functions_comes_back_as_our_class(urls: Urls) -> None:
    statement = raising("OS410", "attempt 2 is gone", '{"job_id": 7, "attempt": 2}', "Stop.")

    error = translate(raised(urls.admin, statement))

    assert isinstance(error, LeaseLost)
    assert error.message == "attempt 2 is gone"
    assert error.hint == "Stop."
    assert error.values == {"job_id": 7, "attempt": 2, "sqlstate": "OS410"}


def test_without_a_hint_the_class_gives_its_own(urls: Urls) -> None:
    error = translate(raised(urls.admin, raising("OS410", "gone", "not json")))

    assert error.hint == LeaseLost.hint
    assert error.values["detail"] == "not json"


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("22P05", InvalidInput),
        ("22021", InvalidInput),
        ("54001", InvalidInput),
        ("25006", DatabaseUnavailable),
        ("53300", DatabaseUnavailable),
        ("57P01", DatabaseUnavailable),
        ("57P03", DatabaseUnavailable),
        ("40001", DatabaseUnavailable),
        ("40P01", DatabaseUnavailable),
        ("55P03", DatabaseUnavailable),
        ("42501", NotConfigured),
        ("42883", NotConfigured),
        ("3F000", NotConfigured),
        ("XX000", OstinatoError),
        ("23505", OstinatoError),
    ],
)
def test_what_the_server_reports_becomes_what_the_caller_can_do(
    urls: Urls, state: str, kind: type[OstinatoError]
) -> None:
    error = translate(raised(urls.admin, raising(state, "something")))

    assert type(error) is kind
    assert "something" in error.message
    assert error.values["sqlstate"] == state


def test_a_role_without_rights_is_told_which_role_to_use(urls: Urls) -> None:
    error = translate(raised(urls.tenant, "create schema mine"))

    assert isinstance(error, NotConfigured)
    assert "ostinato db migrate" in str(error)


def test_only_conflicts_between_transactions_are_worth_repeating(urls: Urls) -> None:
    conflict = raised(urls.admin, raising("40P01", "deadlock"))
    mistake = raised(urls.admin, raising("22012", "division by zero"))

    assert is_transient(conflict)
    assert is_transient(translate(conflict))
    assert not is_transient(mistake)
    assert not is_transient(translate(mistake))


def test_an_unreachable_server_is_unavailable() -> None:
    with pytest.raises(DatabaseUnavailable), translated():
        psycopg.connect("host=/nowhere dbname=x")


def test_a_refused_login_is_not_an_outage(urls: Urls) -> None:
    with pytest.raises(NotConfigured, match="does not exist"), translated():
        psycopg.connect(urls.admin.replace("/test_", "/no_such_"))


def test_a_busy_pool_and_a_broken_network_are_unavailable() -> None:
    assert isinstance(translate(PoolTimeout("after 3 s")), DatabaseUnavailable)
    assert isinstance(translate(ConnectionRefusedError(111, "refused")), DatabaseUnavailable)


def test_a_value_that_the_driver_refuses_is_bad_input(urls: Urls) -> None:
    with psycopg.connect(urls.admin) as conn, pytest.raises(InvalidInput), translated():
        conn.execute("select %s", ["a\x00b"])


def test_a_server_that_says_no_is_not_a_lost_connection(urls: Urls) -> None:
    assert not is_lost(raised(urls.admin, raising("40001", "conflict")))
    assert is_lost(psycopg.OperationalError("server closed the connection unexpectedly"))


def test_our_own_errors_stay_what_they_are() -> None:
    error = LeaseLost("gone")

    assert translate(error) is error
