from ostinato._core.db.embedded import Server
from tests import snapshot


def test_the_schema_is_the_one_that_was_reviewed(shared_server: Server) -> None:
    """`make snapshot` writes it anew; the difference belongs into the review."""
    assert snapshot.taken(shared_server) == snapshot.FILE.read_text(encoding="utf-8")
