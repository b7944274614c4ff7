"""The product as a process of its own: started like a user starts it, killed without warning, started again."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from queue import Empty, Queue

from core.accounts import Role
from data.accounts import AccountRepository
from data.store import Store

__all__ = ["Product"]

ROOT = Path(__file__).parents[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Product:
    """``python app.py serve`` over a store in ``folder``. The port stays the same across restarts."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.link: str | None = None
        self.output: list[str] = []
        self._settings = settings
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    @property
    def environment(self) -> dict[str, str]:
        given = {f"SALESFLOOR_{name.upper()}": value for name, value in self._settings.items()}
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("SALESFLOOR_")}
        return {**inherited, "SALESFLOOR_DATA_DIR": str(self.folder), "PYTHONUNBUFFERED": "1", **given}

    def start(self, *, within_s: float = 60.0) -> float:
        """Start and wait until the pages can be opened. Returns the seconds it took."""
        began = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, "app.py", "serve", "--port", str(self.port)],
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        lines: Queue[str] = Queue()
        self._reader = threading.Thread(target=self._read, args=(self._process, lines), daemon=True)
        self._reader.start()
        deadline = began + within_s
        opened = False
        while not opened or not lines.empty():
            try:
                line = lines.get(timeout=0.3 if opened else max(0.01, deadline - time.monotonic()))
            except Empty:
                if opened:
                    break
                raise AssertionError("the product did not start:\n" + "\n".join(self.output)) from None
            opened = opened or "is open at" in line
            found = re.search(r"(/link/\S+)", line)
            if found:
                self.link = self.url + found.group(1)
        return time.monotonic() - began

    def kill(self) -> None:
        """SIGKILL to the whole group: nothing is said goodbye to."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(10)
        self._forget()

    def stop(self) -> None:
        """The way that Ctrl+C does it."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(15)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError("the product did not stop:\n" + "\n".join(self.output)) from None
        self._forget()

    def run(self, *arguments: str, text: str | None = None) -> str:
        """Run a command of the product on the same store; returns what it printed."""
        done = subprocess.run(
            [sys.executable, "app.py", *arguments],
            cwd=ROOT, env=self.environment, input=text, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
        return done.stdout

    def link_for(self, name: str, *roles: Role) -> str:
        """A fresh one-time sign-in link; makes the account with these roles where there is none."""
        store = Store(f"sqlite:///{self.folder / 'salesfloor.sqlite'}")
        try:
            with store.session() as session:
                accounts = AccountRepository(session)
                if name not in {account.name for account in accounts.list()}:
                    accounts.add(name, roles)
                return f"{self.url}/link/{accounts.issue_link(name)}"
        finally:
            store.close()

    def _forget(self) -> None:
        """The reader has come to the end of the output: then its pipe can be closed."""
        assert self._process is not None
        assert self._reader is not None
        self._reader.join(10)
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = self._reader = None

    def _read(self, process: subprocess.Popen[str], lines: Queue[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.output.append(line.rstrip())
            lines.put(line)
