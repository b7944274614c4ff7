"""What the gate reads from request headers, and the headers it puts on every response."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Message, Send

__all__ = [
    "OWN_PAGE_POLICY",
    "TRANSCRIPT_POLICY",
    "Caching",
    "from_own_page",
    "guarded",
    "is_loopback",
    "named_locally",
    "without_forwarding",
]

THEME_HANDLER: Final = "sfTheme()"
"""The one inline event handler of our own pages: the button for light and dark in the top bar."""

_hash_of_handler = base64.b64encode(hashlib.sha256(THEME_HANDLER.encode()).digest()).decode()

GRADIO_POLICY: Final = (
    # Gradio needs both 'unsafe's: this policy does not stop a script from running, it stops it from reaching another host.
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:; object-src 'none'; "
    "frame-ancestors 'none'; base-uri 'self'; form-action 'self'"
)
OWN_PAGE_POLICY: Final = (
    f"default-src 'none'; script-src 'self' 'unsafe-hashes' 'sha256-{_hash_of_handler}'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
TRANSCRIPT_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; sandbox"

_ALWAYS: Final = {
    "x-content-type-options": "nosniff",
    # Not 'no-referrer': a browser would then send "Origin: null" with our own forms.
    "referrer-policy": "same-origin",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}

_LOCAL_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class Caching:
    """Values of Cache-Control."""

    PERSONAL = "no-store"
    CHECKED = "no-cache"
    NAMED_BY_CONTENT = "public, max-age=31536000, immutable"


def guarded(send: Send, caching: str) -> Send:
    """``send`` with the headers of protection on the response. A policy that the response has already is kept."""

    async def send_guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            message.setdefault("headers", [])
            headers = MutableHeaders(scope=message)
            for name in [name for name in headers if name.startswith("access-control-")]:
                del headers[name]
            headers.setdefault("content-security-policy", GRADIO_POLICY)
            for name, value in _ALWAYS.items():
                headers[name] = value
            headers["cache-control"] = caching if message["status"] in (200, 206, 304) else Caching.PERSONAL
        await send(message)

    return send_guarded


def from_own_page(headers: Headers) -> bool:
    """Whether a browser sent this POST from a page of this server.

    Browsers name the origin of every POST. A request that names neither origin nor site is not from a page of ours.
    """
    site, origin, host = headers.get("sec-fetch-site"), headers.get("origin"), headers.get("host")
    if site is not None and site not in ("same-origin", "none"):
        return False
    if origin is None:
        return site == "same-origin"
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(host) and parts.netloc.lower() == (host or "").lower()


def named_locally(headers: Headers) -> bool:
    """Whether the Host header names this machine. A page of another host that has its name point here (DNS rebinding) fails."""
    try:
        name = urlsplit(f"//{headers.get('host', '')}").hostname
    except ValueError:
        return False
    return name in _LOCAL_NAMES


def is_loopback(host: str) -> bool:
    """Whether an address to bind to, or of a client, is of this machine only."""
    if host.lower() == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def without_forwarding(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """The headers without those by which a client could tell the applications behind another host or scheme."""
    return [(name, value) for name, value in headers if not _is_forwarding(name.lower())]


def _is_forwarding(name: bytes) -> bool:
    return name.startswith((b"x-forwarded-", b"x-gradio-")) or name == b"forwarded"
