"""Holds nomenclatures: legal forms, roles, countries. A code that is not here has no label."""

from collections.abc import Mapping
from typing import Final

LEGAL_FORMS: Final[Mapping[str, str]] = {
    "1000": "Entrepreneur individuel",
    "3120": "Société commerciale étrangère immatriculée au RCS",
    "5202": "Société en nom collectif",
    "5306": "Société en commandite simple",
    "5308": "Société en commandite par actions",
    "5410": "SARL nationale",
    "5458": "SARL coopérative ouvrière de production (SCOP)",
    "5485": "Société d'exercice libéral à responsabilité limitée",
    "5498": "SARL unipersonnelle",
    "5499": "Société à responsabilité limitée (sans autre indication)",
    "5510": "SA nationale à conseil d'administration",
    "5515": "SA d'économie mixte à conseil d'administration",
    "5599": "SA à conseil d'administration (s.a.i.)",
    "5699": "SA à directoire (s.a.i.)",
    "5710": "Société par actions simplifiée",
    "5720": "Société par actions simplifiée à associé unique",
    "5785": "Société d'exercice libéral par actions simplifiée",
    "5800": "Société européenne",
    "6220": "Groupement d'intérêt économique",
    "6316": "Coopérative d'utilisation de matériel agricole en commun",
    "6317": "Société coopérative agricole",
    "6521": "Société civile de placement collectif immobilier",
    "6533": "Groupement agricole d'exploitation en commun",
    "6534": "Groupement foncier agricole",
    "6540": "Société civile immobilière",
    "6541": "Société civile immobilière de construction-vente",
    "6589": "Société civile de moyens",
    "6597": "Société civile d'exploitation agricole",
    "6598": "Exploitation agricole à responsabilité limitée",
    "6599": "Autre société civile",
    "7113": "Ministère",
    "7210": "Commune et commune nouvelle",
    "7220": "Département",
    "7230": "Région",
    "7344": "Métropole",
    "7346": "Communauté de communes",
    "7348": "Communauté d'agglomération",
    "7361": "Centre communal d'action sociale",
    "7364": "Établissement d'hospitalisation",
    "7371": "Office public d'habitation à loyer modéré",
    "7389": "Établissement public national à caractère administratif",
    "7410": "Groupement d'intérêt public",
    "8210": "Mutuelle",
    "8310": "Comité social économique d'entreprise",
    "8410": "Syndicat de salariés",
    "9110": "Syndicat de copropriété",
    "9220": "Association déclarée",
    "9223": "Groupement d'employeurs",
    "9230": "Association déclarée, reconnue d'utilité publique",
    "9260": "Association de droit local",
    "9300": "Fondation",
    "9900": "Autre personne morale de droit privé",
}
"""`nature_juridique` of INSEE, the common ones."""

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
