"""Commands at which the build stops, by rules that each look at one stage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from envkit.checks.engine.findings import Finding
from envkit.dockerfile.check_parts import line_of
from envkit.dockerfile.framework_refused import framework_refused
from envkit.dockerfile.ground import Ground
from envkit.dockerfile.stops_absent import program_missing
from envkit.dockerfile.stops_apt import lists_missing
from envkit.dockerfile.stops_apt_names import compilers, cuda_releases, gone_ppas, no_names, version_cut
from envkit.dockerfile.stops_arguments import argument_blank, argument_lost, argument_wanted, pin_blank
from envkit.dockerfile.stops_asks import asks, upgrade_asks
from envkit.dockerfile.stops_blank import nothing_to_install
from envkit.dockerfile.stops_certificates import certificates_missing
from envkit.dockerfile.stops_clones import script_gone
from envkit.dockerfile.stops_companions import companion_outgrown
from envkit.dockerfile.stops_compiler import compiler_missing
from envkit.dockerfile.stops_conda import conda_gone, conda_unfound
from envkit.dockerfile.stops_conda_pythons import conda_for_other_python, conda_keeps_its_python
from envkit.dockerfile.stops_dash import activate_unread, bash_words, environment_unmade
from envkit.dockerfile.stops_dependencies import dependency_gone
from envkit.dockerfile.stops_distribution_pip import named_twice, pip_fixed, pip_is_pip3, pip_too_old
from envkit.dockerfile.stops_folders import folder_lost
from envkit.dockerfile.stops_gpu import gpu_needed, native_code
from envkit.dockerfile.stops_grammar import grammar
from envkit.dockerfile.stops_hub import hub_program_gone
from envkit.dockerfile.stops_installers import (
    glibc_of_installer,
    gone_commands,
    gone_packages,
    key_refused,
    no_such_cudnn,
    other_cuda_version,
)
from envkit.dockerfile.stops_jupyter import server_started, verb_gone
from envkit.dockerfile.stops_keys import expired_key, old_key
from envkit.dockerfile.stops_libraries import library_missing
from envkit.dockerfile.stops_links import link_exists
from envkit.dockerfile.stops_managers import manager_missing
from envkit.dockerfile.stops_needs import need_missing
from envkit.dockerfile.stops_node import node_too_new
from envkit.dockerfile.stops_old_pip import source_by_old_pip
from envkit.dockerfile.stops_operands import clone_blank, operand_blank, priority_missing
from envkit.dockerfile.stops_packages import (
    index_lacks,
    metadata_refused,
    option_refused,
    pip_by_easy_install,
    pip_outdates_itself,
    retired,
    system_sync,
    unbuildable,
)
from envkit.dockerfile.stops_paths import jupyter_missing, python_elsewhere
from envkit.dockerfile.stops_pip_words import list_unmarked, pip_word_unknown, uninstall_asks
from envkit.dockerfile.stops_programs import (
    pip_command_unknown,
    poetry_refuses,
    release_is_a_name,
    script_by_name,
    service_asked,
)
from envkit.dockerfile.stops_projects import built_for_cpu, gpu_code_left_out, needs_more, python_too_old
from envkit.dockerfile.stops_python import managed, pip_missing, script_refuses
from envkit.dockerfile.stops_pythons import release_for_other_python
from envkit.dockerfile.stops_quotes import bounds_redirected
from envkit.dockerfile.stops_redirects import latest_unread, redirect_not_followed
from envkit.dockerfile.stops_releases import release_gone, release_missing
from envkit.dockerfile.stops_requirements import bounds_contradict, of_python_itself, pinned_twice
from envkit.dockerfile.stops_root import apt_without_root
from envkit.dockerfile.stops_runfiles import runfile_asks, runfile_with_driver
from envkit.dockerfile.stops_setup import setup_imports, tool_missing
from envkit.dockerfile.stops_sources import source_stops
from envkit.dockerfile.stops_switches import switch_renamed
from envkit.dockerfile.stops_system import (
    apt_pythons,
    archived,
    conda_terms,
    gone_download,
    rotated_key,
    sources_missing,
)
from envkit.dockerfile.stops_tools import export_gone, option_gone, program_moved
from envkit.dockerfile.stops_torch import gpu_unnamed, without_torch
from envkit.dockerfile.stops_users import user_exists
from envkit.dockerfile.stops_uv import environment_missing
from envkit.dockerfile.stops_words import apt_list, bash_alone, misspelled, requirement_unread
from envkit.dockerfile.stops_written import joined, list_missing
from envkit.dockerfile.system_cudnn import cudnn_of_the_system

if TYPE_CHECKING:
    from envkit.tables import Matrix


def build_stops(made: Iterable[Ground], matrix: Matrix) -> Iterator[Finding]:
    """The first such command of each kind in each stage that the image needs."""
    for ground in made:
        found: dict[tuple[str, int], Finding] = {}
        for one in _stops(ground, matrix):
            found.setdefault((one.id, line_of(one)), one)  # of two rules on one command the first
        yield from found.values()
        yield from gpu_code_left_out(ground, frozenset(line for _, line in found))
        yield from built_for_cpu(ground)


def _stops(ground: Ground, matrix: Matrix) -> Iterator[Finding]:
    for rule in (
        archived,
        rotated_key,
        old_key,
        expired_key,
        apt_pythons,
        gone_download,
        sources_missing,
        conda_terms,
        conda_unfound,
        glibc_of_installer,
        gone_packages,
        compilers,
        no_names,
        gone_ppas,
        gone_commands,
        key_refused,
        other_cuda_version,
        no_such_cudnn,
        asks,
        script_refuses,
        pip_outdates_itself,
        pip_by_easy_install,
        retired,
        option_refused,
        option_gone,
        verb_gone,
        program_moved,
        setup_imports,
        tool_missing,
        python_too_old,
        unbuildable,
        system_sync,
        apt_list,
        joined,
        grammar,
        folder_lost,
        list_missing,
        metadata_refused,
        index_lacks,
        pip_missing,
        managed,
        pip_fixed,
        pip_too_old,
        pip_is_pip3,
        without_torch,
        lists_missing,
        gpu_needed,
        native_code,
        gpu_unnamed,
        source_stops,
        framework_refused,
        cudnn_of_the_system,
        misspelled,
        bash_alone,
        requirement_unread,
        environment_missing,
        release_gone,
        program_missing,
        apt_without_root,
        certificates_missing,
        runfile_asks,
        runfile_with_driver,
        user_exists,
        redirect_not_followed,
        conda_gone,
        conda_keeps_its_python,
        pip_command_unknown,
        release_is_a_name,
        source_by_old_pip,
        poetry_refuses,
        service_asked,
        uninstall_asks,
        pip_word_unknown,
        bash_words,
        activate_unread,
        environment_unmade,
        script_by_name,
        needs_more,
        link_exists,
        switch_renamed,
        export_gone,
        version_cut,
        library_missing,
        companion_outgrown,
        argument_wanted,
        argument_blank,
        argument_lost,
        operand_blank,
        clone_blank,
        script_gone,
        node_too_new,
        upgrade_asks,
        pinned_twice,
        bounds_contradict,
        of_python_itself,
        nothing_to_install,
        bounds_redirected,
        need_missing,
        named_twice,
        release_for_other_python,
        hub_program_gone,
        dependency_gone,
        priority_missing,
        list_unmarked,
        server_started,
        latest_unread,
        python_elsewhere,
        pin_blank,
        jupyter_missing,
    ):
        yield from rule(ground)
    yield from cuda_releases(ground, matrix)
    yield from manager_missing(ground, matrix)
    yield from release_missing(ground, matrix)
    yield from conda_for_other_python(ground, matrix)
    yield from compiler_missing(ground, matrix)
