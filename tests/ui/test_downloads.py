"""Downloads: one's own, finished, and of a baseline no tier."""

from __future__ import annotations

import json

import httpx
import pytest

from core.accounts import Role
from core.dialogues import Mode
from data.accounts import AccountRepository
from tests.support.running_server import RunningServer

PAGE = {"accept": "text/html"}


@pytest.fixture(scope="module")
def mei(server: RunningServer) -> httpx.Client:
    return server.client(server.account("Mei", Role.SALESPERSON))


def own(server: RunningServer, client: httpx.Client, *said: str, over: bool = True, mode: Mode = Mode.PRACTICE) -> str:
    with server.store.reading() as session:
        account = AccountRepository(session).by_name("Mei")
    return server.dialogue(account, *(said or ("Hello, who decides at your place?",)), over=over, mode=mode).id


def test_ones_own_practice_dialogue_as_json_and_as_a_page(server: RunningServer, mei: httpx.Client) -> None:
    dialogue = own(server, mei, "Hello <b>there</b>")
    line = mei.get(f"/files/dialogues/{dialogue}.jsonl")
    assert line.status_code == 200
    assert line.headers["content-disposition"] == f'attachment; filename="salesfloor-{dialogue}.jsonl"'
    assert line.headers["cache-control"] == "no-store"
    stored = json.loads(line.text)
    assert (stored["id"], stored["tier"], stored["turns"][0]["text"]) == (dialogue, "hard", "Hello <b>there</b>")
    page = mei.get(f"/files/dialogues/{dialogue}.html")
    assert page.status_code == 200
    assert page.headers["content-disposition"].startswith("attachment")
    assert "sandbox" in page.headers["content-security-policy"]
    assert "Hello &lt;b&gt;there&lt;/b&gt;" in page.text
    assert "<script" not in page.text


@pytest.mark.parametrize("kind", ["jsonl", "html"])
def test_nobody_gets_anothers_dialogue(server: RunningServer, mei: httpx.Client, kind: str) -> None:
    dialogue = own(server, mei, "private-words")
    for name, roles in (("Sam", {Role.SALESPERSON}), ("Root", {Role.ADMIN}), ("Rita", {Role.SALESPERSON, Role.RESEARCHER})):
        client = server.client(server.account(f"{name} {kind}", *roles))
        response = client.get(f"/files/dialogues/{dialogue}.{kind}")
        assert response.status_code == 404
        assert "private-words" not in response.text
    annotator = server.client(server.account(f"Anna {kind}", Role.ANNOTATOR))
    assert annotator.get(f"/files/dialogues/{dialogue}.{kind}").status_code == 403
    stranger = server.client().get(f"/files/dialogues/{dialogue}.{kind}")
    assert stranger.headers["location"] == f"/sign-in?next=%2Ffiles%2Fdialogues%2F{dialogue}.{kind}"


@pytest.mark.parametrize("kind", ["jsonl", "html"])
def test_nothing_is_told_before_the_end(server: RunningServer, mei: httpx.Client, kind: str) -> None:
    response = mei.get(f"/files/dialogues/{own(server, mei, over=False)}.{kind}", headers=PAGE)
    assert response.status_code == 409
    assert "Everything said so far is saved" in response.text
    assert "propensity" not in response.text


def test_a_baseline_dialogue_comes_as_a_page_without_its_tier(server: RunningServer, mei: httpx.Client) -> None:
    dialogue = own(server, mei, mode=Mode.BASELINE)
    assert mei.get(f"/files/dialogues/{dialogue}.jsonl").status_code == 404
    page = mei.get(f"/files/dialogues/{dialogue}.html")
    assert page.status_code == 200
    assert "Hard" not in page.text
    assert "ropensity" not in page.text


def test_all_of_ones_own(server: RunningServer) -> None:
    account = server.account("Collector", Role.SALESPERSON)
    other = server.account("Somebody else", Role.SALESPERSON)
    client = server.client(account)
    assert client.get("/files/my-dialogues.jsonl").text == ""
    finished = [server.dialogue(account, f"talk {n}", over=True).id for n in range(3)]
    server.dialogue(account, "unfinished")
    server.dialogue(account, "baseline", over=True, mode=Mode.BASELINE)
    server.dialogue(other, "not mine", over=True)
    response = client.get("/files/my-dialogues.jsonl")
    assert {json.loads(line)["id"] for line in response.text.splitlines()} == set(finished)
    assert "attachment" in response.headers["content-disposition"]


@pytest.mark.parametrize(
    "name", ["..%2f..%2fetc%2fpasswd.jsonl", "d-1%22%0d%0ax.jsonl", "%00.html", "x" * 3000 + ".html", ".jsonl"]
)
def test_odd_names_find_nothing(server: RunningServer, mei: httpx.Client, name: str) -> None:
    assert mei.get(f"/files/dialogues/{name}").status_code == 404


def test_the_page_is_in_the_language_of_the_interface(server: RunningServer) -> None:
    account = server.account("王美", Role.SALESPERSON)
    dialogue = server.dialogue(account, "你好", over=True)
    assert 'lang="zh' in server.client(account, language="zh").get(f"/files/dialogues/{dialogue.id}.html").text
