"""Invents the companies of the sandbox."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

AUDITOR: Final = "999000029"
ASSOCIATION: Final = "9220"


@dataclass(frozen=True, slots=True)
class Invented:
    """A company that does not exist."""

    siren: str
    name: str
    form: str = "5710"
    form_label: str = "SOCIETE PAR ACTIONS SIMPLIFIEE"
    natural: bool = False
    """A natural person, who trades under the own name."""
    masked: bool = False
    ceased: bool = False
    abroad: bool = False
    """Its head office is in Brussels."""

    @property
    def siret(self) -> str:
        """Its head office, the first of its establishments."""
        return self.sirets[0]

    @property
    def sirets(self) -> list[str]:
        """Its three establishments: the NIC 0001x to 0003x whose last digit makes the sum right."""
        return [
            next(number for digit in range(10) if _sum(number := f"{self.siren}000{nth}{digit}") % 10 == 0)
            for nth in (1, 2, 3)
        ]


NAMED: Final[Mapping[str, Invented]] = {
    company.siren: company
    for company in (
        Invented("999000003", "COMPAGNIE DES ESSAIS"),
        Invented("999000011", "ATELIERS DU FICTIF"),
        Invented("999000029", "AUDIT IMAGINAIRE"),
        Invented("999000037", "LENTEURS REUNIES"),
        Invented("999000045", "HESITATIONS ET FILS"),
        Invented("999000052", "PANNE SECHE"),
        Invented("999000060", "DURAND CLAUDE", form="1000", natural=True, masked=True),
        Invented("999000078", "DISCRETION SAS", masked=True),
        Invented("999000086", "LES AMIS DU TEST", form=ASSOCIATION),
        Invented("999000094", "JETONS PERIMES"),
        Invented("999000102", "FIN DE PARTIE", ceased=True),
        Invented("999000110", "HOMONYMES"),
        Invented("999000128", "PATIENCE INFINIE"),
        Invented("999000136", "PORTES CLOSES"),
        Invented("999000144", "OUTRE QUIEVRAIN", form="3120", abroad=True),
    )
}


def invented(siren: str) -> Invented | None:
    """Return the company of a SIREN: those of `NAMED`, and any other that starts with 998 or 999."""
    known = NAMED.get(siren)
    if known is None and siren.startswith(("998", "999")):
        return Invented(siren, f"SOCIETE {siren[3:]}")
    return known


def _sum(number: str) -> int:
    doubled = [int(d) * (1 + n % 2) for n, d in enumerate(reversed(number))]
    return sum(d - 9 if d > 9 else d for d in doubled)  # noqa: PLR2004 - Luhn
