"""People reach the engine by these faces: the commands, the HTTP API and the console. No application is named here."""
