"""The written examples: what is heard in them, move by move, in precision and recall."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from core.customers.embedded.acts import SellerMove, Understood
from core.customers.embedded.understanding import understand
from core.scenarios import Language

HERE = Path(__file__).parent
EVIDENCE_MOVES = (SellerMove.INFORM, SellerMove.ADDRESS_CONCERN)


@dataclass(frozen=True)
class Example:
    part: str
    language: Language
    text: str
    group: dict[str, Any]

    @property
    def expected(self) -> frozenset[str]:
        return frozenset(self.group["expect"])

    @property
    def allowed(self) -> frozenset[str]:
        return frozenset(self.group.get("allow", ()))

    def read(self, library: Any) -> Understood:
        scenario = library.scenario(self.group["scenario"], self.language)
        return understand(self.text, scenario, self.group.get("earlier", ()), self.group.get("last"))


def examples(language: Language) -> Iterator[Example]:
    for group in yaml.safe_load((HERE / f"examples.{language.value}.yaml").read_text(encoding="utf-8")):
        for text in group["turns"]:
            yield Example(group["part"], language, text, group)


def labels(understood: Understood) -> set[str]:
    """Moves heard, with keys. A remark that says nothing of the sheet is no claim about anything and is left out."""
    heard: set[str] = set()
    for act in understood.acts:
        if act.move is SellerMove.ASK_FACT and act.topic:
            heard.add(f"{act.move.value}:{act.topic.value}")
        elif act.move is SellerMove.ADDRESS_CONCERN:
            heard.add(f"{act.move.value}:{act.concern_id}")
        elif act.move is not SellerMove.INFORM:
            heard.add(act.move.value)
        if act.move in EVIDENCE_MOVES:
            heard |= {f"inform:{evidence_id}" for evidence_id in act.evidence_ids}
    return heard


def move_of(label: str) -> str:
    return label.partition(":")[0]


@dataclass
class Score:
    hits: Counter[str] = field(default_factory=Counter)
    false: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def add(self, example: Example, understood: Understood) -> None:
        heard = labels(understood)
        said = {move_of(label) for label in example.expected}
        for label in sorted(heard | example.expected):
            move = move_of(label)
            if label in heard and label in example.expected:
                self.hits[move] += 1
            elif label in example.expected:
                self.missed[move] += 1
                self.faults.append(f"missed {label}: {example.text!r} -> {sorted(heard)}")
            elif not {label, move} & example.allowed and not (move == "inform" and {"address_concern", "inform"} & said):
                self.false[move] += 1
                self.faults.append(f"false {label}: {example.text!r}")
        wanted = example.group.get("specific")
        step = understood.first(SellerMove.PROPOSE_STEP)
        if wanted is not None and step is not None and step.specific is not wanted:
            self.false["propose_step"] += 1
            self.faults.append(f"specific should be {wanted}: {example.text!r}")

    def precision(self, moves: set[str] | None = None) -> float:
        return self._share(self.false, moves)

    def recall(self, moves: set[str] | None = None) -> float:
        return self._share(self.missed, moves)

    def _share(self, errors: Counter[str], moves: set[str] | None) -> float:
        chosen = moves or set(self.hits) | set(errors)
        hits, wrong = sum(self.hits[m] for m in chosen), sum(errors[m] for m in chosen)
        return hits / (hits + wrong) if hits + wrong else 1.0

    def table(self) -> str:
        rows = [f"{'move':16} {'n':>4} {'precision':>9} {'recall':>7}"]
        for move in sorted(set(self.hits) | set(self.false) | set(self.missed)):
            count = self.hits[move] + self.missed[move]
            rows.append(f"{move:16} {count:4d} {self.precision({move}):9.2f} {self.recall({move}):7.2f}")
        rows.append(
            f"{'all':16} {sum(self.hits.values()) + sum(self.missed.values()):4d} {self.precision():9.2f} {self.recall():7.2f}"
        )
        return "\n".join(rows)


def report(language: Language, part: str, library: Any) -> Score:
    """Score one part of the examples and print the table, so that ``pytest -s`` shows what the listener can do."""
    total = Score()
    for example in examples(language):
        if example.part == part:
            total.add(example, example.read(library))
    print(f"\n{language.value}, {part}\n{total.table()}", *total.faults, sep="\n")
    return total


@pytest.mark.parametrize("language", list(Language))
def test_every_move_has_its_examples(language: Language) -> None:
    said: Counter[str] = Counter()
    for example in examples(language):
        said.update({move_of(label) for label in example.expected})
    short = {move.value: said[move.value] for move in SellerMove if said[move.value] < 6}
    assert not short, f"fewer than six paraphrases: {short}"


@pytest.mark.parametrize("language", list(Language))
def test_held_out_examples(language: Language, library: Any) -> None:
    total = report(language, "held-out", library)
    assert total.precision() >= 0.9
    assert total.recall() >= 0.8


@pytest.mark.parametrize("language", list(Language))
def test_tuning_examples(language: Language, library: Any) -> None:
    total = report(language, "tuning", library)
    assert total.precision() >= 0.97
    assert total.recall() >= 0.97
