"""Names the rounds' part of the database schema."""

from ostinato.database import Component

COMPONENT = Component.of("rounds", "ostinato.apps.rounds", "rounds")
