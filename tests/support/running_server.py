"""The real application on a free port, over a store of its own."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from itsdangerous import Signer

from core.accounts import Account, Role
from core.dialogues import Dialogue, EndReason, Mode, NewTurn, Participant, utc_now
from core.dialogues import Role as Speaker
from core.engine import DialogueEngine
from core.participants import Customer, Reply, ReplyEvent, TextDelta
from core.practice import Practice
from core.scoring import Scorecard
from core.settings import Settings
from data.accounts import AccountRepository
from data.passwords import hash_password
from data.practice_store import SqlPracticeStore, SqlScenarios
from data.scenarios import ScenarioRepository
from data.store import Store
from tests.support.store_factory import a_scenario, shipped, sqlite_url
from ui.identity import SESSION_COOKIE, load_secret
from ui.server import build_app, serve_on
from ui.services import Services


class PoliteCustomer:
    """Answers every turn at once with the same words."""

    participant = Participant(kind="model", name="polite")
    settings: Mapping[str, Any] = {}

    async def reply(self, dialogue: Dialogue) -> AsyncGenerator[ReplyEvent, None]:
        yield TextDelta("I see. ")
        await asyncio.sleep(0)
        yield TextDelta("Tell me more.")
        yield Reply("I see. Tell me more.")


class OneCustomer:
    async def get(self, name: str) -> Customer:
        return PoliteCustomer()


@dataclass
class RunningServer:
    """The application as a browser meets it, and the store behind it."""

    url: str
    services: Services
    secret: bytes
    _clients: list[httpx.Client] = field(default_factory=list)

    @property
    def store(self) -> Store:
        return self.services.store

    def account(self, name: str, *roles: Role, password: str | None = None) -> Account:
        """The account of that name; made with these roles if there is none."""
        hashed = hash_password(password) if password is not None else None
        with self.store.session() as session:
            return AccountRepository(session).add(name, roles, password_hash=hashed)

    def link(self, account: Account) -> str:
        """The address of a fresh one-time link."""
        with self.store.session() as session:
            return f"{self.url}/link/{AccountRepository(session).issue_link(account.name)}"

    def session_cookie(self, account: Account) -> str:
        """The value of a signed-in browser's cookie."""
        with self.store.session() as session:
            token = AccountRepository(session).start_web_session(account.id)
        return Signer(self.secret, salt="session").sign(token).decode()

    def client(self, account: Account | None = None, *, language: str = "en", origin: bool = True) -> httpx.Client:
        """A browser's requests, signed in as ``account``; it names its origin as browsers do, and follows no redirect."""
        headers = {"accept-language": language, **({"origin": self.url} if origin else {})}
        client = httpx.Client(base_url=self.url, headers=headers, timeout=20)
        if account is not None:
            client.cookies.set(SESSION_COOKIE, self.session_cookie(account), domain="127.0.0.1", path="/")
        self._clients.append(client)
        return client

    def dialogue(self, account: Account, *said: str, over: bool = False, mode: Mode = Mode.PRACTICE) -> Dialogue:
        """A dialogue that the account sold, with the customer's answers."""
        scenario = a_scenario()
        store = SqlPracticeStore(self.store)
        dialogue = store.create(
            Dialogue(
                scenario=scenario,
                scenario_id=scenario.id,
                language=scenario.language,
                domain=scenario.domain,
                tier=scenario.tier.tier,
                setting=scenario.setting,
                propensity=scenario.propensity,
                goal=scenario.goal,
                mode=mode,
                salesperson=Participant(kind="human", name=account.name),
                customer=PoliteCustomer.participant,
                account_id=account.id,
            )
        )
        for text in said:
            for role, words in ((Speaker.SALESPERSON, text), (Speaker.CUSTOMER, f"You said: {text}")):
                dialogue = store.append(dialogue.id, NewTurn(role=role, text=words), len(dialogue.turns))
        return store.end(dialogue.id, EndReason.SALESPERSON, utc_now()) if over else dialogue

    def close(self) -> None:
        for client in self._clients:
            client.close()


def no_card(_: Dialogue) -> Scorecard | None:
    return None


def make_services(folder: Path, **settings: Any) -> Services:
    """Services over a migrated store in ``folder``, with the shipped scenarios in it."""
    store = Store(sqlite_url(folder))
    store.migrate()
    with store.session() as session:
        ScenarioRepository(session).upsert(shipped())
    practice_store = SqlPracticeStore(store)
    engine = DialogueEngine(practice_store, OneCustomer())
    practice = Practice(engine, practice_store, SqlScenarios(store), customer="polite", score=no_card)
    return Services(settings=Settings(data_dir=folder, **settings), store=store, engine=engine, practice=practice)


def start(services: Services) -> Iterator[RunningServer]:
    """Serve ``services`` from a thread, on a free port of the loopback address."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    served = serve_on(build_app(services), trust_proxy=services.settings.trust_proxy)
    thread = threading.Thread(target=lambda: served.run(sockets=[listener]), name="server")
    thread.start()
    deadline = time.monotonic() + 30
    while not served.started:
        assert thread.is_alive(), "the server did not start"
        assert time.monotonic() < deadline, "the server took too long to start"
        time.sleep(0.02)
    secret = load_secret(services.settings.data_dir)
    running = RunningServer(f"http://127.0.0.1:{listener.getsockname()[1]}", services, secret)
    try:
        yield running
    finally:
        running.close()
        served.should_exit = True
        thread.join(15)
        listener.close()
        services.store.close()
        assert not thread.is_alive(), "the server did not stop"
