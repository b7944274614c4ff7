"""The scenario library's nouns: products, personas, customer sides, tiers, scenarios and portfolios.

Everything here is frozen and validated on construction. The shipped library (``data/library``) is a folder of YAML files
in exactly these shapes; :mod:`data.library` reads it and reports each bad field by file and place.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

__all__ = [
    "BaseId",
    "Concern",
    "CustomerSide",
    "DecisionFactor",
    "Domain",
    "Evidence",
    "Fact",
    "FactTopic",
    "Frozen",
    "Language",
    "ObjectionKind",
    "Opener",
    "Persona",
    "Portfolio",
    "Price",
    "Product",
    "Scenario",
    "Setting",
    "Slug",
    "Text",
    "Tier",
    "TierProfile",
    "member_of",
    "scenario_id",
]


class Frozen(BaseModel):
    """Base of every domain object: immutable, and strict about unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)


Text = Annotated[str, StringConstraints(min_length=1, max_length=2000)]
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(?:-[a-z0-9]+)*$", max_length=48)]
BaseId = Annotated[str, StringConstraints(pattern=r"^(?:fin|con)-[a-z0-9]+(?:-[a-z0-9]+)*-\d{2}$", max_length=48)]


class Language(StrEnum):
    """A dialogue keeps to one language."""

    EN = "en"
    ZH = "zh"


class Domain(StrEnum):
    FINANCIAL = "financial"
    CONSUMER = "consumer"


class Setting(StrEnum):
    """How much the salesperson holds, and over how many sessions."""

    SINGLE = "single"
    MULTI_PRODUCT = "multi_product"
    LONG_HORIZON = "long_horizon"


class Tier(StrEnum):
    """Difficulty: a prior buying propensity and a buyer style, written only into the customer's script."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"
    VERY_HARD = "very_hard"
    ADVERSARIAL = "adversarial"


class DecisionFactor(StrEnum):
    """The ten dimensions a buyer weighs."""

    RETURNS_AND_COST = "returns_and_cost"
    SAFETY_AND_PROTECTION = "safety_and_protection"
    BRAND_TRUST = "brand_trust"
    CORE_QUALITY = "core_quality"
    TRANSPARENCY = "transparency"
    SUPPORT_AND_CLAIMS = "support_and_claims"
    CONVENIENCE = "convenience"
    AVAILABILITY = "availability"
    SOCIAL_PROOF = "social_proof"
    FIT_AND_FLEXIBILITY = "fit_and_flexibility"


class FactTopic(StrEnum):
    """The facts a salesperson must surface to qualify and tailor an offer."""

    BUDGET = "budget"
    TIME_HORIZON = "time_horizon"
    RISK_TOLERANCE = "risk_tolerance"
    COMPETING_OPTIONS = "competing_options"
    DECISION_AUTHORITY = "decision_authority"


class ObjectionKind(StrEnum):
    PRICE = "price"
    RISK = "risk"
    TRUST = "trust"
    FIT = "fit"
    TIMING = "timing"


class Opener(StrEnum):
    """Who speaks first."""

    SALESPERSON = "salesperson"
    CUSTOMER = "customer"


class Evidence(Frozen):
    """One checkable statement of the product sheet: a specification or a key feature.

    ``aliases`` are other ways a salesperson may say it: short phrases, synonyms, the number written differently. The
    embedded customer recognises a statement by its text, its numbers and its aliases.
    """

    id: Slug
    name: Text
    text: Text
    factors: tuple[DecisionFactor, ...] = Field(min_length=1, max_length=3)
    aliases: tuple[Text, ...] = ()


class Price(Frozen):
    """What it costs or pays, and what the salesperson may offer beyond the list price."""

    headline: Text
    details: tuple[Text, ...] = ()
    allowed_offers: tuple[Text, ...] = Field(
        default=(), description="Every discount, gift or guarantee that may be offered. Empty: the list price stands."
    )


class Product(Frozen):
    """What is sold. Rendered whole into the salesperson's script."""

    id: BaseId
    language: Language
    domain: Domain
    category: Slug
    category_name: Text
    name: Text
    short_name: Text = Field(description="How people call it in conversation: 'the fixed deposit', '这款存款'.")
    summary: Text
    specifications: tuple[Evidence, ...] = Field(min_length=4)
    key_features: tuple[Evidence, ...] = Field(min_length=3)
    selling_points: tuple[Text, ...] = Field(min_length=3)
    price: Price

    @model_validator(mode="after")
    def _evidence_ids_are_unique(self) -> Self:
        ids = [item.id for item in self.evidence]
        doubled = sorted({i for i in ids if ids.count(i) > 1})
        if doubled:
            raise ValueError(f"evidence ids used twice: {', '.join(doubled)}; give each statement its own id")
        prefix = "fin" if self.domain is Domain.FINANCIAL else "con"
        if not self.id.startswith(prefix + "-"):
            raise ValueError(f"id {self.id!r} does not fit domain {self.domain.value!r}; start it with '{prefix}-'")
        return self

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Specifications and key features, in the order of the sheet."""
        return self.specifications + self.key_features

    def find_evidence(self, evidence_id: str) -> Evidence:
        """Return the statement with that id. Raises KeyError."""
        for item in self.evidence:
            if item.id == evidence_id:
                return item
        raise KeyError(evidence_id)


class Persona(Frozen):
    """The customer's base person."""

    name: Text
    age: int = Field(ge=18, le=95)
    occupation: Text
    city: Text
    household: Text
    manner: Text = Field(description="How this person talks, in a few words.")


