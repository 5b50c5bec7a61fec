"""Names watchfolder's part of the database schema."""

from ostinato.database import Component

COMPONENT = Component.of("watchfolder", "ostinato.apps.watchfolder", "watchfolder")
