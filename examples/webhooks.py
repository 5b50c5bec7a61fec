"""Tell other people's servers what happened: signed, and again until they answer 2xx."""

import asyncio
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

from ostinato import App, settings, testing, webhooks

HERE = "127.0.0.1:*"  # inner addresses are refused unless they are listed
SECRET, ANSWERS = webhooks.make_secret(bytes(32)), iter((503, 200))
paid = App("shop").event("order.paid")


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        webhooks.verify(dict(self.headers), body, [SECRET], now=time.time())  # or it raises
        print(body.decode()[-12:-1], "gets", answer := next(ANSWERS))
        self.wfile.write(f"HTTP/1.1 {answer} x\r\n\r\n".encode())


async def main(url: str) -> None:
    async with testing.engine() as engine, engine.client.connection() as conn:
        inner = webhooks.parse_allowed(HERE)
        await webhooks.create_endpoint(conn, "till", url, secret=SECRET, allowed=inner)
        await paid.emit(conn, {"order": 7}, tenant="default", correlation_id="request-7")
        await engine.run_until_idle(webhooks.app(settings.Settings(webhooks_allow_private=HERE)))


if __name__ == "__main__":
    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        Thread(target=lambda: [server.handle_request() for _ in (503, 200)]).start()
        asyncio.run(main(f"http://127.0.0.1:{server.server_port}/"))

# prints:
# > {"order":7} gets 503
# > {"order":7} gets 200
