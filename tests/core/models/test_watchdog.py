"""The watchdog ends a whole process group when its owner lets go, whatever the processes think of it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

import core.models._vllm as vllm

WATCHDOG = Path(vllm.__file__).with_name("_watchdog.py")

HELPER = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"

STUBBORN = f"""
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
helper = subprocess.Popen([sys.executable, "-c", {HELPER!r}], stdout=subprocess.PIPE)
helper.stdout.readline()
print(helper.pid, flush=True)
time.sleep(60)
"""

LEAVER = f"""
import subprocess, sys
helper = subprocess.Popen([sys.executable, "-c", {HELPER!r}], stdout=subprocess.PIPE)
helper.stdout.readline()
print(helper.pid, flush=True)
"""


def start(*command: str, grace: float = 0.3) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", str(WATCHDOG), str(grace), *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("how", ["closes the pipe", "sends SIGTERM"])
def test_the_stubborn_are_killed_with_their_helpers(how: str) -> None:
    with start(sys.executable, "-c", STUBBORN) as watchdog:
        assert watchdog.stdout is not None
        assert watchdog.stdin is not None
        helper = int(watchdog.stdout.readline())
        (main,) = psutil.Process(watchdog.pid).children()
        assert os.getpgid(helper) == os.getpgid(main.pid) != os.getpgid(watchdog.pid)
        if how == "closes the pipe":
            watchdog.stdin.close()
        else:
            watchdog.send_signal(signal.SIGTERM)
        assert watchdog.wait(10) == 128 + signal.SIGKILL
    deadline = time.monotonic() + 5
    while alive(helper) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(helper)
    assert not alive(main.pid)


def test_the_commands_own_status_is_passed_on() -> None:
    with start(sys.executable, "-c", "raise SystemExit(7)") as watchdog:
        assert watchdog.wait(10) == 7


def test_what_a_dead_command_leaves_behind_is_ended() -> None:
    with start(sys.executable, "-c", LEAVER) as watchdog:
        assert watchdog.stdout is not None
        orphan = int(watchdog.stdout.readline())
        assert watchdog.wait(10) == 0
    assert not alive(orphan)
