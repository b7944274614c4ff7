"""What a signed-in visitor could do to Gradio's applications without the gate, tried over HTTP against the real server."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from core.accounts import Role
from data.accounts import AccountRepository
from tests.support.gradio_page import GradioPage, join_body, new_session, stream
from tests.support.running_server import RunningServer, make_services, start

PAGE = {"accept": "text/html"}
MOUNTS = ["/practice", "/zh/practice", "/admin", "/zh/admin"]


@pytest.fixture(scope="module")
def admin(server: RunningServer) -> httpx.Client:
    return server.client(server.account("Root", Role.ADMIN))


@pytest.fixture(scope="module")
def mei(server: RunningServer) -> httpx.Client:
    return server.client(server.account("Mei", Role.SALESPERSON))


@pytest.fixture(scope="module")
def sam(server: RunningServer) -> httpx.Client:
    return server.client(server.account("Sam", Role.SALESPERSON))


# -- who may enter ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mount", MOUNTS)
def test_a_stranger_is_led_to_sign_in_and_back(server: RunningServer, mount: str) -> None:
    response = server.client().get(f"{mount}/?a=1&b=2", headers=PAGE)
    assert response.status_code == 303
    assert response.headers["location"] == "/sign-in?next=" + mount.replace("/", "%2F") + "%2F%3Fa%3D1%26b%3D2"


@pytest.mark.parametrize("mount", MOUNTS)
def test_a_stranger_gets_nothing_else(server: RunningServer, mount: str) -> None:
    stranger = server.client()
    for path in ("queue/data?session_hash=abc", "heartbeat/abcdef", "startup-events"):
        assert stranger.get(f"{mount}/gradio_api/{path}").status_code == 401
    for path, body in (("queue/join", join_body(0, [], "abc")), ("reset", {"event_id": "e"})):
        assert stranger.post(f"{mount}/gradio_api/{path}", json=body).status_code == 401


def test_cancel_needs_a_sign_in(server: RunningServer) -> None:
    body = {"session_hash": "abc", "fn_index": 0, "event_id": "e"}
    assert server.client().post("/practice/gradio_api/cancel", json=body).status_code == 401


@pytest.mark.parametrize("roles", [{Role.SALESPERSON}, {Role.ANNOTATOR}, {Role.RESEARCHER}])
@pytest.mark.parametrize("mount", ["/admin", "/zh/admin"])
def test_only_admins_enter_the_admin_pages(server: RunningServer, mount: str, roles: set[Role]) -> None:
    account = server.account(f"no admin {mount} {sorted(roles)}", *roles)
    client = server.client(account, language="zh" if "zh" in mount else "en")
    page = client.get(f"{mount}/", headers=PAGE)
    assert page.status_code == 403
    assert "gradio_config" not in page.text
    assert client.get(f"{mount}/baselines", headers=PAGE).status_code == 403
    assert client.post(f"{mount}/gradio_api/queue/join", json=join_body(0, [], new_session())).status_code == 403
    assert client.get(f"{mount}/gradio_api/queue/data", params={"session_hash": new_session()}).status_code == 403
    assert client.get(f"{mount}/gradio_api/heartbeat/{new_session()}").status_code == 403


def test_an_annotator_does_not_sell(server: RunningServer) -> None:
    client = server.client(server.account("Anna", Role.ANNOTATOR))
    assert client.get("/practice/", headers=PAGE).status_code == 403


def test_a_disabled_account_is_out_at_once(server: RunningServer) -> None:
    account = server.account("Leaver", Role.SALESPERSON)
    client = server.client(account)
    assert client.get("/practice/", headers=PAGE).status_code == 200
    with server.store.session() as session:
        AccountRepository(session).disable(account.id)
    assert client.get("/practice/", headers=PAGE).status_code == 303
    assert client.post("/practice/gradio_api/queue/join", json=join_body(0, [], new_session())).status_code == 401


def test_roles_taken_away_count_at_once(server: RunningServer, admin: httpx.Client) -> None:
    account = server.account("Demoted", Role.SALESPERSON, Role.ADMIN)
    client = server.client(account)
    assert client.get("/admin/", headers=PAGE).status_code == 200
    with server.store.session() as session:
        AccountRepository(session).set_roles(account.id, {Role.SALESPERSON})
    assert client.get("/admin/", headers=PAGE).status_code == 403


# -- which routes are open --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "config", "config/", "gradio_api/info", "gradio_api/info/", "gradio_api/openapi.json",
        "gradio_api/deep_link?session_hash=a",
        "gradio_api/call/add/e", "gradio_api/file=/etc/passwd", "gradio_api/file/etc/passwd", "gradio_api/proxy=http://localhost/",
        "gradio_api/token", "gradio_api/user", "gradio_api/login_check", "gradio_api/runs", "monitoring",
        "monitoring/summary", "gradio_api/upload_progress?upload_id=a", "gradio_api/dev/reload", "login", "logout", "robots.txt",
        "pwa_icon", "gradio_api/vibe-code", "gradio_api/profiling/summary", "gradio_api/stream/a/1/2/playlist.m3u8",
        "gradio_api/custom_component/a/client/b/c.js", "gradio_api/mcp/sse", "nowhere",
    ],
)  # fmt: skip
@pytest.mark.parametrize("mount", ["/practice", "/admin"])
def test_routes_that_no_page_needs_are_closed(admin: httpx.Client, mount: str, path: str) -> None:
    assert admin.get(f"{mount}/{path}").status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "run/predict", "run/add", "api/predict", "call/add", "call/v2/add", "component_server", "component_server/", "upload",
        "process_recording", "vibe-edit", "stream/e", "stream/e/close", "run-history/connect", "queue/data", "profiling/clear",
    ],
)  # fmt: skip
@pytest.mark.parametrize("mount", ["/practice", "/admin"])
def test_calls_past_the_queue_are_closed(admin: httpx.Client, mount: str, path: str) -> None:
    assert admin.post(f"{mount}/gradio_api/{path}", json=join_body(0, [], new_session())).status_code == 404


@pytest.mark.parametrize(
    "path", ["//config", "/./config", "/%63onfig", "/talk%0A", "/..%2Fconfig", "/assets/..%2f..%2froutes.py"]
)
def test_odd_spellings_open_nothing(server: RunningServer, admin: httpx.Client, path: str) -> None:
    # Sent raw: a client library would tidy the path up.
    host = urlsplit(server.url)
    connection = http.client.HTTPConnection(str(host.hostname), host.port)
    connection.request("GET", "/admin" + path, headers={"cookie": "; ".join(f"{k}={v}" for k, v in admin.cookies.items())})
    response = connection.getresponse()
    body = response.read()
    connection.close()
    assert response.status == 404, body
    assert b"dependencies" not in body


@pytest.mark.parametrize("query", ["deep_link=abc", "page=talk", "x=1&deep%5Flink=a", "d=1&page="])
def test_a_page_gives_no_saved_state_and_no_other_page(mei: httpx.Client, query: str) -> None:
    assert mei.get(f"/practice/?{query}", headers=PAGE).status_code == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(admin: httpx.Client, method: str) -> None:
    for path in ("/practice/", "/admin/gradio_api/queue/join", "/sign-in"):
        assert admin.request(method, path).status_code == 405


def test_web_sockets_are_refused(server: RunningServer, mei: httpx.Client) -> None:
    headers = {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "x" * 22 + "==",
    }
    assert mei.get("/practice/gradio_api/queue/join", headers=headers).status_code in (400, 403, 404, 426)


def test_pages_still_work(mei: httpx.Client) -> None:
    page = GradioPage(mei, "/practice")
    assert page.config["username"] == "Mei"
    loaded = page.call(None, "load")
    assert loaded["success"] is True
    assert "Mei" in loaded["output"]["data"][0]
    assert mei.get("/practice/theme.css").status_code == 200


def test_program_code_is_open_and_kept_by_browsers(server: RunningServer, mei: httpx.Client) -> None:
    asset = next(
        part for part in mei.get("/practice/", headers=PAGE).text.split('"') if part.startswith("./assets/") and ".js" in part
    )
    response = server.client().get("/practice/" + asset.removeprefix("./"))
    assert response.status_code == 200
    assert "immutable" in response.headers["cache-control"]


# -- whose browser session ---------------------------------------------------------------------------------------------


def test_anothers_session_can_be_neither_joined_nor_heard_nor_cancelled(mei: httpx.Client, sam: httpx.Client) -> None:
    page = GradioPage(mei, "/practice")
    page.call(None, "load")
    stolen = page.session
    load = page.function(None, "load")
    assert sam.post("/practice/gradio_api/queue/join", json=join_body(load, [], stolen)).status_code == 403
    assert sam.get("/practice/gradio_api/queue/data", params={"session_hash": stolen}).status_code == 403
    assert sam.get(f"/practice/gradio_api/heartbeat/{stolen}").status_code == 403
    cancel = {"session_hash": stolen, "fn_index": load, "event_id": "e"}
    assert sam.post("/practice/gradio_api/cancel", json=cancel).status_code == 403
    # ... nor through another mount of the same house.
    assert sam.post("/zh/practice/gradio_api/queue/join", json=join_body(load, [], stolen)).status_code == 403
    assert page.call(None, "load")["success"] is True


def test_a_session_named_twice_is_read_once(mei: httpx.Client, sam: httpx.Client) -> None:
    page = GradioPage(mei, "/practice")
    page.call(None, "load")
    own = new_session()
    for query in (f"session_hash={own}&session_hash={page.session}", f"session_hash={page.session}&session_hash={own}"):
        assert sam.get(f"/practice/gradio_api/queue/data?{query}").status_code == 400
    body = json.dumps(join_body(0, [], own))[:-1] + f', "session_hash": "{page.session}"}}'
    doubled = sam.post("/practice/gradio_api/queue/join", content=body, headers={"content-type": "application/json"})
    assert doubled.status_code == 403


@pytest.mark.parametrize(
    "change",
    [
        {"session_hash": None}, {"session_hash": 7}, {"session_hash": "a/b"}, {"session_hash": ""}, {"session_hash": "a" * 65},
        {"session_hash": "a\n"}, {"fn_index": "0"}, {"fn_index": True}, {"fn_index": 1.0}, {"data": {}}, {"data": None},
        {"trigger_id": "x"},
    ],
)  # fmt: skip
def test_messages_in_another_form_are_refused(mei: httpx.Client, change: dict[str, Any]) -> None:
    body = {**join_body(0, [], new_session()), **change}
    assert mei.post("/practice/gradio_api/queue/join", json=body).status_code == 400


@pytest.mark.parametrize("body", [b"", b"[]", b"nonsense", b"[" * 90_000, b'{"data": [NaN]}', b"\xff\xfe", b'{"data":[1e999]}'])
def test_bodies_that_are_no_message_are_refused(mei: httpx.Client, body: bytes) -> None:
    response = mei.post("/practice/gradio_api/queue/join", content=body, headers={"content-type": "application/json"})
    assert response.status_code == 400


def test_keys_that_reach_into_the_queue_are_dropped(mei: httpx.Client) -> None:
    page = GradioPage(mei, "/practice")
    load = page.function(None, "load")
    body = {**join_body(load, [], page.session), "event_id": "chosen", "batched": True, "simple_format": True, "oauth_token": "x"}
    joined = mei.post("/practice/gradio_api/queue/join", json=body)
    assert joined.status_code == 200
    assert joined.json()["event_id"] != "chosen"
    assert [m for m in stream(mei, "/practice", page.session) if m["msg"] == "process_completed"][-1]["success"] is True


# -- other sites, other hosts -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"}, {"origin": "null"}, {"origin": "http://127.0.0.1:1"}, {"origin": "http://127.0.0.1"},
        {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"}, {"origin": "http://[bad"}, {"origin": ""},
        {"origin": "http://evil.example", "sec-fetch-site": "same-origin"}, {},
    ],
)  # fmt: skip
@pytest.mark.parametrize("path", ["/practice/gradio_api/queue/join", "/sign-in", "/sign-out", "/set-password", "/link/abc"])
def test_posts_of_other_sites_are_refused(server: RunningServer, mei: httpx.Client, path: str, headers: dict[str, str]) -> None:
    foreign = httpx.Client(base_url=server.url, cookies=mei.cookies, headers=headers)
    with foreign:
        assert foreign.post(path, json=join_body(0, [], new_session())).status_code == 403
    assert mei.get("/practice/", headers=PAGE).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "[::2]", "0.0.0.0", "[bad"])
def test_other_names_for_this_machine_are_refused(server: RunningServer, mei: httpx.Client, host: str) -> None:
    for path in ("/", "/sign-in", "/practice/", "/static/shell.css"):
        assert mei.get(path, headers={"host": host}).status_code == 400


def test_its_own_names_are_fine(server: RunningServer, mei: httpx.Client) -> None:
    port = urlsplit(server.url).port
    for host in (f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"):
        assert mei.get("/practice/", headers={"host": host, **PAGE}).status_code == 200


@pytest.mark.parametrize("name", ["x-forwarded-host", "x-gradio-server", "forwarded", "x-forwarded-proto", "x-forwarded-prefix"])
def test_a_client_cannot_name_another_root(mei: httpx.Client, name: str) -> None:
    page = mei.get("/practice/", headers={name: "https://evil.example", **PAGE})
    assert page.status_code == 200
    assert "evil.example" not in page.text
    assert '"root":"http://127.0.0.1' in page.text


# -- sizes, headers ------------------------------------------------------------------------------------------------------


def test_a_message_that_is_too_long_is_refused(mei: httpx.Client) -> None:
    big = join_body(0, ["x" * 300_000], new_session())
    assert mei.post("/practice/gradio_api/queue/join", json=big).status_code == 413
    assert mei.post("/sign-in", data={"name": "x" * 20_000}).status_code == 413


def test_a_body_of_unstated_length_is_counted_while_it_comes(mei: httpx.Client) -> None:
    sent = 0

    def pieces() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(2000):
            sent += 10_000
            yield b"x" * 10_000

    with contextlib.suppress(httpx.HTTPError):  # the server may close the connection before all was sent
        assert mei.post("/practice/gradio_api/queue/join", content=pieces()).status_code == 413
    assert sent < 20_000_000


@pytest.mark.parametrize("length", ["-1", "abc", "99999999999999999999", "1e3"])
def test_a_length_that_is_none_is_refused(server: RunningServer, length: str) -> None:
    host = urlsplit(server.url)
    with socket.create_connection((str(host.hostname), host.port), timeout=10) as connection:
        head = (
            f"POST /sign-in HTTP/1.1\r\nHost: 127.0.0.1:{host.port}\r\nOrigin: {server.url}\r\nContent-Length: {length}\r\n\r\n"
        )
        connection.sendall(head.encode())
        answer = connection.recv(200)
    assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 413"))


@pytest.mark.parametrize(
    "path", ["/practice/", "/sign-in", "/nowhere", "/practice/gradio_api/queue/data?session_hash=abc", "/practice/config"]
)
def test_every_response_is_guarded(mei: httpx.Client, path: str) -> None:
    headers = mei.get(path, headers=PAGE).headers
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cache-control"] == "no-store"
    assert not [name for name in headers if name.startswith("access-control-")]
    assert "server" not in headers


def test_our_own_pages_run_no_inline_script(mei: httpx.Client) -> None:
    policy = mei.get("/set-password", headers=PAGE).headers["content-security-policy"]
    assert "'unsafe-inline'" not in policy
    assert "'unsafe-eval'" not in policy


# -- what lies in a page ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mount", "pages"), [("/practice", ["", "brief", "talk", "sessions"]), ("/admin", ["", "baselines"])])
def test_a_page_holds_nothing_of_anybody_before_it_has_loaded(
    server: RunningServer, admin: httpx.Client, mount: str, pages: list[str]
) -> None:
    other = server.account(f"Canary {mount}", Role.SALESPERSON)
    dialogue = server.dialogue(other, "canary-words")
    for page in pages:
        text = admin.get(f"{mount}/{page}", headers=PAGE).text
        for canary in (other.name, dialogue.id, "canary-words", "propensity"):
            assert canary not in text


# -- languages -------------------------------------------------------------------------------------------------------------


def test_a_chinese_reader_is_led_to_the_chinese_pages(server: RunningServer) -> None:
    client = server.client(server.account("王美", Role.SALESPERSON), language="zh-CN,zh;q=0.9,en;q=0.5")
    response = client.get("/practice/talk?d=d-1&x=%E4%BD%A0", headers=PAGE)
    assert response.status_code == 302
    assert response.headers["location"] == "/zh/practice/talk?d=d-1&x=%E4%BD%A0"
    assert client.get("/zh/practice/", headers=PAGE).status_code == 200


def test_an_explicit_chinese_address_stays(mei: httpx.Client) -> None:
    assert mei.get("/zh/practice/", headers=PAGE).status_code == 200


@pytest.mark.parametrize(("asked", "given"), [("/practice", "/practice/"), ("/practice/talk/?d=1", "/practice/talk?d=1")])
def test_an_address_is_put_right(mei: httpx.Client, asked: str, given: str) -> None:
    response = mei.get(asked, headers=PAGE)
    assert (response.status_code, response.headers["location"]) == (302, given)


# -- streams of those who have left -------------------------------------------------------------------------------------------


@pytest.fixture
def short_lived(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningServer]:
    """A server that looks again at each piece of a stream whether its visitor is still signed in."""
    monkeypatch.setattr("ui.gate._RECHECK_STREAM_S", 0.0)
    monkeypatch.setattr("gradio.utils.get_heartbeat_rate", lambda: 0.1)
    yield from start(make_services(tmp_path_factory.mktemp("stream")))


def test_a_stream_ends_when_its_visitor_is_signed_out(short_lived: RunningServer) -> None:
    account = short_lived.account("Short stay", Role.SALESPERSON)
    client = short_lived.client(account)
    alive, ended = threading.Event(), threading.Event()

    def listen() -> None:
        with client.stream("GET", f"/practice/gradio_api/heartbeat/{new_session()}") as response:
            for _ in response.iter_bytes():
                alive.set()
        ended.set()

    listener = threading.Thread(target=listen)
    listener.start()
    assert alive.wait(10)
    assert not ended.wait(0.5)
    with short_lived.store.session() as session:
        AccountRepository(session).end_all_web_sessions(account.id)
    assert ended.wait(10)
    listener.join()
