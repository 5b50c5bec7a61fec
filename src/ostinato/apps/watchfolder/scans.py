"""Draws scans for the demo, the tests and the benchmark: French text, real noise.

The characters that OCR got wrong are counted against the text that was drawn.
"""

import io
import random
import unicodedata
from importlib.resources import files
from typing import Any

ACTE = """ACTE DE CESSION DE PARTS SOCIALES

Entre les soussignés : Madame Hélène Lefèvre, née à Nîmes le 3 août 1961,
demeurant à Besançon, 14 rue de l'Église, d'une part, et Monsieur François
Garçon, né à Orléans, demeurant à Évreux, 7 allée des Chênes, d'autre part.

Il a été préalablement exposé ce qui suit. La société « L'Œuvre du Château »,
au capital de 48 750,00 €, a pour objet l'achat, la création, la réparation
et la vente d'objets d'art. Son siège est fixé à Saint-Étienne.

Article premier. La cédante cède, sous les garanties de droit, cent vingt
parts numérotées de 1 à 120, entièrement libérées. Le cessionnaire déclare
en être propriétaire dès ce jour et reconnaît avoir reçu les statuts.

Article deux. Le prix est fixé à la somme de 6 000,00 €, payée comptant
ce jour, dont quittance. Les frais sont à la charge du cessionnaire.
Fait en trois exemplaires originaux, à Mâcon, le 12 février 2024."""

COMPTE_RENDU = """COMPTE RENDU DE LA RÉUNION DU CONSEIL

La séance est ouverte à neuf heures trente sous la présidence de Mme Noël.
Étaient présents : M. Lévêque, Mme Ségolène Hérault, M. Benoît Maïs.

Le procès-verbal de la séance précédente est adopté à l'unanimité. Le
trésorier présente les résultats de l'exercice : les recettes s'élèvent à
127 480 euros, les dépenses à 119 365 euros, soit un excédent de 8 115 euros.

Le maire rappelle que les travaux de l'école élémentaire commenceront après
les fêtes de Noël. Le goût de l'eau a été contrôlé : aucune anomalie décelée.
Une élue s'inquiète du bruit causé par la nouvelle forêt d'éoliennes.

Prochaine séance fixée au mardi 17 décembre, à dix-huit heures, salle des
fêtes. L'ordre du jour étant épuisé, la séance est levée à onze heures."""

FACTURE = """FACTURE N° 2024-0173

Établissements Dupré et Fils, 22 boulevard Voltaire, 69003 Lyon
Téléphone : 04 78 00 11 22, courriel : contact@dupre.example

Désignation : réfection complète de la toiture, côté nord et pignon
Quantité : 3, prix unitaire hors taxes : 1 284,50 €
Dépose des anciennes tuiles, évacuation comprise : 640,00 €
Fourniture de crochets galvanisés, 250 pièces : 87,35 €

Total hors taxes : 4 580,85 €
Taxe sur la valeur ajoutée à 10 % : 458,09 €
Net à payer : 5 038,94 €, à régler à réception, au plus tard le 30 août.
Pénalités de retard : trois fois le taux d'intérêt légal en vigueur."""

PAGES = (ACTE, COMPTE_RENDU, FACTURE)
A4_INCHES = (8.27, 11.69)
POINTS = 11


def render(
    text: str,
    *,
    dpi: int = 200,
    degrees: float = 0.0,
    noise: float = 0.0,
    turn: int = 0,
    kind: str = "JPEG",
    seed: int = 0,
) -> bytes:
    """Render a page as a scanner would give it; `turn` is in quarter turns clockwise."""
    from PIL import Image, ImageDraw, ImageFont  # noqa: PLC0415 - with the extra "ocr" only

    width, height = (round(inches * dpi) for inches in A4_INCHES)
    page = Image.new("L", (width, height), 255 if not noise else 246)
    font_file = files("ocrmypdf").joinpath("data", "NotoSans-Regular.ttf")
    with font_file.open("rb") as file:
        font = ImageFont.truetype(io.BytesIO(file.read()), round(POINTS * dpi / 72))
    ImageDraw.Draw(page).multiline_text((dpi * 0.8, dpi * 0.9), text, fill=20, font=font, spacing=dpi * 0.06)
    if degrees:
        page = page.rotate(degrees, Image.Resampling.BICUBIC, fillcolor=250)
    if noise:
        page = _noisy(page, noise, seed)
    if turn:
        page = page.rotate(-90 * turn, expand=True)
    made = io.BytesIO()
    options: dict[str, Any] = {"quality": 75} if kind == "JPEG" else {}
    page.save(made, kind, dpi=(dpi, dpi), **options)
    return made.getvalue()


def _noisy(page: Any, noise: float, seed: int) -> Any:  # noqa: ANN401 - a PIL image
    from PIL import Image, ImageChops  # noqa: PLC0415 - as above

    chance = random.Random(seed)  # noqa: S311 - grain of paper
    small = (page.size[0] // 2, page.size[1] // 2)
    grain = Image.frombytes("L", small, chance.randbytes(small[0] * small[1]))
    spread = grain.point(lambda value: int(value * noise)).resize(page.size)
    return ImageChops.subtract(page, spread)


def error_rate(wanted: str, found: str) -> float:
    """Return the characters that differ, in per cent of those wanted; white space counts as one blank."""
    left = _plain(wanted)
    return 100.0 * distance(left, _plain(found)) / max(len(left), 1)


def distance(left: str, right: str) -> int:
    """Return how many characters must be put in, left out or replaced to make one text the other.

    A column of Levenshtein's table at a time, as bits of two numbers: up and down (Myers, 1999).
    """
    if not left:
        return len(right)
    places: dict[str, int] = {}
    for number, letter in enumerate(left):
        places[letter] = places.get(letter, 0) | 1 << number
    mask, last = (1 << len(left)) - 1, 1 << (len(left) - 1)
    up, down, score = mask, 0, len(left)
    for letter in right:
        equal = places.get(letter, 0)
        vertical = equal | down
        across = (((equal & up) + up) ^ up) | equal
        more, less = (down | ~(across | up)) & mask, up & across
        score += bool(more & last) - bool(less & last)
        more, less = (more << 1 | 1) & mask, (less << 1) & mask
        up, down = (less | ~(vertical | more)) & mask, more & vertical
    return score


def _plain(text: str) -> str:
    known = str.maketrans({"\u2019": "'", "\u2018": "'", "\u2013": "-", "\u2014": "-"})
    return " ".join(unicodedata.normalize("NFC", text).translate(known).split())
