"""What a report may hold in each format, whatever the machine's names are."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from xml.etree import ElementTree

from markdown_it import MarkdownIt
from markdown_it.token import Token

# The control characters, marks of direction, invisible characters and halves of pairs, said again: a rule is no test of
# itself.
STEERS = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)
_TAGS = frozenset(
    (
        "html",
        "head",
        "meta",
        "link",
        "title",
        "style",
        "body",
        "h1",
        "h2",
        "main",
        "section",
        "div",
        "strong",
        "p",
        "article",
        "span",
        "dl",
        "dt",
        "dd",
        "code",
        "pre",
        "a",
        "svg",
        "path",
        "circle",
        "text",
        "tspan",
        "ul",
        "li",
        "details",
        "summary",
    )
)
_VOID = frozenset(("meta", "link"))
_ATTRIBUTES = frozenset(
    (
        "lang",
        "charset",
        "name",
        "content",
        "http-equiv",
        "rel",
        "href",
        "class",
        "id",
        "viewbox",
        "aria-hidden",
        "role",
        "tabindex",
        "open",
        "aria-label",
        "d",
        "cx",
        "cy",
        "r",
        "x",
        "y",
    )
)
_BLOCKS = frozenset(("heading", "paragraph", "bullet_list", "ordered_list", "list_item"))
_INLINE = frozenset(("text", "code_inline", "strong_open", "strong_close", "softbreak"))
# What trackers make of plain text: mentions, issues, commits, addresses.
_ACTS = re.compile(
    r"(?i)@\w|#\d|\bgh-\d|://|\bwww\.|mailto:|<[a-z/!]|!\[|\]\(|\b[0-9a-f]{40}\b|:(?:[a-z_]+|\+1):|!\d|\[ \]"
)
_MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def text(report: str, commands: Sequence[str]) -> None:
    """Lines of visible characters; what looks like a command is one."""
    assert not STEERS.search(report), STEERS.findall(report)
    report.encode()
    whole = report.replace(" \\\n                ", " ")  # a long command goes on below, as a shell reads it
    printed = [line.strip() for line in whole.splitlines() if re.match(r" {14}\S", line)]
    assert [line for line in printed if line in set(commands)] == list(commands)


def plain(report: str, commands: Sequence[str]) -> None:
    """Lines of visible characters."""
    assert not STEERS.search(report), STEERS.findall(report)
    report.encode()


def valid_json(report: str, commands: Sequence[str]) -> None:
    """A document that strict readers take, of visible characters."""
    assert not STEERS.search(report), STEERS.findall(report)
    report.encode()
    document = json.loads(report, parse_constant=_refuse)
    assert "\ud800" not in json.dumps(document, ensure_ascii=False)


def _refuse(word: str) -> None:
    raise AssertionError(f"{word} is not JSON")


class _Page(HTMLParser):
    """Refuses a tag, an attribute or an address that the template does not write, and tags that do not match."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.policy = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in _TAGS, tag
        given = dict(attrs)
        assert set(given) <= _ATTRIBUTES, given
        assert re.match(r"https://|data:,$", given.get("href") or "data:,"), given
        if given.get("http-equiv"):
            self.policy = given["content"] or ""
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def html(report: str, commands: Sequence[str]) -> None:
    """A page of the template's own tags, with a policy that lets it fetch and run nothing."""
    plain(report, commands)
    page = _Page()
    page.feed(report)
    page.close()
    assert not page.open
    assert page.policy.startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert "script" not in page.policy and "http" not in page.policy


def markdown(report: str, commands: Sequence[str]) -> None:
    """Headings, lists, words and code: nothing that links, mentions or runs."""
    plain(report, commands)
    tokens = _MARKDOWN.parse(report)
    held: list[str] = []
    for token in tokens:
        if token.type == "inline":
            _inline(token.children or [])
        elif token.type == "fence":
            held += token.content.splitlines()
        else:
            assert token.type.removesuffix("_open").removesuffix("_close") in _BLOCKS, token.type
    assert [line for line in held if line in set(commands)] == list(commands)


def _inline(children: Sequence[Token]) -> None:
    for child in children:
        assert child.type in _INLINE, (child.type, child.content)
        if child.type == "text":
            assert not _ACTS.search(child.content), child.content


def junit(report: str, commands: Sequence[str]) -> None:
    """Well-formed XML of visible characters, in which only the report's own elements are."""
    plain(report, commands)
    elements = {element.tag for element in ElementTree.fromstring(report).iter()}
    cases = {"testcase", "failure", "error", "skipped", "system-out"}
    assert elements <= cases | {"testsuites", "testsuite", "properties", "property"}, elements


def github(report: str, commands: Sequence[str]) -> None:
    """Annotations alone: no other workflow command, and no line that is none."""
    plain(report, commands)
    for line in report.splitlines():
        assert re.match(r"::(?:error|warning|notice) (?:file=[^:,]+,line=[0-9]+,)?title=[^:,]+::[^\r\n]+$", line), line


RULES: dict[str, Callable[[str, Sequence[str]], None]] = {
    "text": text,
    "json": valid_json,
    "html": html,
    "markdown": markdown,
    "sarif": valid_json,
    "junit": junit,
    "github": github,
}
