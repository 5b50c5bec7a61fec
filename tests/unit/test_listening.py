"""The socket that a server listens on."""

import socket

from ostinato._faces.cli.serve.listening import listen


def test_an_answer_is_not_held_back_until_the_last_one_was_acknowledged() -> None:
    with listen("127.0.0.1", 0) as sock, socket.create_connection(sock.getsockname()):
        taken, _ = sock.accept()
        with taken:
            assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
