"""The three official sources as the sandbox serves them, with the faults of appendix A by SIREN.

    /registers/search                       API Recherche d'entreprises, 7 calls a second
    /registers/api/sso/login, /companies    INPI, five logins in 30 seconds, then a ban
    /registers/v3/infogreffe/rcs/…          API Entreprise, 250 calls a minute

| SIREN | What it shows |
|---|---|
| 999000003, 999000011, any other 998…, 999… | all three answer |
| 999000029 | RCS answers 429 with Retry-After: 30 |
| 999000037 | INPI does not answer in time |
| 999000045 | INPI 503 twice, then 200 |
| 999000052 | the search answers 503 three times, then 200 |
| 999000060, 999000078 | a masked person, a masked company |
| 999000086 | an association: not in the RCS |
| 999000094 | INPI 401, then 200 with a new token |
| 999000102 | a company that ceased |
| 999000110 | the search answers with another company |
| 999000128 | slow: 25 s in all |
| 999000136 | no connection: it is cut as soon as it is made |

A port listens or it does not, whatever the SIREN: the last one resets the connection instead of
refusing it, which a caller meets in the same way. Every other SIREN is unknown.
"""

import asyncio
import base64
import itertools
import json
import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse

from ostinato.apps.enrichment.sandbox_data import Invented, invented, rcs, record
from ostinato.apps.enrichment.sandbox_search import asked_blocks, refused, unit

__all__ = ["Registers", "Window"]

PREFIX: Final = "/registers"
USER, PASSWORD, RCS_TOKEN = "sandbox@example.test", "sandbox", "sandbox-rcs-token"
RECIPIENT: Final = "99700000500014"
"""A public body that does not exist."""
HOUR: Final = 3600
BAN_AFTER: Final = 20
"""Calls that ignore a 429 until the caller is banned."""

# What the calls for a SIREN meet, in turn and again from the start: a status, seconds before it.
Script = tuple[tuple[int, float], ...]
SEARCH: Final[dict[str, Script]] = {
    "999000052": ((503, 0), (503, 0), (503, 0), (200, 0)),
    "999000128": ((503, 4), (503, 4), (200, 4)),
}
INPI: Final[dict[str, Script]] = {
    "999000037": ((200, 8),),
    "999000045": ((503, 0), (503, 0), (200, 0)),
    "999000094": ((401, 0), (200, 0)),
    "999000128": ((503, 4), (200, 4)),
}
RCS: Final[dict[str, Script]] = {
    "999000029": ((429, 0),),
    "999000128": ((200, 4),),
}
CUT: Final = "999000136"
OTHER: Final = {"999000110": "999000003"}


class Window:
    """So many calls in so many seconds, as the real services count them."""

    def __init__(self, most: int, seconds: float, clock: Callable[[], float]) -> None:
        self.most = most
        self.seconds = seconds
        self._clock = clock
        self._calls: deque[float] = deque()
        self.ignored = 0

    def take(self) -> float | None:
        """Seconds until there is room; None: there is."""
        now = self._clock()
        while self._calls and self._calls[0] <= now - self.seconds:
            self._calls.popleft()
        if len(self._calls) < self.most:
            self._calls.append(now)
            self.ignored = 0
            return None
        self.ignored += 1
        return self._calls[0] + self.seconds - now

    @property
    def left(self) -> int:
        """Calls that are left now."""
        return max(0, self.most - len(self._calls))

    @property
    def ends_in(self) -> float:
        """Seconds until the window that the first call opened ends."""
        opened = self._calls[0] if self._calls else self._clock()
        return max(0.0, opened + self.seconds - self._clock())


