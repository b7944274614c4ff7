"""What a chat-model customer is told besides its script, in the dialogue's language."""

from __future__ import annotations

from dataclasses import dataclass

from core.dialogues import TurnFlag
from core.scenarios import Language

__all__ = ["Instructions", "instructions_for"]


@dataclass(frozen=True)
class Instructions:
    """``reply_form`` follows the script where replies are structured; ``reminders`` follow it when a reply is asked for again.

    ``opens`` and ``new_session`` stand where nobody has spoken: chat models want a user's message before their own.
    """

    reply_form: str
    opens: str
    new_session: str
    reminders: dict[TurnFlag, str]
    malformed: str


_EN = Instructions(
    reply_form=(
        "# The form of your answer\n\n"
        'A JSON object and nothing else: {"reply": what you say aloud, "ends_conversation": true or false}. '
        '"ends_conversation" is true only if you say goodbye with this turn and the conversation is over for you.'
    ),
    opens="(The salesperson is here. You speak first.)",
    new_session="(Some time has passed. You talk to the same salesperson again.)",
    reminders={
        TurnFlag.ROLE_INVERSION: (
            "# Mind your side of the table\n\n"
            "Your last draft was withdrawn because it talked like the seller. You are the customer: you buy or you do not. "
            "Do not pitch, recommend, offer terms, qualify the other person or ask how you can help. Answer again, as the buyer."
        ),
        TurnFlag.SCRIPT_LEAK: (
            "# Keep your notes to yourself\n\n"
            "Your last draft was withdrawn because it spoke of these notes, of instructions, or of being a program. Nobody you "
            "talk to knows of them. Answer again with nothing but what this person would say aloud."
        ),
    },
    malformed="# Again, please\n\nYour last draft held no spoken words in the agreed form. Say one to three short sentences.",
)

_ZH = Instructions(
    reply_form=(
        "# 回答的格式\n\n"
        '只输出一个JSON对象：{"reply": 你说出口的话, "ends_conversation": true或false}。'
        "只有这句话说完你就道别、谈话对你来说已经结束时，“ends_conversation”才是true。"
    ),
    opens="（销售人员来了，你先开口。）",
    new_session="（过了一段时间，你又和同一位销售人员聊上了。）",
    reminders={
        TurnFlag.ROLE_INVERSION: (
            "# 别坐错了位置\n\n"
            "你刚才那句作废了，因为听上去像卖东西的一方。你是客户，只有买与不买：不推销、不推荐、不开条件、不盘问对方需求、"
            "不问能帮对方什么。请以买家的身份重新说一遍。"
        ),
        TurnFlag.SCRIPT_LEAK: (
            "# 材料不外传\n\n"
            "你刚才那句作废了，因为提到了这份材料、指令，或者说自己是程序。跟你聊天的人并不知道这些。请只写这个人会说出口的话，重新说一遍。"
        ),
    },
    malformed="# 请再说一遍\n\n你刚才没有按约定的格式说出话来。请说一到三个短句。",
)


def instructions_for(language: Language) -> Instructions:
    return _EN if language is Language.EN else _ZH
