"""A chat model of half a million random parameters, made in a moment: enough to load, stream and serve, and it talks nonsense.

    python tests/support/tiny_model.py FOLDER

Needs the extra ``local``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

END, START, STOP = "<|endoftext|>", "<|im_start|>", "<|im_end|>"

_SENTENCES = (
    "Good morning, I am looking for a savings account.",
    "What does it cost, and what happens if I need the money early?",
    "I would have to talk to my husband about that first.",
    "您好，我想了解一下这款产品，一年要多少钱？",
    "这个我得回去跟家里人商量一下，再给您答复。",
    "有没有别的费用？合同里写清楚了吗？",
)

_TURNS = (
    "{% for message in messages %}" + START + "{{ message['role'] }}\n{{ message['content'] }}" + STOP + "\n{% endfor %}"
    "{% if add_generation_prompt %}" + START + "assistant\n{% endif %}"
)

_NO_SYSTEM = (
    "{% for message in messages %}{% if message['role'] == 'system' %}"
    "{{ raise_exception('System role not supported') }}{% endif %}{% endfor %}"
) + _TURNS


def build_tiny_model(folder: Path, *, context: int = 2048, system_role: bool = True, chat_template: bool = True) -> Path:
    """Write the model into ``folder`` and return it.

    ``system_role`` False gives it a chat template that refuses a system message; ``chat_template`` False gives it none.
    """
    pieces = Tokenizer(models.BPE())
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=[END, START, STOP],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    pieces.train_from_iterator(_SENTENCES * 40, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=pieces, eos_token=STOP, pad_token=END, clean_up_tokenization_spaces=False, model_max_length=context
    )
    if chat_template:
        tokenizer.chat_template = _TURNS if system_role else _NO_SYSTEM
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=128,
        intermediate_size=256,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context,
        tie_word_embeddings=False,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    Qwen2ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


if __name__ == "__main__":
    sys.stdout.write(f"{build_tiny_model(Path(sys.argv[1]))}\n")
