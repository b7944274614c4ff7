"""The ten decision factors in words, for scripts and pages."""

from __future__ import annotations

from dataclasses import dataclass

from core.scenarios import DecisionFactor, Language

__all__ = ["FactorText", "factor_description", "factor_name"]


@dataclass(frozen=True)
class FactorText:
    """``description`` says in one line what a buyer who weighs this looks at."""

    name: str
    description: str


_EN = {
    DecisionFactor.RETURNS_AND_COST: FactorText(
        "returns and total cost", "What it brings in or saves against everything it costs over time, fees included."
    ),
    DecisionFactor.SAFETY_AND_PROTECTION: FactorText(
        "safety and protection", "What can go wrong, and what stands between me and the damage."
    ),
    DecisionFactor.BRAND_TRUST: FactorText(
        "brand trust and institutional stability", "Whether the firm is known, sound, and still there when it is needed."
    ),
    DecisionFactor.CORE_QUALITY: FactorText(
        "core quality", "How well the thing itself does what it is bought for, and for how long."
    ),
    DecisionFactor.TRANSPARENCY: FactorText(
        "transparency and terms clarity", "Whether terms, fees and limits are plain, complete and in writing."
    ),
    DecisionFactor.SUPPORT_AND_CLAIMS: FactorText(
        "support, claims and after-sales", "What happens after the sale: help, repairs, returns, claims that are paid."
    ),
    DecisionFactor.CONVENIENCE: FactorText(
        "convenience and digital experience", "How little effort it takes to buy, run and manage it day by day."
    ),
    DecisionFactor.AVAILABILITY: FactorText(
        "availability and delivery speed", "How soon it can be had or paid out, and whether it can be had here at all."
    ),
    DecisionFactor.SOCIAL_PROOF: FactorText(
        "social proof and third-party validation", "What other buyers, tests and independent bodies say about it."
    ),
    DecisionFactor.FIT_AND_FLEXIBILITY: FactorText(
        "fit and flexibility", "Whether it suits my own situation, and can change when the situation does."
    ),
}

_ZH = {
    DecisionFactor.RETURNS_AND_COST: FactorText("收益与总成本", "能赚多少、省多少，前前后后连手续费在内一共要花多少。"),
    DecisionFactor.SAFETY_AND_PROTECTION: FactorText("安全与保障", "可能出什么问题，真出了问题有什么兜底。"),
    DecisionFactor.BRAND_TRUST: FactorText("品牌信誉与机构实力", "公司有没有名气、稳不稳，需要它的时候还在不在。"),
    DecisionFactor.CORE_QUALITY: FactorText("核心品质", "东西本身好不好用，能不能管用得久。"),
    DecisionFactor.TRANSPARENCY: FactorText("透明度与条款清晰", "条款、费用、限制是不是说得明白、写得齐全。"),
    DecisionFactor.SUPPORT_AND_CLAIMS: FactorText("服务、理赔与售后", "买完以后有没有人管：咨询、维修、退换、理赔。"),
    DecisionFactor.CONVENIENCE: FactorText("便捷与数字化体验", "买起来、用起来、平时打理起来省不省事。"),
    DecisionFactor.AVAILABILITY: FactorText("可得性与交付速度", "多久能拿到手、能到账，本地能不能办。"),
    DecisionFactor.SOCIAL_PROOF: FactorText("口碑与第三方认证", "别的买家、评测和权威机构怎么说。"),
    DecisionFactor.FIT_AND_FLEXIBILITY: FactorText("匹配度与灵活性", "合不合自己的情况，情况变了能不能跟着调整。"),
}

_TEXTS = {Language.EN: _EN, Language.ZH: _ZH}


def factor_name(factor: DecisionFactor, language: Language) -> str:
    """The factor as people read it: ``support, claims and after-sales``, ``服务、理赔与售后``."""
    return _TEXTS[language][factor].name


def factor_description(factor: DecisionFactor, language: Language) -> str:
    """One line on what a buyer who weighs this factor looks at."""
    return _TEXTS[language][factor].description
