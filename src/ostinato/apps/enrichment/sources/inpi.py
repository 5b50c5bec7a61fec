"""INPI, Registre national des entreprises: a record for an account, by a token that expires.

    POST /sso/login                 five times in 30 seconds, then a ban of ten minutes
    GET  /companies/{siren}         10,000 files a day

Because logging in is limited itself, the token is in the database, sealed: one worker logs in while
the others wait for it, it is renewed once when it is refused, and a sixth login is never tried.
"""

import asyncio
import base64
import binascii
import json
from collections.abc import Iterator
from typing import Any, Final

import httpx

from ostinato import database
from ostinato.apps.enrichment.labels import ALPHA_2, LEGAL_FORMS, ROLES
from ostinato.apps.enrichment.model import ErrorCode, SourceApi, SourceError
from ostinato.apps.enrichment.queries import QUERIES
from ostinato.apps.enrichment.rules import is_retryable
from ostinato.apps.enrichment.sources.reading import (
    COMPANY,
    PARTIAL,
    PERSON,
    Director,
    Json,
    at,
    director,
    listed,
    text,
    words,
)
from ostinato.apps.enrichment.sources.source import Pace, Source
from ostinato.apps.enrichment.wire import Reply, Wire
from ostinato.settings import Section, section, setting

USUAL_SECONDS: Final = 3000.0
MARGIN_SECONDS: Final = 60.0
LOOK_SECONDS: Final = 0.05
NAF_LENGTH: Final = 5
ENTREPRENEUR: Final = "101"


@section("enrichment")
class InpiSettings(Section):
    """The settings of INPI."""

    inpi_url: str = setting("https://registre-national-entreprises.inpi.fr/api", "INPI, Registre national.")
    inpi_username: str = setting("", "The account at INPI; without one it is not called.")
    inpi_password: str = setting("", "Its password.")
    inpi_per_second: float = setting(5.0, "Calls to INPI, at most.", low=0.01, high=100_000)
    inpi_per_day: int = setting(10_000, "Files of INPI in a day, at most: its quota.", low=1, high=1_000_000_000)


