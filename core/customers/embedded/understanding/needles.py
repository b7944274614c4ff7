"""Plain text that every match of a regular expression must hold: found once, it makes searching hundreds of them fast.

Covers the notation that the lexicons use: groups, alternatives, classes, quantifiers, look-arounds. What it cannot tell it
leaves out, so that the answer is always safe: a text without any of the needles has no match.
"""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["needles_of"]

_MOST = 24
"""More needles than this are slower than the search itself."""


def needles_of(expression: str) -> tuple[str, ...]:
    """Texts of which at least one stands in every match; empty when there is no such set."""
    found = _required(expression)
    if found is None or len(found) > _MOST:
        return ()
    # "day" covers "days".
    return tuple(sorted(needle for needle in found if not any(other in needle and other != needle for other in found)))


def _required(expression: str) -> frozenset[str] | None:
    needles: set[str] = set()
    for branch in _branches(expression):
        best = max(_candidates(branch), key=_worth, default=None)
        if best is None:
            return None
        needles |= best
    return frozenset(needles)


def _worth(needles: frozenset[str]) -> tuple[int, int]:
    shortest = min(len(needle) for needle in needles)
    return (min(shortest, 4), -len(needles))


def _branches(expression: str) -> Iterator[str]:
    """The alternatives on the top level."""
    depth, start, at = 0, 0, 0
    while at < len(expression):
        char = expression[at]
        if char == "\\":
            at += 1
        elif char == "[":
            at = _class_end(expression, at)
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
        elif char == "|" and depth == 0:
            yield expression[start:at]
            start = at + 1
        at += 1
    yield expression[start:]


def _class_end(expression: str, at: int) -> int:
    """Index of the bracket that closes the class opened at ``at``."""
    at += 1
    while expression[at] != "]":
        at += 2 if expression[at] == "\\" else 1
    return at


def _group_end(expression: str, at: int) -> int:
    """Index of the parenthesis that closes the one at ``at``."""
    depth = 0
    while True:
        char = expression[at]
        if char == "\\":
            at += 1
        elif char == "[":
            at = _class_end(expression, at)
        elif char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if depth == 0:
                return at
        at += 1


def _candidates(branch: str) -> Iterator[frozenset[str]]:
    """One set of needles for every part of a branch that must match."""
    run, at = "", 0
    while at < len(branch):
        char = branch[at]
        if char == "(":
            end = _group_end(branch, at)
            body, optional, behind = branch[at + 1 : end], *_quantifier(branch, end + 1)
            if run:
                yield frozenset({run})
                run = ""
            inner = None if optional or body.startswith(("?=", "?!", "?<")) else _required(body.removeprefix("?:"))
            if inner:
                yield inner
            at = behind
            continue
        width = 2 if char == "\\" else _class_end(branch, at) - at + 1 if char == "[" else 1
        optional, behind = _quantifier(branch, at + width)
        if char in "\\[.^$" or optional:
            if run:
                yield frozenset({run})
            run = ""
        else:
            run += char
            if behind > at + width:
                yield frozenset({run})
                run = ""
        at = behind
    if run:
        yield frozenset({run})


def _quantifier(branch: str, at: int) -> tuple[bool, int]:
    """Whether what stands before ``at`` may be missing, and the index behind its quantifier."""
    if at >= len(branch) or branch[at] not in "?*+{":
        return False, at
    optional = branch[at] in "?*" or branch.startswith(("{0", "{,"), at)
    at = branch.index("}", at) + 1 if branch[at] == "{" else at + 1
    return optional, at + 1 if at < len(branch) and branch[at] in "?+" else at
