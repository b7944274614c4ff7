"""Which requests of a mounted application the gate lets through, and in which form.

Gradio serves many more routes than its pages need. What is not named here is closed.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

from core.accounts import Audience
from core.scenarios import Language

__all__ = ["BadMessage", "Mount", "Route", "SessionOwners", "checked_message", "checked_stream_query", "mount_of", "route_of"]

_SESSION: Final = re.compile(r"[A-Za-z0-9]{1,64}")
_HEARTBEAT: Final = "/gradio_api/heartbeat/"
_PUBLIC: Final = re.compile(r"/(?:assets|static|svelte)/[\w./@+-]+|/theme\.css|/gradio_api/theme\.css", re.ASCII)

# What the pages send, and its types. Other keys of these messages reach into the machinery of the queue and are dropped.
_MESSAGES: Final[dict[str, dict[str, tuple[type, ...]]]] = {
    "/gradio_api/queue/join": {
        "data": (list,),
        "event_data": (dict, list, str, int, float, bool, type(None)),
        "fn_index": (int,),
        "trigger_id": (int, type(None)),
        "session_hash": (str,),
    },
    "/gradio_api/cancel": {"session_hash": (str,), "fn_index": (int,), "event_id": (str,)},
    "/gradio_api/reset": {"event_id": (str,)},
}


class Route(Enum):
    """What a request asks of a mounted application."""

    PUBLIC = auto()
    """Program code and styles: the same for everybody."""
    PAGE = auto()
    STARTUP = auto()
    """What a page asks for when it opens, and when it looks for a server that was away."""
    STREAM = auto()
    HEARTBEAT = auto()
    MESSAGE = auto()
    CLOSED = auto()


class BadMessage(ValueError):
    """A message that no page of ours sends."""


@dataclass(frozen=True)
class Mount:
    """A mounted application: whose it is, and which pages it has besides its first."""

    path: str
    audience: Audience
    language: Language
    pages: frozenset[str]


def mount_of(path: str, mounts: tuple[Mount, ...]) -> Mount | None:
    """The mount that a path belongs to; of several the one with the longest path."""
    matching = [mount for mount in mounts if path == mount.path or path.startswith(mount.path + "/")]
    return max(matching, key=lambda mount: len(mount.path), default=None)


def route_of(mount: Mount, method: str, rest: str) -> Route:
    """What ``rest``, the path below the mount, asks for."""
    if method == "POST":
        return Route.MESSAGE if rest.rstrip("/") in _MESSAGES else Route.CLOSED
    if _PUBLIC.fullmatch(rest) and ".." not in rest:
        return Route.PUBLIC
    if rest in ("", "/") or rest.strip("/") in mount.pages:
        return Route.PAGE
    if rest in ("/gradio_api/startup-events", "/gradio_api/app_id"):
        return Route.STARTUP
    if rest == "/gradio_api/queue/data":
        return Route.STREAM
    return Route.HEARTBEAT if rest.startswith(_HEARTBEAT) else Route.CLOSED


def heartbeat_session(rest: str) -> str:
    """The browser session that a heartbeat names. Raises BadMessage."""
    return _session(rest.removeprefix(_HEARTBEAT))


def checked_stream_query(query: bytes) -> tuple[str, bytes]:
    """The browser session of an event stream, and a query that names it once: a second one would be the one Gradio reads.

    Raises BadMessage.
    """
    sessions = [value for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True) if name == "session_hash"]
    if len(sessions) != 1:
        raise BadMessage("the stream's session is missing or doubled")
    session = _session(sessions[0])
    return session, urlencode({"session_hash": session}).encode()


def has_closed_query(query: bytes) -> bool:
    """Whether a page's address asks for what is closed: another page's content, or a state saved under a deep link."""
    return any(name in ("deep_link", "page") for name, _ in parse_qsl(query.decode("latin-1"), keep_blank_values=True))


def checked_message(rest: str, body: bytes) -> tuple[str | None, bytes]:
    """The browser session that a message is for (None: the message has none), and the message written anew.

    Written anew, it cannot mean one thing here and another to the application: keys come once, and only those that pages send.
    Raises BadMessage.
    """
    allowed = _MESSAGES[rest.rstrip("/")]
    try:
        message = json.loads(body, parse_constant=_refuse_constant)
        if not isinstance(message, dict):
            raise BadMessage("the message is not an object")
        kept = {key: message[key] for key in allowed if key in message}
        for key, value in kept.items():
            # type(), not isinstance(): True is no index of a function.
            if type(value) not in allowed[key]:
                raise BadMessage(f"{key} has a wrong type")
        session = _session(kept["session_hash"]) if "session_hash" in allowed else None
        return session, json.dumps(kept, allow_nan=False).encode("ascii")
    except (KeyError, ValueError, RecursionError) as error:
        raise BadMessage("the message is not in the form that pages send") from error


def _refuse_constant(name: str) -> Any:
    raise BadMessage(f"{name} is no number")


def _session(text: str) -> str:
    if not _SESSION.fullmatch(text):
        raise BadMessage("this is no browser session")
    return text


class SessionOwners:
    """Which account each browser session belongs to: the first one that was seen with it.

    Bounded for each account on its own, so that nobody can push another's sessions out.
    """

    def __init__(self, per_account: int = 512) -> None:
        self._per_account = per_account
        self._owner: dict[str, int] = {}
        self._of_account: dict[int, OrderedDict[str, None]] = {}

    def claim(self, session: str, account_id: int) -> bool:
        """Whether the session is the account's; an unknown one becomes so."""
        owner = self._owner.setdefault(session, account_id)
        if owner != account_id:
            return False
        mine = self._of_account.setdefault(account_id, OrderedDict())
        mine[session] = None
        mine.move_to_end(session)
        if len(mine) > self._per_account:
            oldest, _ = mine.popitem(last=False)
            del self._owner[oldest]
        return True