class Registers:
    """The stand-in."""

    name = "registers"

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,  # the clock of machines that are not ours
        *,
        scale: float = 1.0,
        limits: tuple[int, int] = (7, 250),
    ) -> None:
        self._clock = clock
        self._wall = wall
        self._scale = scale
        """Of the delays: tests need not wait for 25 s."""
        self._limits = limits
        self.router = APIRouter(prefix=PREFIX, tags=["registers"])
        self.router.get("/search")(self._search)
        self.router.get("/health")(self._health)
        self.router.post("/api/sso/login")(self._login)
        self.router.get("/api/companies/{siren}")(self._company)
        self.router.get("/v3/infogreffe/rcs/unites_legales/{siren}/extrait_kbis")(self._extract)
        self.router.get("/ping/infogreffe/rcs")(self._ping)
        self.reset()

    def reset(self) -> None:
        """Forget who called."""
        per_second, per_minute = self._limits
        self._of_search = Window(per_second, 1, self._clock)
        self._of_login = Window(5, 30, self._clock)
        self._of_rcs = Window(per_minute, 60, self._clock)
        self._banned_until = defaultdict[str, float](float)
        self._turns = defaultdict[tuple[str, str], int](int)
        self._tokens: set[str] = set()
        self.masked: set[str] = set()
        """Companies that asked for their data to be withheld, since the sandbox began."""
        self._numbers = itertools.count(1)

    def settings(self, url: str) -> dict[str, str]:
        """What makes enrichment call this instead of the real ones."""
        base = f"{url.rstrip('/')}{PREFIX}"
        return {
            "OSTINATO_ENRICHMENT_SEARCH_URL": base,
            "OSTINATO_ENRICHMENT_INPI_URL": f"{base}/api",
            "OSTINATO_ENRICHMENT_INPI_USERNAME": USER,
            "OSTINATO_ENRICHMENT_INPI_PASSWORD": PASSWORD,
            "OSTINATO_ENRICHMENT_RCS_URL": base,
            "OSTINATO_ENRICHMENT_RCS_TOKEN": RCS_TOKEN,
            "OSTINATO_ENRICHMENT_RCS_RECIPIENT": RECIPIENT,
        }

    async def _health(self) -> dict[str, str]:
        return {"status": "ok"}

    async def _search(self, request: Request) -> Response:
        query = dict(request.query_params)
        asked = query.get("q", "").replace(" ", "")
        if asked[:9] == CUT or self._is_banned("search"):
            return _cut()
        waits = self._of_search.take()
        if waits is not None:
            # From the front, not from the application: a body that means nothing.
            self._ban_if_ignored("search", self._of_search, 12 * HOUR)
            return HTMLResponse("<h1>429 Too Many Requests</h1>", 429, _after(waits))
        if (said := refused(query)) is not None:
            return JSONResponse({"erreur": said}, 400)
        status = await self._turn("search", asked[:9], SEARCH)
        if status != 200:  # noqa: PLR2004 - HTTP
            return JSONResponse({"erreur": "Erreur interne du serveur."}, status)
        company = self.company(asked[:9])
        found = [] if company is None else [self._unit(company, asked, query)]
        return JSONResponse(
            {
                "results": found,
                "total_results": len(found),
                "page": int(query.get("page", "1")),
                "per_page": int(query.get("per_page", "10")),
                "total_pages": len(found),
            }
        )

    def company(self, siren: str) -> Invented | None:
        """The company of a SIREN, as it is by now."""
        found = invented(siren)
        masked = found is not None and siren in self.masked
        return replace(found, masked=True) if found is not None and masked else found

    def _unit(self, company: Invented, asked: str, query: dict[str, str]) -> dict[str, Any]:
        return unit(
            company,
            siren=OTHER.get(company.siren),
            blocks=asked_blocks(query),
            siret=asked if len(asked) > len(company.siren) else None,
        )

    async def _login(self, request: Request) -> Response:
        if self._is_banned("login"):
            return _inpi(429, "too_many_requests", "Trop de tentatives.", _after(600))
        if self._of_login.take() is not None:
            self._banned_until["login"] = self._clock() + 600
            return _inpi(429, "too_many_requests", "Trop de tentatives.", _after(600))
        told = await request.json()
        if (told.get("username"), told.get("password")) != (USER, PASSWORD):
            return _inpi(
                401, "unauthorized", "Identifiants invalides.", service="LOGIN_AUTHENTICATOR"
            )
        token = self._new_token()
        user = {
            "id": 123,
            "email": USER,
            "firstname": "Service",
            "lastname": "EXEMPLE",
            "roles": ["ROLE_NIVEAU_1_COMPANIES_METADATA", "ROLE_API"],
            "lastLogin": "2026-02-20T11:10:56+02:00",
            "statusHabilitation": "Fait",
            "active": True,
            "originCreation": "SSO_INPI",
        }
        return JSONResponse({"token": token, "user": user})

    async def _company(self, siren: str, request: Request) -> Response:
        if siren == CUT:
            return _cut()
        bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
        if bearer not in self._tokens:
            return _inpi(401, "unauthorized", "Jeton invalide.")
        status = await self._turn("inpi", siren, INPI)
        if status == 401:  # noqa: PLR2004 - HTTP
            self._tokens.discard(bearer)
            return _inpi(401, "unauthorized", "Jeton expiré.")
        if status != 200:  # noqa: PLR2004 - HTTP
            return _inpi(status, "internal_error", "Service indisponible.")
        company = self.company(siren)
        if company is None:
            said = "Impossible de trouver la ressource demandée"
            return _inpi(404, "company_not_found", said, kind="notFound")
        return JSONResponse(record(company))

    async def _ping(self) -> Response:
        at = "2026-02-20T10:00:00Z"
        return JSONResponse({"status": "ok", "last_update": at, "last_ok_status": at})

    async def _extract(  # noqa: PLR0911 - one for each way to refuse
        self,
        siren: str,
        request: Request,
        context: str = "",
        object: str = "",  # noqa: A002 - as the real one
        recipient: str = "",
    ) -> Response:
        if siren == CUT or self._is_banned("rcs"):
            return _cut()
        if request.headers.get("authorization") != f"Bearer {RCS_TOKEN}":
            return self._rcs_error(401, "00101", "Votre jeton n'est pas valide.", "token")
        waits = self._of_rcs.take()
        if waits is not None:
            self._ban_if_ignored("rcs", self._of_rcs, 12 * HOUR)
            return self._rcs_error(429, "00429", "Trop de requêtes.", headers=_after(waits))
        for given, code, name in (
            (context, "00201", "context"),
            (object, "00202", "object"),
            (recipient, "00203", "recipient"),
        ):
            if not given:
                return self._rcs_error(422, code, f"Le paramètre {name} est manquant.", name)
        if not (recipient.isdigit() and len(recipient) == 14):  # noqa: PLR2004 - a SIRET
            return self._rcs_error(422, "00210", "Le recipient n'est pas un SIRET.", "recipient")
        if recipient[:9] == siren:
            return self._rcs_error(422, "00211", "Le recipient est l'appelé.", "recipient")
        status = await self._turn("rcs", siren, RCS)
        if status == 429:  # noqa: PLR2004 - HTTP
            return self._rcs_error(429, "00429", "Trop de requêtes.", headers=_after(30))
        company = self.company(siren)
        if company is None or company.form == "9220":
            return self._rcs_error(404, "02003", "Entité non trouvée.")
        return JSONResponse(rcs(company), headers=self._rcs_headers())

    def _rcs_error(
        self,
        status: int,
        code: str,
        detail: str,
        parameter: str | None = None,
        headers: dict[str, str] | None = None,
    ) -> Response:
        error: dict[str, Any] = {"code": code, "title": "Erreur", "detail": detail, "meta": {}}
        if parameter is not None:
            error["source"] = {"parameter": parameter}
        if code.startswith("02"):
            error["meta"] = {"provider": "Infogreffe"}
        return JSONResponse({"errors": [error]}, status, self._rcs_headers() | (headers or {}))

    def _rcs_headers(self) -> dict[str, str]:
        return {
            "RateLimit-Limit": str(self._of_rcs.most),
            "RateLimit-Remaining": str(self._of_rcs.left),
            "RateLimit-Reset": str(int(self._wall() + self._of_rcs.ends_in)),
        }

    async def _turn(self, source: str, siren: str, scripts: dict[str, Script]) -> int:
        """What this call meets."""
        script = scripts.get(siren, ((200, 0),))
        number = self._turns[source, siren]
        self._turns[source, siren] += 1
        status, seconds = script[number % len(script)]
        await asyncio.sleep(seconds * self._scale)
        return status

    def _is_banned(self, what: str) -> bool:
        return self._clock() < self._banned_until[what]

    def _ban_if_ignored(self, what: str, window: Window, seconds: float) -> None:
        if window.ignored >= BAN_AFTER:
            self._banned_until[what] = self._clock() + seconds

    def _new_token(self) -> str:
        claims = {"exp": int(self._wall()) + HOUR, "jti": next(self._numbers)}
        head, body = ({"alg": "none", "typ": "JWT"}, claims)
        parts = [base64.urlsafe_b64encode(json.dumps(part).encode()) for part in (head, body)]
        token = ".".join(part.decode().rstrip("=") for part in parts) + ".sandbox"
        self._tokens.add(token)
        return token


def _cut() -> Response:
    return Response(headers={"x-sandbox-fault": "reset"})


def _after(seconds: float) -> dict[str, str]:
    return {"Retry-After": str(max(1, round(seconds + 0.499)))}


def _inpi(
    status: int,
    code: str,
    message: str,
    headers: dict[str, str] | None = None,
    *,
    service: str = "api_company",
    kind: str = "error",
) -> Response:
    body = {
        "code": str(status),
        "webserviceCode": service,
        "errorCode": code,
        "message": message,
        "type": kind,
    }
    return JSONResponse(body, status, headers)
