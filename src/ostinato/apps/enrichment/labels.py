"""Holds nomenclatures: legal forms, activities, roles, countries. A code not in them has no label."""

from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Final


def _table(name: str) -> Mapping[str, str]:
    """Read a nomenclature of INSEE from its file: a code, a tab and its label in each line."""
    lines = files("ostinato.apps.enrichment").joinpath("data", name).read_text(encoding="utf-8").splitlines()
    return MappingProxyType(dict(line.split("\t") for line in lines))


LEGAL_FORMS: Final = _table("legal_forms.tsv")
"""`nature_juridique`: the legal categories of INSEE, level III, of September 2022.

5498 and 5720 are no longer in it; records of INPI still have them.
"""

NAF: Final = _table("naf.tsv")
"""`activite_principale`: the 732 sub-classes of NAF rev. 2, in force from 2008 to the end of 2026."""

ROLES: Final[Mapping[str, str]] = {
    "30": "Gérant",
    "40": "Liquidateur",
    "51": "Président du conseil d'administration",
    "52": "Président du directoire",
    "53": "Directeur général",
    "60": "Président du conseil d'administration et directeur général",
    "61": "Président du conseil de surveillance",
    "63": "Membre du directoire",
    "64": "Membre du conseil de surveillance",
    "65": "Administrateur",
    "66": "Personne ayant le pouvoir d'engager à titre habituel la société",
    "70": "Directeur général délégué",
    "71": "Commissaire aux comptes titulaire",
    "72": "Commissaire aux comptes suppléant",
    "73": "Président de SAS",
    "74": "Associé indéfiniment et solidairement responsable",
    "75": "Associé indéfiniment responsable",
    "99": "Autre",
    "101": "Entrepreneur",
    "205": "Président",
    "206": "Directeur",
    "207": "Trésorier",
    "208": "Secrétaire",
}
"""Roles of the RNE, the frequent ones."""

_ISO: Final = """
AFG AF ALB AL DZA DZ AND AD AGO AO ATG AG ARG AR ARM AM AUS AU AUT AT AZE AZ BHS BS BHR BH
BGD BD BRB BB BLR BY BEL BE BLZ BZ BEN BJ BMU BM BTN BT BOL BO BIH BA BWA BW BRA BR BRN BN
BGR BG BFA BF BDI BI CPV CV KHM KH CMR CM CAN CA CYM KY CAF CF TCD TD CHL CL CHN CN COL CO
COM KM COG CG COD CD CRI CR CIV CI HRV HR CUB CU CYP CY CZE CZ DNK DK DJI DJ DMA DM DOM DO
ECU EC EGY EG SLV SV GNQ GQ ERI ER EST EE SWZ SZ ETH ET FJI FJ FIN FI FRA FR GUF GF PYF PF
ATF TF GAB GA GMB GM GEO GE DEU DE GHA GH GIB GI GRC GR GRL GL GRD GD GLP GP GTM GT GGY GG
GIN GN GNB GW GUY GY HTI HT VAT VA HND HN HKG HK HUN HU ISL IS IND IN IDN ID IRN IR IRQ IQ
IRL IE IMN IM ISR IL ITA IT JAM JM JPN JP JEY JE JOR JO KAZ KZ KEN KE KIR KI PRK KP KOR KR
KWT KW KGZ KG LAO LA LVA LV LBN LB LSO LS LBR LR LBY LY LIE LI LTU LT LUX LU MAC MO MDG MG
MWI MW MYS MY MDV MV MLI ML MLT MT MHL MH MTQ MQ MRT MR MUS MU MYT YT MEX MX FSM FM MDA MD
MCO MC MNG MN MNE ME MAR MA MOZ MZ MMR MM NAM NA NRU NR NPL NP NLD NL NCL NC NZL NZ NIC NI
NER NE NGA NG MKD MK NOR NO OMN OM PAK PK PLW PW PSE PS PAN PA PNG PG PRY PY PER PE PHL PH
POL PL PRT PT PRI PR QAT QA REU RE ROU RO RUS RU RWA RW BLM BL KNA KN LCA LC MAF MF SPM PM
VCT VC WSM WS SMR SM STP ST SAU SA SEN SN SRB RS SYC SC SLE SL SGP SG SVK SK SVN SI SLB SB
SOM SO ZAF ZA SSD SS ESP ES LKA LK SDN SD SUR SR SWE SE CHE CH SYR SY TWN TW TJK TJ TZA TZ
THA TH TLS TL TGO TG TON TO TTO TT TUN TN TUR TR TKM TM TUV TV UGA UG UKR UA ARE AE GBR GB
USA US URY UY UZB UZ VUT VU VEN VE VNM VN VGB VG VIR VI WLF WF ESH EH YEM YE ZMB ZM ZWE ZW
"""
ALPHA_2: Final[Mapping[str, str]] = dict(zip(_ISO.split()[::2], _ISO.split()[1::2], strict=True))
"""Countries as INPI writes them (ISO 3166 alpha-3), as we keep them (alpha-2)."""

COUNTRIES: Final[Mapping[str, str]] = {
    "ALGERIE": "DZ",
    "ALLEMAGNE": "DE",
    "ANDORRE": "AD",
    "AUTRICHE": "AT",
    "BELGIQUE": "BE",
    "BRESIL": "BR",
    "BULGARIE": "BG",
    "CANADA": "CA",
    "CHINE": "CN",
    "CHYPRE": "CY",
    "COTE D'IVOIRE": "CI",
    "CROATIE": "HR",
    "DANEMARK": "DK",
    "EMIRATS ARABES UNIS": "AE",
    "ESPAGNE": "ES",
    "ESTONIE": "EE",
    "ETATS-UNIS": "US",
    "FINLANDE": "FI",
    "FRANCE": "FR",
    "GRECE": "GR",
    "HONGRIE": "HU",
    "INDE": "IN",
    "IRLANDE": "IE",
    "ISRAEL": "IL",
    "ITALIE": "IT",
    "JAPON": "JP",
    "LETTONIE": "LV",
    "LIECHTENSTEIN": "LI",
    "LITUANIE": "LT",
    "LUXEMBOURG": "LU",
    "MALTE": "MT",
    "MAROC": "MA",
    "MONACO": "MC",
    "NORVEGE": "NO",
    "PAYS-BAS": "NL",
    "POLOGNE": "PL",
    "PORTUGAL": "PT",
    "REPUBLIQUE TCHEQUE": "CZ",
    "ROUMANIE": "RO",
    "ROYAUME-UNI": "GB",
    "SENEGAL": "SN",
    "SINGAPOUR": "SG",
    "SLOVAQUIE": "SK",
    "SLOVENIE": "SI",
    "SUEDE": "SE",
    "SUISSE": "CH",
    "TCHEQUIE": "CZ",
    "TUNISIE": "TN",
    "TURQUIE": "TR",
    "UKRAINE": "UA",
}
"""Countries as the search writes them, in French capitals."""
