"""Where a text comes to what solved its trouble, and then shows a success: what stood before is over.

Three signs have to agree: a mark such as `EDIT:`, `## Solution` or `artık çalışıyor`, a success behind it, and nothing
behind it that fails. A success of something else (nvidia-smi, where torch fails) is no such sign.
"""

from __future__ import annotations

import re

from envkit._startup.regex import regex
from envkit.base.kept import kept
from envkit.ingest.at_work import ON_CPU, RESULT
from envkit.ingest.computed import last_failure, used
from envkit.ingest.later_answers import answers_of_driver, settles
from envkit.ingest.text import Text
from envkit.ingest.trouble import if_well_since

# words that head what came later, and words that say that it is over: en, de, fr, es, pt, it, tr, pl, ru, zh, ja, ko
_HEADINGS = (
    r"edit|update|solution|resolved|resolution|fixed|fix|after"
    r"|nachtrag|lösung|gelöst|nachher|résolution|résolu|mise à jour|après"
    r"|actualización(?: final)?|solución|solucionado|resuelto|después|solução|resolvido|atualização|depois"
    r"|soluzione|risolto|aggiornamento|dopo|çözüm|çözüldü|güncelleme|rozwiązanie|rozwiązane|aktualizacja"
    r"|решение|решено|обновление|после|已解决|解决(?:方法|办法|方案)?|更新|解決(?:済み?|方法)?|追記|해결|업데이트|수정"
)
_SAID = (
    r"\b(?:works|working|runs|fixed|solved) now\b|\bnow (?:it )?(?:works|runs)\b"
    r"|\bclosing (?:this|the (?:issue|thread))\b"
    r"|\b(?:jetzt|nun) (?:läuft|geht|funktioniert)\b|\bbehoben\b|\b(?:ça|tout) (?:marche|fonctionne) maintenant\b"
    r"|\bya funciona\b|\bsolucionado\b|\bresolvid[oa] com\b|\bagora funciona\b|\b(?:ora|adesso) funziona\b"
    r"|\bartık çalışıyor\b|\bçözüldü\b|\b(?:już|teraz) działa\b|\bdziała\.|\bтеперь (?:вс[её] )?работает\b"
    r"|(?:之后|以后|后)(?:就)?(?:正常|好了)|解决了|解決しま?した|해결(?:되었|됐|했)"
)
_MARK = regex(
    rf"[\s#*_\[(【-]{{0,8}}(?:{_HEADINGS})[\])】*_]{{0,4}}(?:\s{{0,2}}[:：\])】]|\s{{0,2}}$)"
    rf"|[^\n]{{0,200}}?(?:{_SAID})",
    re.IGNORECASE,
)
_NOT_YET = regex(
    r"\b(?:not|still|again|until|without|but|noch|nicht|wieder|kein\w{0,2}|toujours|encore|pas|aucune?|todavía|sigue|no"
    r"|ainda|não|ancora|non|hala|değil|nie|nadal|wciąż|не|снова|нет)\b|n't\b|[?？]|但|没|不|まだ|しかし|안 |아직",
    re.IGNORECASE,
)


_MANY = 400  # lines behind the mark
_OF_DRIVER = ("stated-failure", "proprietary-module-on-blackwell", "gpu-bound-to-vfio")


@kept
def _marks(text: Text) -> tuple[int, ...]:
    """Where the lines end that say so, behind which nothing fails; no line of a log that differs in digits alone."""
    first = text.index(max(last_failure(text, 0), 0)) if text.lines else 0
    found = (
        text.start(index) + len(text.lines[index])
        for index in range(first, len(text.lines))
        if not text.repeats[index] and _MARK.match(text.lines[index]) and not _NOT_YET.search(text.lines[index])
    )
    return tuple(end for end in found if if_well_since(text, end) >= 0)


def resolved(text: Text, signature: str, offset: int) -> bool:
    """Whether what such a message told at `offset` was solved later, and what it denied works below that."""
    behind = [end for end in _marks(text) if end >= offset]
    if not behind:
        return False
    first = min(behind)
    below = text.lines[text.index(first) + 1 :][:_MANY]
    if used(text) > first or (any(map(RESULT.search, below)) and not any(map(ON_CPU.search, below))):
        return True
    return (settles(signature) or signature.startswith(_OF_DRIVER)) and any(
        place > first for place in answers_of_driver(text)
    )