class Inpi(Source):
    """INPI."""

    api = SourceApi.INPI
    doc_type = "RNE_FORMALITY"
    credentials = ("inpi_username", "inpi_password")

    def pace(self, settings: InpiSettings) -> Pace:
        return Pace(settings.inpi_per_second, settings.inpi_per_day)

    async def ask(self, wire: Wire, siren: str, *, probe: bool) -> Reply:  # noqa: ARG002 - any call is one
        """Ask as `Source.ask`; after a 401 once more, with a new token."""
        token = await self._token(wire, None)
        if isinstance(token, Reply):
            return token
        reply = await self._get(wire, siren, token)
        if reply.status == httpx.codes.UNAUTHORIZED:
            token = await self._token(wire, token)
            reply = token if isinstance(token, Reply) else await self._get(wire, siren, token)
        return reply

    def about(self, payload: Json) -> str | None:
        return text(payload, "siren")

    def fields(self, payload: Json) -> dict[str, str | None]:
        """Return the fields as `Source.fields`; records are incomplete for weeks after a company was made."""
        formality = at(payload, "formality")
        content = at(formality, "content")
        person = _person(content)
        company = at(person, "identite", "entreprise")
        creation = at(content, "natureCreation")
        address = at(person, "adresseEntreprise", "adresse")
        main = at(person, "etablissementPrincipal")
        form = text(formality, "formeJuridique") or text(creation, "formeJuridique") or text(company, "formeJuridique")
        return {
            "legal_name": text(company, "denomination") or _own_name(person),
            "trade_name": text(company, "nomCommercial"),
            "brand_name": text(main, "descriptionEtablissement", "enseigne"),
            "legal_form_code": form,
            "legal_form": LEGAL_FORMS.get(form or ""),
            "creation_date": text(creation, "dateCreation") or (text(company, "dateImmat") or "")[:10],
            "active_status": "C"
            if text(person, "detailCessationEntreprise", "dateRadiation")
            else text(content, "natureCessationEntreprise", "etatAdministratifInsee"),
            "address_line1": words(text(address, name) for name in ("numVoie", "indiceRepetition", "typeVoie", "voie")),
            "address_line2": text(address, "complementLocalisation"),
            "postal_code": text(address, "codePostal"),
            "city": text(address, "commune"),
            "country_code": ALPHA_2.get((text(address, "codePays") or "").upper()),
            "naf_code": _dotted(text(company, "codeApe")),
        }

    def directors(self, payload: Json) -> Iterator[Director]:
        person = _person(at(payload, "formality", "content"))
        if at(person, "identite", "entrepreneur", "descriptionPersonne"):
            yield director(_own_name(person), ROLES.get(ENTREPRENEUR), PERSON)
        for power in listed(person, "composition", "pouvoirs"):
            described = at(power, "individu", "descriptionPersonne")
            company = at(power, "entreprise")
            role = text(power, "roleEntreprise") or text(company, "roleEntreprise") or text(described, "role")
            label = text(power, "libelleRoleEntreprise") or ROLES.get(role or "")
            if company:
                name = text(company, "denomination")
                yield director(name, label, COMPANY, text(company, "siren"))
            elif described:
                yield director(_name(described), label, PERSON)

    def withholds(self, payload: Json) -> bool:
        formality = at(payload, "formality")
        return text(formality, "diffusionINSEE") == PARTIAL or at(formality, "diffusionCommerciale") is False

    async def try_credentials(self, http: httpx.AsyncClient, settings: InpiSettings) -> int | None:
        return (await http.post(**_login_of(settings))).status_code

    async def _get(self, wire: Wire, siren: str, token: str) -> Reply:
        url = f"{wire.settings.inpi_url.rstrip('/')}/companies/{siren}"
        return await wire.get(self.api, url, {"Authorization": f"Bearer {token}"})

    async def _token(self, wire: Wire, refused: str | None) -> str | Reply:
        """Return a token that was not refused, or why there is none."""
        waits = wire.settings.timeout_ms / 1000
        useless: str | None = None  # as it is stored: sealed twice, the same token is not the same text
        while True:
            own = wire.tokens.own(self.api)
            if own is not None and own != refused:
                return own
            async with wire.lend() as conn:
                asked = await QUERIES.one(conn, "ask_token", refused=useless)
            match asked["verdict"]:
                case "token":
                    token = wire.tokens.opened(self.api, asked["token"])
                    if token is not None and token != refused:
                        return token
                    useless = asked["token"]
                    continue
                case "login":
                    return await self._login(wire)
                case "limited":
                    return self._refused(ErrorCode.RATE_LIMIT, "too many logins in 30 seconds")
            waits -= LOOK_SECONDS
            if waits <= 0:
                return self._refused(ErrorCode.TIMEOUT, "another worker's login did not end")
            await asyncio.sleep(LOOK_SECONDS)

    async def _login(self, wire: Wire) -> str | Reply:
        login = _login_of(wire.settings)
        reply = await wire.post(self.api, login["url"], login["json"])
        found = at(reply.payload, "token")
        token = found if reply.status == httpx.codes.OK and isinstance(found, str) else None
        async with wire.lend() as conn:
            now = await database.now(conn)
            seconds = 0.0 if token is None else life_of(token, now.timestamp())
            stored = None if token is None else wire.tokens.sealed(self.api, token, seconds)
            await QUERIES.run(conn, "keep_token", token=stored, seconds=seconds)
        if token is not None:
            return token
        if reply.error is not None:
            return reply
        status = reply.status or 0
        code = self.error_code(status, None) if status != httpx.codes.OK else None
        code = ErrorCode.AUTH_ERROR if code in (None, ErrorCode.NOT_FOUND) else code
        said = f"login was answered with HTTP {status}"
        # A login that is limited is a ban of ten minutes: trying again would make it longer.
        again = is_retryable(code, status) and code is not ErrorCode.RATE_LIMIT
        error = SourceError(code, self.api, status, said, again, reply.retry_after)
        return Reply(status, error=error)

    def _refused(self, code: ErrorCode, said: str) -> Reply:
        return Reply.failed(self.api, code, said, called=False)


def _login_of(settings: InpiSettings) -> dict[str, Any]:
    account = {"username": settings.inpi_username, "password": settings.inpi_password}
    return {"url": f"{settings.inpi_url.rstrip('/')}/sso/login", "json": account}


def life_of(token: str, now: float) -> float:
    """Return the seconds that a token is good for: by its own `exp`, else fifty minutes."""
    try:
        middle = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))
        return max(1.0, float(claims["exp"]) - now - MARGIN_SECONDS)
    except (IndexError, KeyError, TypeError, ValueError, binascii.Error):
        return USUAL_SECONDS


def _person(content: Json) -> Json:
    """Return the one of the three kinds of persons that is there."""
    for name in ("personneMorale", "personnePhysique", "exploitation"):
        if at(content, name):
            return at(content, name)
    return None


def _own_name(person: Json) -> str | None:
    return _name(at(person, "identite", "entrepreneur", "descriptionPersonne"))


def _name(described: Json) -> str | None:
    return words([*listed(described, "prenoms"), text(described, "nom")])


def _dotted(code: str | None) -> str | None:
    """Return `6201Z` as the nomenclature writes it: `62.01Z`."""
    if code is not None and len(code) == NAF_LENGTH and "." not in code:
        return f"{code[:2]}.{code[2:]}"
    return code
