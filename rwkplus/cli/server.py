"""A server for one person: pages of this machine for a browser on this machine, and for nobody else."""

import secrets
import sys
from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from rwkplus.errors import ParameterError, RWKPlusError
from rwkplus.reports.page import Page, script

LOOPBACK = "127.0.0.1"
COOKIE = "rwkplus"
MOST, FIELDS = 4096, 40
"""Letters and fields of an address that are read."""
Answer = Callable[[str, Mapping[str, str]], str | None]
"""The page at a path, with what is asked for; None if there is none."""


class Server(ThreadingHTTPServer):
    """Answers on the loopback address only, and only to who names it and knows the token.

    Pages that other sites show cannot read it: their requests name another host, even where the name leads here.

    >>> with Server(lambda path, asked: "<p>hello</p>") as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True
    """

    daemon_threads = True

    def __init__(self, answer: Answer, port: int = 0, *, token: str | None = None) -> None:
        """Listen, on any free port by default.

        Args:
            answer: Gives the pages.
            port: Port to listen on.
            token: What the first request has to know; :func:`new_token` makes one.
        """
        self.answer, self.token = answer, token
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except OSError as error:
            raise ParameterError(
                f"port {port} cannot be used: {error.strerror or error}.", "Choose another."
            ) from error
        code = b64encode(sha256(script().encode()).digest()).decode()
        self.policy = (
            f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{code}'; img-src data:; "
            "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        )

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Say nothing of browsers that have gone."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        """Where to begin."""
        token = "" if self.token is None else f"?token={self.token}"
        return f"http://{LOOPBACK}:{self.server_port}/{token}"

    @property
    def hosts(self) -> set[str]:
        """What requests may call this server."""
        return {f"{name}:{self.server_port}" for name in (LOOPBACK, "localhost")}


def new_token() -> str:
    """A word that nobody guesses."""
    return secrets.token_urlsafe(16)


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version, sys_version = "rwkplus", ""
    timeout = 30

    def do_GET(self) -> None:
        """Send a page, or say why not."""
        if self.headers.get("Host") not in self.server.hosts:
            self._refuse(HTTPStatus.FORBIDDEN, "This server answers only to its own address.")
            return
        parts = urlsplit(self.path[:MOST])
        asked = dict(parse_qsl(parts.query, separator="&")[:FIELDS])
        if not self._is_known(asked.pop("token", None)):
            self._refuse(HTTPStatus.FORBIDDEN, "Open the address that the command has printed, with its token.")
            return
        try:
            page = self.server.answer(parts.path, asked)
        except RWKPlusError as error:
            self._refuse(HTTPStatus.BAD_REQUEST, str(error))
            return
        if page is None:
            self._refuse(HTTPStatus.NOT_FOUND, "There is no such page.")
        else:
            self._send(HTTPStatus.OK, page)

    def do_HEAD(self) -> None:
        """Like a page, without its body."""
        self.do_GET()

    def _is_known(self, token: str | None) -> bool:
        if self.server.token is None:
            return True
        try:
            cookie = SimpleCookie(self.headers.get("Cookie", "")).get(self._cookie)
        except CookieError:
            cookie = None
        given = [word for word in (token, cookie.value if cookie else None) if word is not None]
        return any(secrets.compare_digest(word.encode(), self.server.token.encode()) for word in given)

    @property
    def _cookie(self) -> str:
        """Cookies do not tell ports apart, their names have to."""
        return f"{COOKIE}-{self.server.server_port}"

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self._send(status, Page(status.phrase, why).html())

    def _send(self, status: HTTPStatus, page: str) -> None:
        body = page.encode(errors="backslashreplace")
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", self.server.policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        if self.server.token is not None and status == HTTPStatus.OK:
            self.send_header("Set-Cookie", f"{self._cookie}={self.server.token}; HttpOnly; SameSite=Strict; Path=/")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing: the terminal belongs to the command."""
