"""Secrets and names that only several lines together tell: commands that go on, broken tokens, tables with headers."""

from __future__ import annotations

import pytest

from envkit.privacy.masker import Masker
from envkit.privacy.secrets import without_secrets

COMMAND = (
    "docker run --gpus all \\\n  -p 8888:8888 \\\n  {option} \\\n  nvidia/cuda:12.4.1-base-ubuntu22.04 nvidia-smi\n"
)
QUEUE = """\
JOBID PARTITION NAME USER ST TIME NODES NODELIST(REASON)
12 gpu train quentin R 1:00 1 (None)
13 gpu train root R 1:00 1 (None)
14 gpu train quentin R 1:00 1 (None)

quentin is a word here
"""


def test_a_command_over_several_lines_keeps_them_where_it_hides_nothing() -> None:
    text = COMMAND.format(option="-e NCCL_DEBUG=INFO")
    assert without_secrets(text) == text


@pytest.mark.parametrize("option", ["-e HF_TOKEN=mango-Tree7", "--env HF_TOKEN=mango-Tree7 -it"])
def test_a_command_keeps_its_lines_where_each_secret_is_in_one(option: str) -> None:
    shown = without_secrets(COMMAND.format(option=option))
    assert "mango" not in shown
    assert shown.count("\n") == 4


def test_a_value_on_the_next_line_of_a_command_is_hidden_and_the_rest_stays() -> None:
    shown = without_secrets(COMMAND.format(option="-e HF_TOKEN=\\\nmango-Tree7"))
    assert "mango" not in shown
    assert all(word in shown for word in ("--gpus all", "8888:8888", "nvidia/cuda:12.4.1-base-ubuntu22.04 nvidia-smi"))


def test_what_goes_on_after_a_hidden_token_is_hidden_and_a_digest_is_not() -> None:
    digest = "9f2a1b4c5d6e7f8091a2b3c4d5e6f7083f2a1b4c5d6e7f8091a2b3c4d5e6f708"
    rest = "q7Vd2XkRb9ZmT4wYc8Hs"
    assert without_secrets(f"token: ghp_{rest}{rest}\n{rest}\n{rest}\nend") == "token: ***\n***\n***\nend"
    assert without_secrets(f"token: ghp_{rest}{rest}\n{digest}") == f"token: ***\n{digest}"


def test_names_below_a_header_are_masked_until_the_table_ends() -> None:
    lines = Masker().text(QUEUE).splitlines()
    assert [line.split()[3] for line in lines[1:4]] == ["user", "root", "user"]
    assert lines[-1] == "quentin is a word here"


def test_a_text_that_is_not_drawn_as_it_is_written_stays_where_it_hides_nothing() -> None:
    for text in ("Jo\u0308rg: CUDA", "a\u200bb TOKENIZERS_PARALLELISM=false", "\x1b[31mFAIL\x1b[0m", "&#65;BC"):
        assert without_secrets(text) == text
