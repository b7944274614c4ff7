"""The rooms of the house: where each audience's application is mounted, and the tabs of the top bar.

English pages stand at the room's path, Chinese ones under ``/zh``. A room or a tab of a later version is one line here.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from core.accounts import Account, Audience
from core.scenarios import Language

__all__ = ["ROOMS", "TABS", "Room", "Tab", "first_room", "localised", "mount_path", "safe_next", "sign_in_address"]

_ZH = "/zh"
_MAX_ADDRESS = 2000


@dataclass(frozen=True)
class Room:
    """One audience's application, and the path it is mounted under."""

    audience: Audience
    path: str


@dataclass(frozen=True)
class Tab:
    """One entry of the top bar: ``key`` names the page and its text ``shell.tab_<key>``; ``page`` is its path in the room."""

    key: str
    audience: Audience
    page: str = ""


ROOMS = (Room(Audience.PRACTICE, "/practice"), Room(Audience.ADMIN, "/admin"))
"""In the order in which an account is led to the first one it may open."""

TABS = (
    Tab("practice", Audience.PRACTICE),
    Tab("sessions", Audience.PRACTICE, "sessions"),
    Tab("accounts", Audience.ADMIN),
    Tab("baselines", Audience.ADMIN, "baselines"),
)
"""In the order Practice · Annotate · Rollouts · Analysis · Studies · Accounts."""


def mount_path(audience: Audience, language: Language) -> str:
    """The path without a slash at its end: ``/zh/practice``."""
    path = next(room.path for room in ROOMS if room.audience is audience)
    return _ZH + path if language is Language.ZH else path


def first_room(account: Account, language: Language) -> str | None:
    """The address of the first room that the account may open, or None if this version has none for its roles."""
    for room in ROOMS:
        if account.may_open(room.audience):
            return mount_path(room.audience, language) + "/"
    return None


def localised(path: str, language: Language) -> str:
    """The same page in another language. Pages outside the rooms have one address for all languages and stay as they are."""
    bare = path.removeprefix(_ZH) if path.startswith(_ZH + "/") else path
    in_room = any(bare == room.path or bare.startswith((room.path + "/", room.path + "?")) for room in ROOMS)
    if not in_room:
        return path
    return _ZH + bare if language is Language.ZH else bare


def safe_next(address: str | None) -> str:
    """``address`` if it is a page of this server, else ``/``.

    Anything that a browser could read as another host is refused: ``//host``, a backslash, control characters, which browsers
    drop before they look.
    """
    if address is None or not address.startswith("/") or len(address) > _MAX_ADDRESS:
        return "/"
    if address.startswith("//") or "\\" in address or not address.isprintable() or " " in address:
        return "/"
    return address


def sign_in_address(wanted: str) -> str:
    """Where to sign in, and be brought to ``wanted`` afterwards."""
    wanted = safe_next(wanted)
    return "/sign-in" if wanted == "/" else "/sign-in?" + urlencode({"next": wanted})
