"""Words are prose; what a tracker could act on is code, and no text ends its own fence."""

from __future__ import annotations

import pytest
from markdown_it import MarkdownIt

from envkit.render.markdown_text import code, fenced, prose


@pytest.mark.parametrize(
    "text",
    [
        "The NVIDIA driver is too old for the CUDA version of the framework: it knows CUDA 11.4, 12.1 is needed",
        "torch==2.6.0+cu124 is too old for NVIDIA GeForce RTX 5090 (compute capability 12.0)",
        "CUDA_VISIBLE_DEVICES is '': every GPU is hidden",
        "GPU 0000:65:00.0",
        "At most 7.9 instead of 31.5 GB/s each way: 50% are lost.",
        "/opt/conda/lib/libcudart.so.12",
        "stop the programs that `sudo fuser -v /dev/nvidia*` lists, or add `cat /etc/os-release`",
    ],
)
def test_words_are_prose(text: str) -> None:
    assert prose(text) == text


@pytest.mark.parametrize(
    "text",
    [
        *("@octocat", "a@b.org", "#1", "GH-12", "closes octo/cat#1", "http://x.org", "HTTPS://X.ORG", "www.x.org"),
        *(
            "mailto:x",
            "xmpp:x",
            "![a](b)",
            "[a](b)",
            "<b>",
            "a_b_ _c_",
            "**a**",
            "~~a~~",
            "a|b",
            "&lt;",
            "\\",
            ":smile:",
        ),
        *(
            ":+1:",
            ":100:",
            "!12",
            "$1",
            "%12",
            '%"a"',
            "`a`",
            "deadbee1",
            "0123456789abcdef0123456789abcdef01234567",
        ),
        *("\u00e9", "1234567", "as `a` @octocat", "an `a", "``a`` b"),
    ],
)
def test_what_a_tracker_acts_on_is_code(text: str) -> None:
    assert prose(text) == code(text)


@pytest.mark.parametrize("text", ["a", "`", "``a``", "a`b``c", " ", "", "```", "a`", " a "])
def test_a_code_span_holds_its_text(text: str) -> None:
    [inline] = [token for token in MarkdownIt().parse(f"x {code(text)} y") if token.type == "inline"]
    children = [(child.type, child.content) for child in inline.children or []]
    assert children[0] == ("text", "x ") and children[-1] == ("text", " y")
    assert [(kind, content.strip()) for kind, content in children[1:-1]] == [("code_inline", text.strip())]


@pytest.mark.parametrize("line", ["a", "```", "````", "~~~", "a ``````"])
def test_no_line_ends_its_fence(line: str) -> None:
    block = "\n".join(fenced(["first", line, "last"]))
    [token] = MarkdownIt().parse(block)
    assert (token.type, token.content) == ("fence", f"first\n{line}\nlast\n")
