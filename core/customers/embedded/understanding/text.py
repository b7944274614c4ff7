"""A turn cut into sentences and clauses, in a normal form that patterns can be matched against.

The normal form keeps no offsets: every clause knows its own span in the original, and a match is attributed to the clause in
which it starts. Quotes are therefore always verbatim pieces of the turn.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from core.scenarios import Language

__all__ = ["Clause", "Turn", "is_in_language", "normalise", "read_turn"]

MAX_CHARACTERS = 4000


@dataclass(frozen=True)
class Clause:
    start: int
    end: int
    """Span in the original text."""
    sentence: int
    text: str
    """Normal form."""
    question: bool
    """Whether it asks something."""


@dataclass(frozen=True)
class Turn:
    original: str
    clauses: tuple[Clause, ...]
    text: str
    """Normal form of the whole: clauses joined by a comma (and a blank in English), sentences by a line break."""
    starts: tuple[int, ...]
    """Where each clause begins in :attr:`text`."""
    length: int
    """Words in English, characters in Chinese."""

    def clause_at(self, offset: int) -> int:
        """Index of the clause that holds this offset of :attr:`text`."""
        return max(0, bisect_right(self.starts, offset) - 1)

    def quote(self, clause: int) -> str:
        """The clause as it was said."""
        item = self.clauses[clause]
        return self.original[item.start : item.end]

    def sentence_quote(self, sentence: int) -> str:
        """The sentence as it was said."""
        members = [clause for clause in self.clauses if clause.sentence == sentence]
        return self.original[members[0].start : members[-1].end]


# -- Normal form ----------------------------------------------------------------------------------------------------------

_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
_ALIKE = {"“": '"', "”": '"', "‘": "'", "’": "'", "`": "'", "´": "'", "…": ".", "。": ".", "、": "、", "《": '"', "》": '"'}
_WIDTH = str.maketrans({**{chr(k): chr(v) for k, v in _FULL_WIDTH.items()}, **_ALIKE})
_APOSTROPHES = re.compile(r"[‘’`´]")

_CONTRACTIONS = (
    (re.compile(r"\b(can)'?t\b(?!\w)"), "can not"),
    (re.compile(r"\bcannot\b"), "can not"),
    (re.compile(r"\bwon'?t\b"), "will not"),
    (re.compile(r"\bshan'?t\b"), "shall not"),
    (re.compile(r"\bain'?t\b"), "is not"),
    (re.compile(r"\b(do|does|did|is|are|was|were|has|have|had|would|could|should|need|must|might)n'?t\b"), r"\1 not"),
    (re.compile(r"\b(i)'?m\b"), "i am"),
    (re.compile(r"\b(you|we|they)'?re\b(?<!were)"), r"\1 are"),
    (re.compile(r"\b(i|you|we|they|who|there|it|that|he|she|what|this)'ll\b"), r"\1 will"),
    (re.compile(r"\b(you|they)ll\b"), r"\1 will"),
    (re.compile(r"\b(i|you|we|they|he|she|it|who|what|that)'d\b"), r"\1 would"),
    (re.compile(r"\b(youd|theyd)\b"), lambda match: match[0][:-1] + " would"),
    (re.compile(r"\b(i|you|we|they|who|would|could|should)'?ve\b"), r"\1 have"),
    (re.compile(r"\b(what|who|how|where|when|it|that|there|here|he|she|this|everything|one|why)'s\b"), r"\1 is"),
    (re.compile(r"\b(what|how|that|where|who|there|here)s\b"), r"\1 is"),
    (
        re.compile(
            r"\blet'?s\b(?= (get|go|do|make|meet|talk|see|set|book|fix|sign|open|start|have|arrange|say|look|call|put|put))"
        ),
        "let us",
    ),
    (re.compile(r"\blet's\b"), "let us"),
    (re.compile(r"\b(wanna)\b"), "want to"),
    (re.compile(r"\b(gonna)\b"), "going to"),
    (re.compile(r"\b(gotta)\b"), "got to"),
    (re.compile(r"\b(lemme)\b"), "let me"),
    (re.compile(r"\b(gimme)\b"), "give me"),
    (re.compile(r"\by'?all\b"), "you"),
    (re.compile(r"\bpls\b|\bplz\b"), "please"),
    (re.compile(r"\bu\b(?!\.)"), "you"),
    (re.compile(r"\bur\b"), "your"),
    (re.compile(r"\b(\w+)'s?(?!\w)"), r"\1"),
)
_ENGLISH_NOISE = re.compile(r"[^\w%$£€.,:/+&?]+|_")
_LOOSE_MARKS = re.compile(r"(?<!\d)[.,:]|[.,:](?!\d)|[?/&+](?!\d)")
_BLANKS = re.compile(r"\s+")
_CHINESE_NOISE = re.compile(r"[^\w%¥$.:+\-/]+|_")


@lru_cache(maxsize=4096)
def normalise(text: str, language: Language) -> str:
    """The normal form of a piece of text without sentence breaks: see the header of the lexicons."""
    folded = text.translate(_WIDTH).lower()
    return _english(folded) if language is Language.EN else _chinese(folded)


def _english(text: str) -> str:
    if "'" in text or len(text) < MAX_CHARACTERS:
        for pattern, replacement in _CONTRACTIONS:
            text = pattern.sub(replacement, text)
    text = _ENGLISH_NOISE.sub(" ", text)
    text = _LOOSE_MARKS.sub(" ", text)
    return _BLANKS.sub(" ", text).strip()


def _chinese(text: str) -> str:
    text = _CHINESE_NOISE.sub(" ", text)
    text = _LOOSE_MARKS.sub(" ", text)
    # A blank between Latin words stays; beside a Chinese character it means nothing.
    return re.sub(r"(?<![a-z0-9])\s+|\s+(?![a-z0-9])", "", text).strip()


# -- Cutting --------------------------------------------------------------------------------------------------------------

_SENTENCE_END = re.compile(r"(?:[!?;。！？；…\n\r]|\.(?=\s|$|[\"'”’)])|\.{2,})+[\"'”’)\]]*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|vs|no|approx|e\.g|i\.e|etc|inc|ltd|co|u\.s|a\.m|p\.m|p\.a))\.$", re.IGNORECASE
)
_CLAUSE_END = re.compile(r"[,，:：—–](?!\d)|(?<!\d)[,，:：](?=\d)|\s-+\s|(?<=[一-鿿])\s+(?=[一-鿿])")
_CLAUSE_END_SPACED = re.compile(r"[,，:：—–](?!\d)|(?<!\d)[,，:：](?=\d)|\s-+\s")
_SPACED_OUT = re.compile(r"(?:[一-鿿]\s+){3}")
_RUN_ON = {
    Language.EN: re.compile(
        r"(?<!know )(?<!me )(?<!ask )(?<!wonder )(?<!wondering )(?<!about )(?<!with )(?<!matter )(?<!is )(?<!see )(?<!if )"
        r"(?<!then )(?<!and )(?<!but )(?<!so )\b"
        r"(?=(?:how much|how long|how soon|what is your|what's your|whats your|what are you|what do you|who else|would you|do you"
        r"|are you|have you|can i|could i|shall we|shall i|may i)\b)",
        re.IGNORECASE,
    ),
    Language.ZH: re.compile(r"(?=请问)"),
}
_QUESTION_WORD = re.compile(r"\b(?:how|what|when|which|who|where|why)\b", re.IGNORECASE)
_RUN_ON_LENGTH = {Language.EN: 40, Language.ZH: 10}
_RUN_ON_PIECE = {Language.EN: 16, Language.ZH: 4}


def _spans(text: str, breaks: re.Pattern[str], start: int, end: int) -> list[tuple[int, int, str]]:
    """Pieces of ``text[start:end]`` between breaks, each with the break that closes it; pieces without a word are dropped."""
    pieces: list[tuple[int, int, str]] = []
    at = start
    for match in breaks.finditer(text, start, end):
        if breaks is _SENTENCE_END and match[0] == "." and _ABBREVIATION.search(text[max(at, match.end() - 8) : match.end()]):
            continue
        pieces.append((at, match.start(), match[0]))
        at = match.end()
    pieces.append((at, end, ""))
    return [_trimmed(text, piece) for piece in pieces if any(char.isalnum() for char in text[piece[0] : piece[1]])]


def _trimmed(text: str, piece: tuple[int, int, str]) -> tuple[int, int, str]:
    start, end, closing = piece
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end, closing


def _cut_run_on(text: str, start: int, end: int, language: Language) -> list[tuple[int, int]]:
    """Cut a long clause without punctuation where a question begins."""
    if end - start < _RUN_ON_LENGTH[language]:
        return [(start, end)]
    cuts: list[int] = []
    for match in _RUN_ON[language].finditer(text, start + 3, end - 3):
        piece = text[cuts[-1] if cuts else start : match.start()]
        if len(piece) >= _RUN_ON_PIECE[language] and not _QUESTION_WORD.search(piece):
            cuts.append(match.start())
    edges = [start, *cuts, end]
    return [_trimmed(text, (a, b, ""))[:2] for a, b in itertools.pairwise(edges) if text[a:b].strip()]


def read_turn(text: str, language: Language, mend: Callable[[str], str] | None = None) -> Turn:
    """Cut one turn. Anything beyond :data:`MAX_CHARACTERS` is not read. ``mend`` may correct the normal form of a clause."""
    text = text[:MAX_CHARACTERS]
    clause_end = _CLAUSE_END if language is Language.EN or not _SPACED_OUT.search(text) else _CLAUSE_END_SPACED
    separator = ", " if language is Language.EN else ","
    clauses: list[Clause] = []
    parts: list[str] = []
    starts: list[int] = []
    offset = 0
    for number, (start, end, closing) in enumerate(_spans(text, _SENTENCE_END, 0, len(text))):
        pieces = [p for a, b, _ in _spans(text, clause_end, start, end) for p in _cut_run_on(text, a, b, language)]
        asked = "?" in closing or "？" in closing
        for place, (a, b) in enumerate(pieces):
            normal = normalise(text[a:b], language)
            if not normal:
                continue
            normal = mend(normal) if mend else normal
            last = place == len(pieces) - 1
            question = (asked and last) or _asks(normal, language)
            if question and language is Language.EN:
                normal = _direct(normal)
            if parts:
                joint = "\n" if clauses[-1].sentence != number else separator
                parts.append(joint)
                offset += len(joint)
            starts.append(offset)
            marked = normal + "?" if asked and last and language is Language.EN else normal
            parts.append(marked)
            offset += len(marked)
            clauses.append(Clause(a, b, number, normal, question))
    return Turn(text, tuple(clauses), "".join(parts), tuple(starts), _length(text, language))


def _length(text: str, language: Language) -> int:
    if language is Language.EN:
        return len(re.findall(r"[^\W_]+(?:['’.,-][^\W_]+)*", text))
    return sum(not char.isspace() for char in text)


# -- Questions ------------------------------------------------------------------------------------------------------------

_SUBJECT = (
    r"(?:you|your|it|its|there|this|that|these|those|we|i|they|he|she|anyone|anybody|anything|somebody|someone|something|"
    r"the|our|both|everything|one|today|tomorrow|next|a|an|any)"
)
_AUXILIARY = r"(?:is|are|am|was|were|do|does|did|would|will|can|could|have|has|had|should|shall|may|might)"
_ENGLISH_QUESTION = re.compile(
    rf"^(?:(?:so|and|but|well|okay|ok|then|now|also|or|right|great|good|alright|anyway|first|just|hi|hello|hey) )*"
    rf"(?:{_AUXILIARY}(?: not)? {_SUBJECT}\b(?! (?:look|nice|great|good|lovely|wonderful) )"
    rf"|(?:what|how|where|when|which|who|why|for how|by when|until when|with whom|what sort|what kind)\b(?: \S+){{0,5}}? "
    rf"{_AUXILIARY}(?: not)?(?: {_SUBJECT}\b|$"
    rf"| (?:holding|stopping|making|worrying|bothering|most|important|else|involved|keeping))"
    rf"|(?:what|who|which)(?: \S+){{0,2}} (?:brings|brought|made|makes|matters|prompted|got|worries|bothers|holds"
    rf"|keeps|stops|decides|happens|concerns)\b"
    rf"|(?:how|what) about\b|what if\b|any (?:other |more )?(?:questions|concerns|thoughts|worries|doubts)\b"
    rf"|(?:want|fancy|care|like) (?:me|us|to)\b|(?:tell|talk|walk) me\b|who else\b|what else\b|why not\b)"
    rf"|\b(?:can|could|may|might) i (?:just )?ask\b|\blet me ask\b"
    rf"|\b(?:would|i would) (?:like|love) to (?:know|hear|understand|learn)\b"
    rf"|\bi (?:wonder|am wondering|was wondering|am curious)\b"
    rf"|\b(?:could|can|would|will) you (?:tell|share|describe|walk|explain|talk)\b"
    rf"|\bplease (?:tell|share|describe)\b|\bhow much (?:money )?(?:are|would|do|can|could|did|were|is|of) you\b"
    rf"|\bhow long (?:are|would|do|can|could|did|were|will) you\b"
)
_CHINESE_QUESTION = re.compile(
    r"(?:吗|呢|么|没有|不成|没)$(?<!什么)(?<!这么)(?<!那么)|(?:好|行|可以|成|对|方便|合适)(?:吧|不)$"
    r"|什么(?!都|也|的$)|怎么(?!都|也)|怎样|咋|哪(?!怕|都|也|里都|里的话)|多少(?!都|也|会|有点)|几(?=[年个万千百点天家款口月岁次台辆位种样号层])"
    r"|(?<!无论)谁(?!都|也)|为何|多久|多长|多大|是不是|有没有|能不能|会不会|要不要|可不可以|好不好|行不行|方不方便|是否|愿不愿|想不想"
    r"|^(?:那|请|麻烦|那您|您)?(?:先|能)?(?:跟我|给我)?(?:说说|聊聊|讲讲|谈谈|介绍一下|说一下|讲一下)(?:您|你|现在|家里)"
    r"|敢不敢|对不对|需不需要|急不急|用不用|远不远|如何|几时|啥(?!都|也)|还是.{1,10}(?:呢|$)"
)
_CHINESE_STATEMENT = re.compile(
    r"(?:不管|无论|不论|没什么|没有什么|没啥|什么都|怎么都|谁都|哪儿都|知道.{0,4}(?:怎么|什么)|几乎|谁.{0,8}(?:都|不容易)|好几|分几|不(?:要求|限|设|论|管|看).{0,4}(?:多少|几)|多少会|哪.{1,5}哪|谁.{1,5}谁|多少.{1,4}多少|什么.{1,4}什么|哪怕|要不然|是不是的)"
)


def _asks(normal: str, language: Language) -> bool:
    if language is Language.EN:
        return _ENGLISH_QUESTION.search(normal) is not None
    return _CHINESE_QUESTION.search(normal) is not None and _CHINESE_STATEMENT.search(normal) is None


_INDIRECT = re.compile(
    r"\b(how much(?: money)?|how long|how soon|how many years|when|what|where|why|which \w+|who|how)"
    r" (you|it|this|your \w+) (are|were|would|will|can|could|should|have|might)\b"
)
_INDIRECT_PLAIN = re.compile(
    r"\b(how much(?: money)?|how long|how soon|how many years|when|what|where|why|which \w+|how) (you)"
    r" (?=(?:want|need|like|plan|think|expect|hope|intend|prefer|use|keep|value|care|currently|usually|normally|feel)\b)"
)


def _direct(question: str) -> str:
    """An indirect question in the order of a direct one: "what you are looking for" -> "what are you looking for"."""
    return _INDIRECT_PLAIN.sub(r"\1 do \2 ", _INDIRECT.sub(r"\1 \3 \2", question))


# -- Which language -------------------------------------------------------------------------------------------------------

_CJK = re.compile(r"[㐀-鿿]")
_LATIN = re.compile(r"[A-Za-zÀ-ɏ]+")


def is_in_language(text: str, language: Language) -> bool:
    """Whether most of what was written is in that language. A Chinese character weighs as much as half a Latin word."""
    chinese = len(_CJK.findall(text)) / 2.0
    latin = float(len(_LATIN.findall(text)))
    if not chinese and latin <= 1.0 and any(char.isdigit() for char in text):
        # "3.6%" and "80W" are answers in any language.
        return True
    if language is Language.EN:
        return latin > chinese
    return chinese > 0.0 and chinese * 1.5 >= latin
