"""Keeps what people allowed and refused: consents, suppressions, and what people write to us."""
