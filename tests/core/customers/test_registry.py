"""Customers by name."""

import asyncio
import json

import pytest

from core.customers.embedded.customer import EmbeddedCustomer
from core.customers.model_customer import ModelCustomer
from core.customers.registry import Customers
from core.errors import InvalidInput
from core.models import Backends
from core.participants import CustomerSource, Reply
from core.settings import ModelEndpoint, Settings
from tests.core.customers.test_model_customer import HELLO
from tests.support.chat_server import MODEL, Answer, ChatServer


async def test_the_embedded_customer_needs_no_model() -> None:
    customers: CustomerSource = Customers(Settings(typing_speed=0))
    customer = await customers.get("embedded")
    assert isinstance(customer, EmbeddedCustomer)
    assert await customers.get("embedded") is customer
    events = [event async for event in customer.reply(HELLO)]
    assert isinstance(events[-1], Reply)


async def test_a_configured_model_becomes_one_customer_for_all() -> None:
    async with ChatServer([Answer(json.dumps({"reply": "Hm.", "ends_conversation": True}))]) as server:
        endpoint = ModelEndpoint(base_url=server.base_url, model=MODEL, temperature=0.1)
        customers = Customers(Settings(models={"buyer": endpoint}))
        first, second = await asyncio.gather(customers.get("buyer"), customers.get("buyer"))
        assert first is second
        assert isinstance(first, ModelCustomer)
        assert first.settings["temperature"] == 0.1
        assert first.settings["reply_format"] == "json"
        reply = [event async for event in first.reply(HELLO)][-1]
        await customers.close()
    assert isinstance(reply, Reply)
    assert (reply.text, reply.leaves) == ("Hm.", True)


async def test_the_reply_format_is_the_endpoints() -> None:
    endpoint = ModelEndpoint(base_url="http://127.0.0.1:1/v1", model=MODEL, reply_format="text")
    customers = Customers(Settings(models={"buyer": endpoint}))
    assert (await customers.get("buyer")).settings["reply_format"] == "text"
    await customers.close()


async def test_shared_models_stay_open() -> None:
    settings = Settings(models={"buyer": ModelEndpoint(base_url="http://127.0.0.1:1/v1", model=MODEL)})
    backends = Backends(settings)
    backend = await backends.get("buyer")
    customers = Customers(settings, backends=backends)
    await customers.get("buyer")
    await customers.close()
    assert await backends.get("buyer") is backend
    await backends.close()


async def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no such model"):
        await Customers(Settings()).get("nobody")
