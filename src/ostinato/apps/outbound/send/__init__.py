"""Sends what was accepted, and settles what came of it.

In the order of a message: `attempts` asks once more whether it may go, and notes the attempt; the
provider is called; `settle` writes that it was taken, delivered or in doubt, `failures` what an
error means; `callbacks` applies what the provider reports later, by the same two. `moves` is what
they all write with. Beside the way: `quiet` hours, `holds`, `retries`, `fallbacks`, `orphans`.
"""
