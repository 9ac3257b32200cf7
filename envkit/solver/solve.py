"""From a request to a plan, or to the reasons why there is none and the nearest changes that would do."""

from __future__ import annotations

from envkit._startup.records import replace
from envkit.base.platforms import JETSON, WINDOWS, WSL
from envkit.base.sentences import series
from envkit.compat.software import title_of
from envkit.compat.tables import Tables
from envkit.solver.assemble import assemble
from envkit.solver.knowledge import knowledge_of
from envkit.solver.model import Alternative, Choice, NoPlan, Plan
from envkit.solver.query import Query
from envkit.solver.request import Request
from envkit.solver.search import Selection, select
from envkit.solver.verdicts import ended, verdicts, warnings

HARDWARE = {"gpu", "arch"}  # nobody is told to buy another while something else is known to work


def resolve(request: Request, matrix: Tables) -> Plan | NoPlan:
    """The best plan for a request, the same one each time, or why there is none.

    Best is: the newest framework version that every relation allows, then the CUDA that the driver runs natively, then
    code and libraries made for it, a supported image (for a container), and the newest CUDA. What the tables leave
    blank refuses nothing, ranks lower, and is reported in the warnings. For a Jetson before Thor nothing is chosen.
    """
    knowledge = knowledge_of(matrix)
    if request.platform == JETSON:
        from envkit.solver.jetson import as_server, jetson_plan, thor_told

        server = as_server(request)
        return jetson_plan(request, knowledge) if server is None else thor_told(resolve(server, matrix))
    if request.platform == WSL and request.driver is not None:
        from envkit.solver.wsl import refused_driver

        if refused := refused_driver(request.driver):
            return NoPlan(request, (refused,), _newer_driver(request, matrix))
    if any(request.companions):
        from envkit.solver.companions import companion_conflicts
        from envkit.solver.other_ways import ways_of_companions

        if clashing := tuple(companion_conflicts(request)):
            return NoPlan(request, clashing, _linux_inside(request, matrix), ways_of_companions(request))
    query = Query(request, knowledge)
    selection = select(query)
    if selection is None:
        from envkit.solver.alternatives import rescues
        from envkit.solver.conflicts import conflicts, rejected_by
        from envkit.solver.other_ways import other_cudas, other_ways

        ways = (*other_cudas(request), *other_ways(query))
        return NoPlan(
            request,
            conflicts=conflicts(query),
            alternatives=tuple(offer for offer in rescues(query) if not (ways and offer.changes.keys() & HARDWARE)),
            warnings=(*ways, *(note for one in request.frameworks for note in ended(one.name, matrix))),
            rejected=rejected_by(query),
        )
    if not request.needs_toolkit and _asks_the_system(selection, query):
        return resolve(replace(request, needs_toolkit=True), matrix)
    choice = assemble(selection, query)
    judged = verdicts(choice, query)
    better = _improvements(choice, query)
    if choice.toolkit is not None and (request.cuda is None) is bool(request.frameworks):
        from envkit.solver.supported import supported_instead

        better = (*supported_instead(query, choice, choice.toolkit), *better)
    return Plan(request, choice, judged, better, warnings(choice, query, judged))


def _improvements(choice: Choice, query: Query) -> tuple[Alternative, ...]:
    """What would provide a newer version of a framework, where there is one."""
    pairs = zip(choice.builds, query.request.frameworks, strict=True)
    if not any(query.knowledge.has_newer(build, asked.spec) for build, asked in pairs):
        return ()
    from envkit.solver.alternatives import improvements

    return improvements(query, choice)


def _asks_the_system(selection: Selection, query: Query) -> bool:
    """Whether the CUDA that was asked for is that of the system alone: the packages load one, and bring none."""
    return (
        query.request.cuda is not None
        and selection.toolkits is None
        and bool(selection.builds)
        and all(build.bundles_cuda is False and query.knowledge.is_cuda_unknown(build) for build in selection.builds)
    )


def _newer_driver(request: Request, matrix: Tables) -> tuple[Alternative, ...]:
    """The first driver that gives WSL a GPU and has a plan for the rest of the request."""
    from envkit.tables.codes import limit

    first = limit("driver-for-wsl")
    floors = {row.minimum_windows_driver for row in matrix.toolkits if row.minimum_windows_driver}
    for driver in sorted({first, *(floor for floor in floors if floor > first)}):
        plan = resolve(replace(request, driver=driver), matrix)
        if isinstance(plan, Plan):
            cuda = [f"CUDA {plan.choice.cuda}"] if plan.choice.cuda is not None and not plan.choice.builds else []
            return (Alternative({"driver": str(driver)}, series([*map(title_of, plan.choice.builds), *cuda])),)
    return ()


def _linux_inside(request: Request, matrix: Tables) -> tuple[Alternative, ...]:
    """The Linux inside Windows, where it has a plan."""
    if request.platform != WINDOWS:
        return ()
    from envkit.solver.changes import under_wsl

    change = under_wsl(request)
    plan = resolve(change.request, matrix)
    if isinstance(plan, NoPlan):
        return ()
    beside = [one.package for _, one in request.companions]
    return (Alternative({change.option: change.value}, series([*map(title_of, plan.choice.builds), *beside])),)
