"""How people reach it: the commands and the HTTP API. No application is named here."""
