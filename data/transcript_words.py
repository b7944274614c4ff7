"""The words of a transcript, in both languages."""

from __future__ import annotations

from typing import Any, Final

from core.scenarios import Language

__all__ = ["WORDS"]

_ENGLISH: Final[dict[str, Any]] = {
    "colon": ": ",
    "goal": "Goal",
    "dialogue": "Dialogue",
    "session": "Session {}",
    "salesperson": "Salesperson",
    "customer": "Customer",
    "kinds": {"model": "simulated", "human": "a person"},
    "started": "Started",
    "ended": "Ended",
    "tier": "Difficulty",
    "id": "Dialogue number",
    "nothing": "Nothing was said.",
    "none": "not scored",
    "not_applicable": "n/a",
    "scorecard": "Scorecard",
    "final": "Final score (0–10)",
    "intent": "Buying intent",
    "scorer": "Scored by",
    "endings": {
        "open": "still open",
        "customer": "by the customer",
        "salesperson": "by the salesperson",
        "rounds": "after the last round",
        "failed": "because a model failed",
    },
    "tiers": {
        "easy": "easy",
        "medium": "medium",
        "hard": "hard",
        "very_hard": "very hard",
        "adversarial": "adversarial",
    },
    "intents": {
        "A": "A · clear purchase intent",
        "B": "B · potential interest",
        "C": "C · no intention",
        "X": "X · perfunctory",
        "F": "F · insulting",
    },
    "dimensions": {
        "verbal_commitment": "Verbal purchase commitment",
        "next_step": "Concrete next-step alignment",
        "information_elicitation": "Key information elicitation",
        "objection_resolution": "Objection resolution",
    },
    "flags": {
        "role_inversion": "acted as the seller",
        "script_leak": "recited its instructions",
        "interrupted": "interrupted",
    },
}

_CHINESE: Final[dict[str, Any]] = {
    "colon": "：",
    "goal": "目标",
    "dialogue": "对话",
    "session": "第 {} 次会谈",
    "salesperson": "销售",
    "customer": "客户",
    "kinds": {"model": "模拟客户", "human": "真人"},
    "started": "开始时间",
    "ended": "结束方式",
    "tier": "难度",
    "id": "对话编号",
    "nothing": "没有任何发言。",
    "none": "未评分",
    "not_applicable": "不适用",
    "scorecard": "评分卡",
    "final": "最终得分（0–10）",
    "intent": "购买意向",
    "scorer": "评分者",
    "endings": {
        "open": "尚未结束",
        "customer": "客户结束",
        "salesperson": "销售结束",
        "rounds": "轮次已满",
        "failed": "模型故障",
    },
    "tiers": {"easy": "简单", "medium": "中等", "hard": "困难", "very_hard": "很难", "adversarial": "对抗"},
    "intents": {
        "A": "A · 明确购买意向",
        "B": "B · 潜在兴趣",
        "C": "C · 无意向",
        "X": "X · 敷衍应付",
        "F": "F · 辱骂",
    },
    "dimensions": {
        "verbal_commitment": "口头购买承诺",
        "next_step": "明确的下一步",
        "information_elicitation": "关键信息挖掘",
        "objection_resolution": "异议化解",
    },
    "flags": {"role_inversion": "扮演了销售", "script_leak": "复述了设定", "interrupted": "被打断"},
}

WORDS: Final[dict[Language, dict[str, Any]]] = {Language.EN: _ENGLISH, Language.ZH: _CHINESE}
