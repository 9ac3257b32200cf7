"""The answers of `recommend` as JSON documents; nothing here decides anything."""

from __future__ import annotations

from collections.abc import Iterable

from envkit.advice.build import Judgement, Machine, peak_watts
from envkit.advice.cards import Card
from envkit.advice.changes import Change
from envkit.advice.memory import GIB, Need
from envkit.advice.rank import LeftOut, Offer, Ranking, better_buy_below, relative_speed
from envkit.advice.support import Support
from envkit.documents.citations import citations
from envkit.tables.advice import CloudInstance

SCHEMA = 1


def ranking_document(
    ranking: Ranking,
    top: int,
    changes: Iterable[Change],
    instances: dict[str, list[CloudInstance]],
    notes: Iterable[str],
) -> dict[str, object]:
    """The ranking, or why nothing fits and what would help."""
    limits, offers = ranking.limits, (*ranking.offers, *ranking.unpriced)
    return {
        "schema": SCHEMA,
        "status": "ok" if ranking.fits else "none",
        "workload": _workload(ranking),
        "need": _need(ranking.need),
        "limits": {"form": limits.form, "gpus": limits.gpus, "watts": limits.watts, "budget": limits.budget,
                   "display": limits.display, "year": limits.year, "years": limits.years},
        "cards": [
            {"place": place, **_offer(offer, offers[0], instances)}
            for place, offer in ranking.shown(top)
            if place <= len(ranking.offers)
        ],
        "without_price": [_offer(offer, offers[0], instances) for offer in ranking.unpriced[:top]],
        "left_out": [_left_out(row) for row in ranking.out],
        "unknown": [_left_out(row) for row in ranking.unknown],
        "older": ranking.older,
        "changes": [{"option": change.option, "gain": change.gain} for change in changes],
        "notes": list(notes),
    }  # fmt: skip


def machine_document(machine: Machine, judgements: Iterable[Judgement]) -> dict[str, object]:
    """The judgment of a machine, rule by rule."""
    rows = list(judgements)
    watts, silent = peak_watts(machine)
    return {
        "schema": SCHEMA,
        "status": "fail" if any(row.status == "fail" for row in rows) else "ok",
        "cards": [
            {"name": card.model.name, "variant": card.model.variant, "gpus": gpus} for card, gpus in machine.cards
        ],
        "present": [
            {"name": gpu.card.model.name, "variant": gpu.card.model.variant, "lanes": gpu.lanes, "pcie": gpu.generation}
            for gpu in machine.present
        ],
        "peak_watts": watts,
        "power_unknown": [card.name for card in silent],
        "findings": [
            {"status": row.status, "rule": row.rule, "detail": row.text, "sources": citations(row.sources)}
            for row in rows
        ],
    }


def _workload(ranking: Ranking) -> dict[str, object]:
    workload = ranking.workload
    return {
        "title": workload.title,
        "task": workload.task,
        "precision": workload.precision.name,
        "optimizer": workload.optimizer.name if workload.optimizer else None,
        "batch": workload.batch,
        "sequence": workload.sequence or None,
        "checkpointing": workload.checkpointing,
        "parameters": workload.parameters or None,
        "assumed": list(workload.assumed),
    }


def _need(need: Need) -> dict[str, object]:
    parts = [
        {"name": part.name, "gb": round(part.size / GIB, 3), "why": part.why, "sources": citations(part.sources)}
        for part in need.parts
    ]
    return {"gb": round(need.whole / GIB, 2), "estimate": bool(need.parts), "margin": need.margin, "parts": parts}


def _offer(offer: Offer, first: Offer, instances: dict[str, list[CloudInstance]]) -> dict[str, object]:
    card, step = offer.card, offer.step
    return {
        **_named(card),
        "gpus": offer.gpus,
        "memory_gb": card.model.memory_gb,
        "memory_bandwidth_gbs": card.model.memory_bandwidth_gbs,
        "needed_gb": round(offer.each_gb, 2),
        "watts": card.watts(offer.gpus),
        "step_seconds_at_best": step.seconds if step else None,
        "bound": step.bound if step else None,
        "way": step.way.told if step and offer.gpus > 1 else None,
        "speed_of_first": relative_speed(offer, first),
        "price": offer.price.amount if offer.price else None,
        "currency": offer.price.currency or None if offer.price else None,
        "used": offer.price.used if offer.price else None,
        "cost": offer.cost,
        "better_buy_below": better_buy_below(offer, first),
        "support": _support(offer.support),
        "notes": list(offer.notes),
        "cloud": [
            {"provider": row.provider, "instance": row.instance, "gpus": row.gpus}
            for row in instances.get(card.model.name, ())
        ],
        "sources": citations(card.sources),
    }  # fmt: skip


def _support(support: Support) -> dict[str, object]:
    return {
        "software": [
            {"name": reach.software, "last": str(reach.last) if reach.last else None, "ended": reach.ended,
             "sources": citations(reach.sources)}
            for reach in support.reaches
        ],
        "last_driver_branch": support.last_driver_branch,
        "driver_ends": support.driver_ends,
        "oldest_generation": support.oldest,
    }  # fmt: skip


def _left_out(row: LeftOut) -> dict[str, object]:
    return {**_named(row.card), "why": row.why, "sources": citations(row.sources)}


def _named(card: Card) -> dict[str, object]:
    return {"name": card.model.name, "variant": card.model.variant}
