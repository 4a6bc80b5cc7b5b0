"""What the server listens on."""

import socket

from app.commands.serving import listening


def test_answers_do_not_wait_for_an_acknowledgement_of_their_head() -> None:
    with listening("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
