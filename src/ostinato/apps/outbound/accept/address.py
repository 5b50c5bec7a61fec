"""Normalises recipients as they are stored and compared: E.164 numbers, plain mail addresses."""

import re
import unicodedata
from typing import Final

import phonenumbers
from phonenumbers import NumberParseException, PhoneNumberFormat, PhoneNumberType

from ostinato.apps.outbound.model import Channel, Validation
from ostinato.errors import InvalidInput

_MOBILE: Final = (
    PhoneNumberType.MOBILE,
    PhoneNumberType.FIXED_LINE_OR_MOBILE,
    PhoneNumberType.VOIP,
    PhoneNumberType.PERSONAL_NUMBER,
)
_EMAIL = re.compile(
    r"(?P<local>[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*)"
    r"@(?P<host>(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63})"
)
_SERVICE: Final = re.compile(r"MG[0-9a-fA-F]{32}")
_PHONE_NUMBER_ID: Final = re.compile(r"[0-9]{5,20}")
_SHORT: Final = re.compile(r"[0-9]{3,6}")
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ]{0,10}")
_LONGEST_EMAIL: Final = 254
_LONGEST_LOCAL: Final = 64


def normalised(
    channel: Channel, raw: str, *, region: str = "FR", validation: Validation = "valid", field: str = "to"
) -> str:
    """Return a recipient as it is stored; raises `InvalidInput`, which names the field and not what was given."""
    if channel is Channel.EMAIL:
        return to_email(raw, field)
    return to_number(raw, region, validation, field)


def alike(channel: Channel, raw: str, region: str) -> str:
    """Return a recipient as two requests are compared by it: in E.164 if it can be read, never refused."""
    if channel is Channel.EMAIL:
        name, _, host = raw.strip().rpartition("@")
        return f"{name}@{host.lower()}"
    try:
        number = phonenumbers.parse(raw, region)
    except NumberParseException:
        return raw.strip()
    return phonenumbers.format_number(number, PhoneNumberFormat.E164)


def to_sender(channel: Channel, raw: str, region: str) -> str:
    """Return what a message is sent from: a mail address, or by SMS a number, a short one, a name.

    A Messaging Service of Twilio is one too. WhatsApp has a phone_number_id, which becomes part of
    an address: digits, and nothing else.
    """
    key = raw.strip()
    if channel is Channel.EMAIL:
        return to_email(key, "providerKey")
    if channel is Channel.WHATSAPP:
        if not _PHONE_NUMBER_ID.fullmatch(key):
            raise InvalidInput(
                "this is no phone_number_id of WhatsApp",
                hint="It is the number of 5 to 20 digits that Meta shows beside the telephone number.",
                field="providerKey",
            )
        return key
    if _SERVICE.fullmatch(key) or _SHORT.fullmatch(key):
        return key
    if _NAME.fullmatch(key) and not key.replace(" ", "").isdigit():
        return key
    try:
        number = phonenumbers.parse(key, region)
    except NumberParseException:
        number = None
    if number is None or not phonenumbers.is_possible_number(number):
        raise InvalidInput(
            "this is nothing that an SMS can be sent from",
            hint="A number, a short number, a name of up to 11 letters, or MG… at Twilio.",
            field="providerKey",
        )
    return phonenumbers.format_number(number, PhoneNumberFormat.E164)


def to_number(raw: str, region: str, validation: Validation = "valid", field: str = "to") -> str:
    """Return a telephone number in E.164."""
    try:
        number = phonenumbers.parse(raw, region)
    except NumberParseException as error:
        raise _refused(f"it cannot be read ({_reason(error)})", field) from None
    if not phonenumbers.is_possible_number(number):
        raise _refused("no number of that country has this length", field)
    kind = phonenumbers.number_type(number)
    if validation == "valid" and kind == PhoneNumberType.UNKNOWN:  # what is_valid_number asks, once more
        raise _refused("no such number is assigned in that country", field)
    allowed = (*_MOBILE, PhoneNumberType.UNKNOWN) if validation == "possible" else _MOBILE
    if kind not in allowed:
        raise _refused("it is not a mobile number", field)
    return phonenumbers.format_number(number, PhoneNumberFormat.E164)


def to_email(raw: str, field: str = "to") -> str:
    """Return a mail address; its host in lower case, because hosts have no case."""
    text = unicodedata.normalize("NFKC", raw).strip()
    found = _EMAIL.fullmatch(text)
    if found is None or len(found[0]) > _LONGEST_EMAIL or len(found["local"]) > _LONGEST_LOCAL:
        hint = "Write it as name@example.org."
        if not text.isascii():
            hint = "Write it without accents, as name@example.org; a domain that has some as xn--…."
        raise InvalidInput(f"{field} is no mail address that every mail server takes", hint=hint, field=field)
    return f"{found['local']}@{found['host'].lower()}"


def _refused(why: str, field: str) -> InvalidInput:
    return InvalidInput(
        f"{field} is no telephone number that messages can be sent to: {why}",
        hint="Write it in international form, +33 6 …, or as in the country of the organisation.",
        field=field,
    )


def _reason(error: NumberParseException) -> str:
    names = {
        NumberParseException.INVALID_COUNTRY_CODE: "no such country code",
        NumberParseException.NOT_A_NUMBER: "not a number",
        NumberParseException.TOO_SHORT_AFTER_IDD: "too short after its country code",
        NumberParseException.TOO_SHORT_NSN: "too short",
        NumberParseException.TOO_LONG: "too long",
    }
    return names.get(error.error_type, "not a number")