class Fact(Frozen):
    """Something about the customer that is told only when asked."""

    topic: FactTopic
    statement: Text = Field(description="First person, as the customer would say it, one or two short sentences.")
    summary: Text = Field(description="Third person and short, for scorecards.")


class Concern(Frozen):
    """A reservation of this customer about this product, in the customer's own words."""

    id: Slug
    kind: ObjectionKind
    factor: DecisionFactor
    label: Text = Field(description="A short noun phrase, for scorecards: 'penalty for early withdrawal'.")
    topic_words: tuple[Text, ...] = Field(
        min_length=3, description="Words and phrases by which a salesperson's remark is recognised as being about this."
    )
    question: Text = Field(description="The concern as a neutral question.")
    worry: Text = Field(description="The concern as an objection.")
    pushback: Text = Field(description="Said when the answer was vague, beside the point, or repeated.")
    eased: Text = Field(description="Said when specific evidence has met it.")
    eased_by: tuple[Slug, ...] = Field(min_length=1, description="Ids of the product statements that meet it.")


class CustomerSide(Frozen):
    """A persona enriched for one product. Never seen by the salesperson, apart from ``prospect_note`` and ``goal``."""

    product_id: BaseId
    language: Language
    persona: Persona
    opens: Opener = Opener.SALESPERSON
    opening_lines: tuple[Text, ...] = Field(min_length=2, description="What the customer says first, or on being greeted.")
    goal: Text = Field(description="The salesperson's stated goal; it is on their script and annotators see it.")
    prospect_note: Text = Field(description="The little that a seller would know beforehand.")
    need: Text = Field(description="First person: what brings this customer, said when asked an open question.")
    situation: Text = Field(description="First person: how things are today, said when asked about the present state.")
    motivations: tuple[Text, ...] = Field(min_length=2)
    pain_points: tuple[Text, ...] = Field(min_length=2)
    ranked_factors: tuple[DecisionFactor, ...] = Field(min_length=3, max_length=6)
    concerns: tuple[Concern, ...] = Field(min_length=3, max_length=5)
    facts: tuple[Fact, ...] = Field(min_length=5, max_length=5)
    next_step: Text = Field(description="The next step this customer would accept, first person and concrete.")
    next_step_words: tuple[Text, ...] = Field(
        min_length=2, description="Words by which a proposed next step is recognised: 'branch appointment', '上门看车'."
    )
    commitment: Text = Field(description="First person: what the customer says when clearly going ahead.")

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        topics = {fact.topic for fact in self.facts}
        missing = [topic.value for topic in FactTopic if topic not in topics]
        if missing:
            raise ValueError(f"facts lack {', '.join(missing)}; write one fact for each of the five topics")
        ids = [concern.id for concern in self.concerns]
        if len(set(ids)) != len(ids):
            raise ValueError("two concerns share an id; give each its own")
        if len(set(self.ranked_factors)) != len(self.ranked_factors):
            raise ValueError("ranked_factors names a factor twice; each may stand once")
        return self

    def fact(self, topic: FactTopic) -> Fact:
        """The fact on that topic; there is always one."""
        return next(fact for fact in self.facts if fact.topic is topic)


