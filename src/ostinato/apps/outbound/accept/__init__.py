"""Accepts a message: checks what it says, to whom and by whose leave, and queues it once."""
