"""The console of the real API, visited as a browser without scripts does."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from urllib.parse import urlencode

import httpx
import psycopg
import pytest

from ostinato._core.db.embedded import Server, Urls
from tests.api.conftest import Api, api, api_apps, api_database, api_settings
from tests.conftest import copy_of_engine
from tests.sql.engine import Session

__all__ = ["api", "api_apps", "api_database", "api_settings"]

TOKEN = re.compile(r'name="token" value="([0-9a-f]{64})"')


@dataclass
class Visitor:
    """Somebody who is signed in."""

    http: httpx.AsyncClient

    async def get(self, path: str, **options: object) -> httpx.Response:
        """A page, by its path below /console."""
        asked = f"{path}?{urlencode(options)}" if options else path
        return await self.http.get(f"/console{asked}", headers={"Accept": "text/html"})

    async def text(self, path: str, **options: object) -> str:
        """The text of a page that is there."""
        answer = await self.get(path, **options)
        assert answer.status_code == 200, (path, answer.status_code, answer.text[:2000])
        return unescape(re.sub(r"<[^>]+>", " ", answer.text.replace("<wbr>", "")))

    async def token(self) -> str:
        """The token of the forms of this session."""
        found = TOKEN.search((await self.get("/")).text)
        assert found is not None
        return found[1]

    async def send(self, path: str, **form: str) -> httpx.Response:
        """Send a form as a page of this session does."""
        return await self.http.post(f"/console{path}", data={"token": await self.token(), **form})


@dataclass
class Console:
    """The console, to be visited by anybody."""

    api: Api

    def stranger(self) -> Visitor:
        """Somebody who is not signed in."""
        transport = httpx.ASGITransport(self.api.app, raise_app_exceptions=False)
        return Visitor(httpx.AsyncClient(transport=transport, base_url="http://api.test"))

    async def visitor(self, tenant: str = "acme", *roles: str, subject: str = "tester") -> Visitor:
        """Somebody who signed in with a key of that tenant and those roles."""
        someone = self.stranger()
        key = await self.api.key(tenant, *roles, subject=subject)
        answer = await someone.http.post("/console/sign-in", data={"key": key})
        assert answer.status_code == 303, answer.text
        return someone


@pytest.fixture(scope="session")
def api_urls(shared_server: Server) -> Urls:
    """The addresses of a database of the console's own."""
    found = copy_of_engine(shared_server, "console")
    with psycopg.connect(found.admin, autocommit=True) as conn:
        conn.execute("select ostinato.upkeep_partitions(14), ostinato.upkeep_logs(14)")
    return found


@pytest.fixture
def console(api: Api) -> Console:
    return Console(api)


@pytest.fixture
def db_session(api: Api, api_urls: Urls) -> Iterator[Session]:
    session = Session.open(api_urls.worker)
    yield session
    session.close()