class TierProfile(Frozen):
    """Propensity and buyer style of a tier, in one language."""

    tier: Tier
    propensity: float = Field(ge=0.0, le=1.0)
    style: Text


class Portfolio(Frozen):
    """Several products of one catalogue, sold to the customer of one of them (the target)."""

    id: BaseId
    language: Language
    domain: Domain
    name: Text
    goal: Text = Field(description="In place of the target customer's, which would give the target away.")
    prospect_note: Text = Field(description="In place of the target customer's.")
    target_id: BaseId
    product_ids: tuple[BaseId, ...] = Field(min_length=2, max_length=15)

    @model_validator(mode="after")
    def _holds_its_target(self) -> Self:
        if self.target_id not in self.product_ids:
            raise ValueError(f"target {self.target_id!r} is not among product_ids; add it")
        if len(set(self.product_ids)) != len(self.product_ids):
            raise ValueError("product_ids names a product twice; each may stand once")
        return self


class Scenario(Frozen):
    """One sale to be made: product or portfolio, customer, tier, language, setting.

    ``products[0]`` is the target: the product that ``customer`` was written for.
    """

    id: str
    base: BaseId
    language: Language
    setting: Setting
    domain: Domain
    category: Slug
    title: Text
    products: tuple[Product, ...] = Field(min_length=1)
    customer: CustomerSide
    tier: TierProfile

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.id != scenario_id(self.base, self.tier.tier, self.language):
            raise ValueError(f"id {self.id!r} is not <base>.<tier>.<language> of this scenario")
        target = self.products[0]
        if target.id != self.customer.product_id:
            raise ValueError(f"customer was written for {self.customer.product_id!r}, not for {target.id!r}")
        known = {item.id for item in target.evidence}
        for concern in self.customer.concerns:
            unknown = [i for i in concern.eased_by if i not in known]
            if unknown:
                raise ValueError(
                    f"concern {concern.id!r} is eased by {', '.join(unknown)}, which {target.id!r} does not state; "
                    f"name specifications or key features of the product"
                )
        if {p.language for p in self.products} | {self.customer.language} != {self.language}:
            raise ValueError("products and customer must be in the scenario's language")
        return self

    @property
    def product(self) -> Product:
        """The target product."""
        return self.products[0]

    @property
    def sheets(self) -> tuple[Product, ...]:
        """The products in the order of the salesperson's script: by id, so that the target's place tells nothing."""
        return tuple(sorted(self.products, key=lambda product: product.id))

    @property
    def goal(self) -> str:
        return self.customer.goal

    @property
    def propensity(self) -> float:
        return self.tier.propensity


E = TypeVar("E", bound=StrEnum)


def member_of(kind: type[E], value: object) -> E | None:
    """The member of ``kind`` with that value, or None. For values that come from outside."""
    return next((member for member in kind if member.value == value), None)


def scenario_id(base: str, tier: Tier, language: Language) -> str:
    """``fin-deposit-01.hard.zh``."""
    return f"{base}.{tier.value}.{language.value}"
