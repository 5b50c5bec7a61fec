"""Results of handlers as JSON text."""

import pydantic_core

from ostinato.base.errors import InvalidInput
from ostinato.base.jsonio import dump_args

__all__ = ["MAX_RESULT_BYTES", "dump_result"]

MAX_RESULT_BYTES = 1_048_576


def dump_result(result: object) -> str | None:
    """The result as JSON text that PostgreSQL can store, None for no result."""
    if result is None:
        return None
    try:
        plain = pydantic_core.to_jsonable_python(result, inf_nan_mode="constants")
        return dump_args(plain, MAX_RESULT_BYTES)
    except (InvalidInput, ValueError, TypeError) as error:
        message = error.message if isinstance(error, InvalidInput) else str(error)
        raise InvalidInput(
            f"the result cannot be stored: {message}",
            hint="Return JSON-like data, or store the data yourself and return its key.",
        ) from None
