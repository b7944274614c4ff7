"""A page of Gradio's as its own front end uses it, over plain HTTP."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator
from typing import Any

import httpx

__all__ = ["GradioPage", "join_body", "new_session", "stream"]


def new_session() -> str:
    return secrets.token_hex(6)


def join_body(fn_index: int, data: list[Any], session: str) -> dict[str, Any]:
    return {"data": data, "event_data": None, "fn_index": fn_index, "trigger_id": None, "session_hash": session}


def stream(client: httpx.Client, mount: str, session: str) -> Iterator[dict[str, Any]]:
    """The messages of a session's event stream, until it closes."""
    with client.stream("GET", f"{mount}/gradio_api/queue/data", params={"session_hash": session}) as response:
        assert response.status_code == 200, response.read()
        for line in response.iter_lines():
            if line.startswith("data: "):
                message = json.loads(line.removeprefix("data: "))
                if message["msg"] == "close_stream":
                    return
                yield message


class GradioPage:
    """A page that a signed-in client has opened."""

    def __init__(self, client: httpx.Client, mount: str, page: str = "") -> None:
        self.client, self.mount = client, mount
        response = client.get(f"{mount}/{page}", headers={"accept": "text/html"})
        assert response.status_code == 200, response.text
        found = re.search(r"window\.gradio_config = (.*?);</script>", response.text, re.DOTALL)
        assert found is not None
        self.config: dict[str, Any] = json.loads(found.group(1))
        self.session = new_session()

    def function(self, element_id: str | None, event: str) -> int:
        """The index of what an event calls; ``element_id`` None: the page itself."""
        ids = {item["props"].get("elem_id"): item["id"] for item in self.config["components"]}
        for dependency in self.config["dependencies"]:
            for component, name in dependency["targets"]:
                if name == event and (element_id is None or component == ids[element_id]):
                    return int(dependency["id"])
        raise AssertionError(f"no {event} of {element_id}")

    def join(self, fn_index: int, *data: Any, session: str | None = None, query: str = "") -> httpx.Response:
        body = join_body(fn_index, list(data), session or self.session)
        return self.client.post(f"{self.mount}/gradio_api/queue/join{query}", json=body)

    def call(self, element_id: str | None, event: str, *data: Any, query: str = "") -> dict[str, Any]:
        """What the event's handler answered last: the message ``process_completed``."""
        joined = self.join(self.function(element_id, event), *data, query=query)
        assert joined.status_code == 200, joined.text
        messages = list(stream(self.client, self.mount, self.session))
        return next(message for message in reversed(messages) if message["msg"] == "process_completed")
