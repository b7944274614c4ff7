"""A local model folder as a customer, from its name to a spoken turn."""

import importlib.util
from pathlib import Path

import pytest

from core.customers.model_customer import ModelCustomer
from core.models import open_backend
from core.participants import Reply, TextDelta
from core.settings import Sampling, Settings
from tests.core.customers.test_model_customer import HELLO

pytestmark = pytest.mark.local

HAS_LOCAL = importlib.util.find_spec("torch") is not None and importlib.util.find_spec("transformers") is not None
if HAS_LOCAL:
    import torch

    from tests.support.tiny_model import build_tiny_model


@pytest.mark.skipif(not HAS_LOCAL, reason="the extra `local` is not installed")
async def test_a_folder_plays_a_customer(tmp_path: Path) -> None:
    torch.set_num_threads(1)
    folder = build_tiny_model(tmp_path / "tiny-qwen2", context=8192)
    backend = await open_backend(f"transformers:{folder}", Settings())
    customer = ModelCustomer(backend, Sampling(max_tokens=24), f"transformers:{folder}", "text")
    try:
        events = [event async for event in customer.reply(HELLO)]
    finally:
        await customer.close()
    *deltas, reply = events
    assert isinstance(reply, Reply)
    assert any(isinstance(event, TextDelta) for event in deltas)
    assert reply.text
    assert reply.model == "tiny-qwen2"
    assert reply.usage is not None
    assert reply.usage.prompt_tokens > 1000
