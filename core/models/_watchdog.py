"""Runs a command in a process group of its own and ends the whole group when standard input closes.

A script, run as ``python -I _watchdog.py GRACE COMMAND…``; it needs nothing but the standard library. Its standard input is a
pipe whose other end Salesfloor holds: the system closes that end however Salesfloor goes, ``kill -9`` included, so no model
server outlives it. ``GRACE`` is the number of seconds between SIGTERM and SIGKILL. Exits with the command's own status.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time


def main() -> int:
    grace = float(sys.argv[1])
    child = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, start_new_session=True)  # noqa: S603 (the app's own command)
    over = threading.Event()

    def wait_for_release() -> None:
        while os.read(0, 4096):
            pass
        over.set()

    def wait_for_child() -> None:
        child.wait()
        over.set()

    for wait in (wait_for_release, wait_for_child):
        threading.Thread(target=wait, daemon=True).start()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: over.set())
    over.wait()
    _end_group(child, grace)
    status = child.wait()
    return status if status >= 0 else 128 - status


def _end_group(child: subprocess.Popen[bytes], grace: float) -> None:
    """The command may be gone while processes that it started are left, and the other way round."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGTERM)
        deadline = time.monotonic() + grace
        while time.monotonic() < deadline and _group_lives(child):
            time.sleep(0.05)
        os.killpg(child.pid, signal.SIGKILL)


def _group_lives(child: subprocess.Popen[bytes]) -> bool:
    child.poll()
    try:
        os.killpg(child.pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
