"""Passwords, hashed with Argon2id. Hashing takes tens of milliseconds on purpose: never do it inside a session of the store."""

from __future__ import annotations

import unicodedata
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from core.errors import InvalidInput, Problem

__all__ = ["MIN_PASSWORD_CHARACTERS", "hash_password", "needs_rehash", "verify_password"]

MIN_PASSWORD_CHARACTERS = 8
_MAX_PASSWORD_CHARACTERS = 1024

_hasher = PasswordHasher()


def hash_password(password: str) -> str:
    """Hash a new password. Raises InvalidInput if it is too short, or too long to be one."""
    if len(password) < MIN_PASSWORD_CHARACTERS:
        raise InvalidInput(Problem("password", f"it has {len(password)} characters", f"use at least {MIN_PASSWORD_CHARACTERS}"))
    if len(password) > _MAX_PASSWORD_CHARACTERS:
        raise InvalidInput(
            Problem("password", f"it has {len(password):,} characters", f"use at most {_MAX_PASSWORD_CHARACTERS:,}")
        )
    return _hasher.hash(_prepared(password))


def verify_password(password: str, password_hash: str | None) -> bool:
    """Whether the password is the hashed one.

    With no hash (there is no such account, or it has no password) the answer is no and takes as long as any other.
    """
    try:
        right = _hasher.verify(password_hash or _hash_of_nothing(), _prepared(password[: _MAX_PASSWORD_CHARACTERS + 1]))
    except (VerificationError, InvalidHashError):
        return False
    return right and password_hash is not None


def needs_rehash(password_hash: str) -> bool:
    """Whether the hash was made with weaker parameters than today's."""
    return _hasher.check_needs_rehash(password_hash)


def _prepared(password: str) -> bytes:
    # The same characters can be typed in two ways (é); both must open the door. surrogatepass: no input makes this fail.
    return unicodedata.normalize("NFC", password).encode("utf-8", "surrogatepass")


@cache
def _hash_of_nothing() -> str:
    return _hasher.hash(b"no account has this password")
