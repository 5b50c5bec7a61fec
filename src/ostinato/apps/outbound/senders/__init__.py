"""Keeps what is sent from: whose a number, a name or a mail domain is, and the account that opens it."""
