"""An object store for one test: the part of S3 that copies and archives use, over real HTTP."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

KEY = re.compile(r"<Key>([^<]*)</Key>")


class Bucket(ThreadingHTTPServer):
    """Objects by their path; the part of S3 that a copy uses."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Door)
        self.objects: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.failing = False
        self.missing = False
        self.parts: dict[str, dict[int, bytes]] = {}
        """What was sent of large objects, by upload and number."""


class Door(BaseHTTPRequestHandler):
    server: Bucket
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = urlsplit(self.path).path
        self.server.asked.append(f"{self.command} {path}")
        status, content = (403, b"") if self.server.failing else self.done(path, body)
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.send_header("etag", '"1"')
        self.send_header("last-modified", "Wed, 18 Nov 2026 09:00:00 GMT")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def done(self, path: str, body: bytes) -> tuple[int, bytes]:
        kept, given = self.server.objects, parse_qs(urlsplit(self.path).query, keep_blank_values=True)
        if self.server.missing:
            return 404, b"<Error><Code>NoSuchBucket</Code></Error>"
        if "uploads" in given or "uploadId" in given:
            return 200, self.pieces(path, body, given).encode()
        if self.command == "PUT":
            kept[path] = body
            return 200, b""
        if self.command == "POST" and "delete" in given:
            keys = KEY.findall(body.decode())
            for key in keys:
                del kept[f"/bucket/{key}"]
            told = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in keys)
            return 200, f"<DeleteResult>{told}</DeleteResult>".encode()
        if path not in kept:
            return 404, b"<Error><Code>NoSuchKey</Code></Error>"
        return 200, kept[path]

    def pieces(self, path: str, body: bytes, given: dict[str, list[str]]) -> str:
        """A large object: begun, sent in pieces, put together."""
        if "uploads" in given:
            self.server.parts[path] = {}
            return f"<InitiateMultipartUploadResult><UploadId>{path}</UploadId></InitiateMultipartUploadResult>"
        parts = self.server.parts[given["uploadId"][0]]
        if self.command == "PUT":
            parts[int(given["partNumber"][0])] = body
            return ""
        self.server.objects[path] = b"".join(parts[number] for number in sorted(parts))
        return "<CompleteMultipartUploadResult><ETag>1</ETag></CompleteMultipartUploadResult>"

    do_PUT = do_GET = do_HEAD = do_POST = do_DELETE = answer  # noqa: N815 - as the library calls them

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving() -> Iterator[Bucket]:
    bucket = Bucket()
    thread = threading.Thread(target=bucket.serve_forever)
    thread.start()
    try:
        yield bucket
    finally:
        bucket.shutdown()
        thread.join()
        bucket.server_close()


@contextmanager
def bucket_here() -> Iterator[Bucket]:
    """A store that the environment names."""
    with serving() as made, pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{made.server_port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "made-up")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "made-up")
        patch.setenv("AWS_REGION", "eu-west-3")
        yield made
