"""What must hold between the files of a library. Each check adds its problems to the document where the mend belongs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from core.scenarios import CustomerSide, DecisionFactor, Language, Portfolio, Product
from data.yaml_reader import Document, KeyPath

__all__ = ["Cities", "Key", "check_cities", "check_customers", "check_portfolios"]

Key = tuple[str, Language]
Cities = Mapping[DecisionFactor, Mapping[Language, tuple[str, ...]]]

_SELLER_SEES = ("goal", "prospect_note")


def check_customers(
    customers: Mapping[Key, tuple[CustomerSide, Document]], products: Mapping[Key, tuple[Product, Document]], unread: Set[str]
) -> None:
    """Each customer's product exists and states what eases the concerns; the seller's side gives no secret away.

    ``unread``: ``<id>.<language>`` of what is there but could not be read, and has its own problems.
    """
    for key, (customer, document) in customers.items():
        if _name(*key) in unread:
            continue
        if key not in products:
            mend = f"write products/{key[0]}.{key[1].value}.yaml"
            document.blame(("product_id",), f"there is no product {key[0]!r} in {key[1].value!r}", mend)
            continue
        product = products[key][0]
        known = [item.id for item in product.evidence]
        for number, concern in enumerate(customer.concerns):
            for place, evidence_id in enumerate(concern.eased_by):
                if evidence_id not in known:
                    fault = f"product {key[0]!r} states no {evidence_id!r}"
                    document.blame(("concerns", number, "eased_by", place), fault, f"use one of {', '.join(known)}")
        _check_secrets(customer, product, document)


def check_portfolios(
    portfolios: Iterable[tuple[Portfolio, Document, int]],
    products: Mapping[Key, tuple[Product, Document]],
    customers: Mapping[Key, tuple[CustomerSide, Document]],
    unread: Set[str],
) -> None:
    """Each portfolio holds known products of its domain, and somebody was written who came for its target.

    ``unread`` as in :func:`check_customers`.
    """
    seen: set[Key] = set()
    for portfolio, document, number in portfolios:
        language = portfolio.language
        if (portfolio.id, language) in seen:
            document.blame((number, "id"), f"{portfolio.id!r} is there twice in {language.value!r}", "give it an id of its own")
        if (portfolio.id, language) in products:
            document.blame((number, "id"), f"{portfolio.id!r} is the id of a product", "give it an id of its own")
        seen.add((portfolio.id, language))
        for place, product_id in enumerate(portfolio.product_ids):
            path: KeyPath = (number, "product_ids", place)
            found = products.get((product_id, language))
            if found is None and _name(product_id, language) not in unread:
                fault = f"there is no product {product_id!r} in {language.value!r}"
                document.blame(path, fault, f"write products/{product_id}.{language.value}.yaml, or remove it here")
            elif found is not None and found[0].domain is not portfolio.domain:
                document.blame(path, f"{product_id!r} is not of domain {portfolio.domain.value!r}", "keep to one domain")
        if (portfolio.target_id, language) not in customers and _name(portfolio.target_id, language) not in unread:
            mend = f"write customers/{portfolio.target_id}.{language.value}.yaml, or choose another target"
            document.blame((number, "target_id"), f"nobody was written who buys {portfolio.target_id!r}", mend)


def check_cities(cities: tuple[Cities, Document | None], customers: Mapping[Key, tuple[CustomerSide, Document]]) -> None:
    """Where cities are listed: each persona's city favours one of the factors that the persona ranks."""
    favoured, document = cities
    if document is None or document.problems:
        return
    for (_, language), (customer, customer_document) in customers.items():
        city = customer.persona.city
        if not any(city in favoured.get(factor, {}).get(language, ()) for factor in customer.ranked_factors):
            fitting = sorted({c for factor in customer.ranked_factors for c in favoured.get(factor, {}).get(language, ())})
            fault = f"{document.name} has {city!r} under none of the ranked factors"
            customer_document.blame(("persona", "city"), fault, f"choose one of {', '.join(fitting)}, or list it there")


def _name(entry_id: str, language: Language) -> str:
    return f"{entry_id}.{language.value}"


def _check_secrets(customer: CustomerSide, product: Product, document: Document) -> None:
    """The salesperson's script holds the product, the goal and the note; no secret may stand there word for word."""
    sheet = product.model_dump_json().casefold()
    secrets: dict[KeyPath, str] = {("motivations", n): text for n, text in enumerate(customer.motivations)}
    secrets |= {("pain_points", n): text for n, text in enumerate(customer.pain_points)}
    for path, secret in secrets.items():
        for name in _SELLER_SEES:
            if secret.casefold() in getattr(customer, name).casefold():
                document.blame((name,), f"it gives away {path[0]}[{path[1]}], which the salesperson must not see", "reword it")
        if secret.casefold() in sheet:
            document.blame(path, "the product's sheet has this text, and the salesperson sees the sheet", "reword it")
