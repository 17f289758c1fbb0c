import re
import socket
import threading
from contextlib import contextmanager
from http.client import HTTPConnection

import pytest

from rwkplus.cli.server import MOST, Server, new_token
from rwkplus.errors import ParameterError
from rwkplus.reports.page import Page, script


def answer(path, asked):
    if path == "/broken":
        raise ParameterError("<broken> on purpose.")
    return Page("home", f"{path} {sorted(asked.items())}").html() if path == "/" else None


@contextmanager
def running(token=None):
    with Server(answer, token=token) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield server
        server.shutdown()


def ask(server, path="/", method="GET", **headers):
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    headers = {"Host": f"127.0.0.1:{server.server_port}"} | {k: v for k, v in headers.items() if v is not None}
    connection.putrequest(method, path, skip_host=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    return response, body


@pytest.fixture(scope="module")
def server():
    with running() as server:
        yield server


def test_pages_are_sent_with_what_was_asked_for(server):
    response, body = ask(server, "/?label=n-3&label=n-4&min=")
    assert response.status == 200
    assert "(&#39;label&#39;, &#39;n-4&#39;)" in body
    assert int(response.headers["Content-Length"]) == len(body.encode())
    assert ask(server, method="HEAD")[1] == ""


def test_it_listens_on_the_loopback_address_only(server):
    assert server.server_address[0] == "127.0.0.1"
    addresses = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in addresses - {"127.0.0.1"}:
        with pytest.raises(OSError, match=r"refused|timed out|reach"):
            socket.create_connection((address, server.server_port), timeout=2)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", "[::1]", "", None])
def test_names_that_lead_here_by_a_trick_are_refused(server, host):
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.putrequest("GET", "/", skip_host=True)
    if host is not None:
        connection.putheader("Host", host)
    connection.endheaders()
    assert connection.getresponse().status == 403


def test_it_may_be_called_localhost(server):
    assert ask(server, Host=f"localhost:{server.server_port}")[0].status == 200


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/patterns.json",
        "/..\\..\\etc",
        "http://x/y",
        "/%00",
    ],
)
def test_there_are_no_files(server, path):
    response, body = ask(server, path)
    assert response.status == 404
    assert "root:" not in body


def test_errors_are_told_as_text(server):
    response, body = ask(server, "/broken")
    assert response.status == 400
    assert "&lt;broken&gt; on purpose." in body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_can_be_changed(server, method):
    assert ask(server, method=method)[0].status == 501


def test_long_addresses_do_no_harm(server):
    assert ask(server, "/?" + "a" * (2 * MOST))[0].status == 200
    assert ask(server, "/" + "a" * 70_000)[0].status == 414
    assert ask(server, "/?" + "&".join(f"a{k}=1" for k in range(1000)))[0].status == 200


def test_pages_run_our_script_and_load_nothing(server):
    response, body = ask(server)
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy
    assert "unsafe-eval" not in policy
    assert re.findall("<script>(.*?)</script>", body, re.DOTALL) == [script()]
    assert len(script()) < 60_000
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Cache-Control"] == "no-store"


def test_who_does_not_know_the_token_is_refused():
    with running(token=new_token()) as server:
        assert ask(server)[0].status == 403
        assert ask(server, "/?token=guess")[0].status == 403
        assert ask(server, Cookie="rwkplus=guess; ==")[0].status == 403
        response, body = ask(server, server.url.partition(str(server.server_port))[2])
        assert response.status == 200
        assert server.token not in body
        cookie = response.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert ask(server, "/?min=3", Cookie=cookie.partition(";")[0])[0].status == 200


def test_tokens_cannot_be_guessed():
    assert len({new_token() for _ in range(100)}) == 100
    assert min(len(new_token()) for _ in range(100)) > 20


def test_a_port_in_use_is_refused(server):
    with pytest.raises(ParameterError, match=f"port {server.server_port} cannot be used"):
        Server(answer, server.server_port)
