"""Customers by their configured names."""

from __future__ import annotations

from core.customers.embedded import NAME as EMBEDDED
from core.customers.embedded import EmbeddedCustomer
from core.customers.model_customer import ModelCustomer, ReplyFormat
from core.models import Backends, Progress, sampling_of
from core.participants import Customer
from core.settings import Settings

__all__ = ["Customers"]


class Customers:
    """The customers that settings name: ``embedded``, a configured model, ``transformers:PATH`` or ``vllm:PATH``.

    Each is opened by the first dialogue that asks for it and shared by all. Belongs to one event loop.

    Args:
        settings: names, endpoints and sampling.
        progress: told how slow starts are going.
        backends: models shared with others, such as the salespeople of rollouts; they close them. Default: models of its own.
    """

    def __init__(self, settings: Settings, progress: Progress | None = None, *, backends: Backends | None = None) -> None:
        self._settings = settings
        self._owns_backends = backends is None
        self._backends = backends if backends is not None else Backends(settings, progress)
        self._customers: dict[str, Customer] = {}

    async def get(self, name: str) -> Customer:
        """The customer of that name.

        Raises InvalidInput for an unknown name or an incomplete configuration, ModelError where the model cannot be had.
        """
        customer = self._customers.get(name)
        if customer is None:
            customer = await self._make(name)
            # Two that came at once made two customers around one back end; they are alike, and the first one stays.
            customer = self._customers.setdefault(name, customer)
        return customer

    async def close(self) -> None:
        """Close all customers, and the models unless they are shared."""
        customers = list(self._customers.values())
        self._customers.clear()
        for customer in customers:
            await customer.close()
        if self._owns_backends:
            await self._backends.close()

    async def _make(self, name: str) -> Customer:
        if name == EMBEDDED:
            return EmbeddedCustomer(typing_speed=self._settings.typing_speed)
        backend = await self._backends.get(name)
        sampling = sampling_of(name, self._settings)
        return ModelCustomer(backend, sampling, name, self._reply_format(name), owns_backend=False)

    def _reply_format(self, name: str) -> ReplyFormat:
        """Folders hold models that were tuned to speak as a customer, or small ones: neither is asked for JSON."""
        endpoint = self._settings.models.get(name)
        return "text" if endpoint is None else endpoint.reply_format
