"""What is known to stop the build of an image, as tables: Pythons without a package, old keys, archived systems."""

from __future__ import annotations

import re
from functools import cache

from envkit._startup.records import record
from envkit.base.versions import Version, VersionSpec
from envkit.tables.loader import read, table


@table("image/managed_pythons.csv", "os_id")
@record
class ManagedPython:
    """A distribution that marks its Python as externally managed: pip refuses to install into it."""

    os_id: str
    sources: tuple[str, ...]


@table("image/compiled_packages.csv", "package")
@record
class CompiledPackage:
    """A package that pip builds with torch, for want of a wheel on the default index, or from its repository.

    `repositories`: on GitHub, where people install it from too. `variable`: of the environment, which names the GPU
    architectures; without it the build looks for a GPU. `needs_nvcc`: without the CUDA compiler its build stops;
    `nvcc_option`: with this option it does.
    `on_index`: the default index has its source, and no wheel. `isolated`: its project asks every pip to build it in an
    environment of its own; `own_torch`: into which it brings the newest torch. `tools`: what its setup needs where pip
    fetches nothing for the build. `imports`: one of these that the setup cannot do without; none of the packages in
    `beside` bring it.
    """

    package: str
    repositories: tuple[str, ...]
    variable: str | None
    needs_nvcc: bool
    nvcc_option: str | None
    on_index: bool
    isolated: bool
    own_torch: bool
    tools: tuple[str, ...]
    imports: str | None
    beside: tuple[str, ...]
    sources: tuple[str, ...]


@cache
def compiled_packages() -> dict[str, CompiledPackage]:
    """Such packages by their comparable names."""
    return {row.package: row for row in read(CompiledPackage)}


@table("image/apt_pythons.csv", "os_id", "repository")
@record
class AptPythons:
    """All Pythons that apt has of a distribution, or of a `repository` next to it that was emptied."""

    os_id: str
    repository: str | None
    pythons: tuple[Version, ...]
    sources: tuple[str, ...]


@table("image/rotated_keys.csv", "repository", "word", "versions")
@record
class RotatedKey:
    """Images with `word` in their tag that know only the key with which NVIDIA signed its packages until 2022-04-27.

    A word of several parts is the tag itself, without versions.
    """

    repository: str
    word: str
    versions: str
    sources: tuple[str, ...]

    def holds(self, repository: str, tag: str) -> bool:
        """True for an image of these."""
        if not self.versions:
            return repository == self.repository and tag == self.word
        version = Version.find(tag)
        if version is None or repository != self.repository or self.word not in tag.split("-"):
            return False
        return VersionSpec.parse(self.versions).holds(version)


@table("image/expired_keys.csv", "repository", "tags")
@record
class ExpiredKey:
    """Images, by a pattern of their tags, that have a repository of apt with a key that has expired since."""

    repository: str
    tags: str
    title: str
    key: str
    sources: tuple[str, ...]

    def holds(self, repository: str, tag: str) -> bool:
        """True for an image of these."""
        return repository == self.repository and re.fullmatch(self.tags, tag) is not None


@table("image/archived_systems.csv", "word", "repositories")
@record
class ArchivedSystem:
    """A distribution whose packages have left its mirrors, by a word of a tag in these repositories (none: in any)."""

    word: str
    repositories: tuple[str, ...]
    title: str
    sources: tuple[str, ...]


@table("image/gone_downloads.csv", "address")
@record
class GoneDownload:
    """A part of the address of a file that is no longer there."""

    address: str
    title: str
    fix: str
    sources: tuple[str, ...]


@table("image/fault_lines.csv", "fault", "line", place=("before", "after-from"))
@record
class FaultLine:
    """A line of a Dockerfile that takes a fault away: before its instruction, or below the FROM of its stage."""

    fault: str
    when: str  # what the finding says where the line helps; '' for every one
    place: str
    line: str
    told: str
    sources: tuple[str, ...]


@table("image/fault_words.csv", "fault", "old")
@record
class FaultWords:
    """Words of a Dockerfile and those that take a fault away in their place; `also`: others then, as `old=new`."""

    fault: str
    old: str
    new: str
    also: str
    told: str
    sources: tuple[str, ...]


@table("image/installer_glibc.csv", "address")
@record
class InstallerGlibc:
    """The oldest glibc on which an installer of this address runs."""

    address: str
    title: str
    glibc: Version
    sources: tuple[str, ...]


@table("image/older_minicondas.csv", "release")
@record
class OlderMiniconda:
    """An installer of Miniconda that runs on old systems, newest first, and all Pythons its release of conda is for."""

    release: str
    pythons: tuple[Version, ...]
    sources: tuple[str, ...]


@table("image/distribution_pips.csv", "os_id")
@record
class DistributionPip:
    """The pip of a distribution that does not read which Python a release of pip needs."""

    os_id: str
    pip: Version
    sources: tuple[str, ...]


@table("image/refused_metadata.csv", "package")
@record
class RefusedMetadata:
    """A package that pip leaves out `since` a release, for what it or all that it takes `requires`."""

    package: str
    repositories: tuple[str, ...]  # on GitHub, where people install it from too: its address, and older ones
    versions: str  # blank: all
    requires: str
    since: Version
    sources: tuple[str, ...]


@table("image/gone_packages.csv", "os_id", "package")
@record
class GonePackage:
    """A package that a distribution does not have, though others do, and what to install `instead`."""

    os_id: str
    package: str
    instead: str | None
    sources: tuple[str, ...]


@table("image/base_users.csv", "images")
@record
class BaseUser:
    """The user as whom the steps of some images run unless USER says otherwise; `images` is a pattern of their name."""

    images: str
    user: str
    sources: tuple[str, ...]


@table("image/first_users.csv", "os_id")
@record
class FirstUser:
    """The user, and the group of the same number, that the images of a distribution have beside those of the system."""

    os_id: str
    name: str
    number: int
    sources: tuple[str, ...]


@table("image/redirects.csv", "address")
@record
class Redirect:
    """Addresses, as a pattern, that only send on to another one."""

    address: str
    title: str
    sources: tuple[str, ...]


@table("image/gone_commands.csv", "os_id", "command")
@record
class GoneCommand:
    """A command that a distribution no longer has in any package."""

    os_id: str
    command: str
    sources: tuple[str, ...]


@table("image/asking_packages.csv", "package")
@record
class AskingPackage:
    """A package that provides others to every plain image, so that apt asks before it installs them.

    `first`: where nothing else was installed before, which may have brought them. `in_devel`: images for development
    have it. `anywhere`: no image of any kind has all that it provides.
    """

    package: str
    first: bool
    in_devel: bool
    anywhere: bool
    sources: tuple[str, ...]


@table("image/moving_systems.csv", "repository", "tags")
@record
class MovingSystem:
    """The distribution of images whose `tags`, a pattern, name none: these move to each new release."""

    repository: str
    tags: str
    os_id: str
    sources: tuple[str, ...]


@table("image/refused_keys.csv", "os_id")
@record
class RefusedKey:
    """A distribution whose apt refuses keys that are bound by SHA-1, as NVIDIA's is for all older distributions."""

    os_id: str
    sources: tuple[str, ...]


@table("image/index_lacks.csv", "index", "package")
@record
class IndexLacks:
    """A package that an index, by a part of its address, does not have."""

    index: str
    package: str
    sources: tuple[str, ...]


@table("image/gone_extras.csv", "package", "extra")
@record
class GoneExtra:
    """An extra that provides CUDA in older releases, and that a package does not have `since` one."""

    package: str
    extra: str
    since: Version
    sources: tuple[str, ...]


@table("image/numpy_bringers.csv", "package")
@record
class NumpyBringer:
    """A package whose newest releases require NumPy and take its second major version; `always`: older ones too.

    `forces`: the Python from which on pip takes a release that does not go with the first one.
    """

    package: str
    always: bool
    forces: Version | None
    sources: tuple[str, ...]


@cache
def numpy_bringers() -> dict[str, NumpyBringer]:
    """Such packages by their comparable names."""
    return {row.package: row for row in read(NumpyBringer)}


@table("image/torch_bringers.csv", "package")
@record
class TorchBringer:
    """A package that requires torch without an extra."""

    package: str
    sources: tuple[str, ...]


@table("image/opencv_bringers.csv", "package")
@record
class OpencvBringer:
    """A package that requires the OpenCV with windows (`brings`) without an extra."""

    package: str
    brings: str
    sources: tuple[str, ...]


@table("image/without_torch.csv", "package")
@record
class WithoutTorch:
    """A package that requires no torch, nor does anything that it requires."""

    package: str
    sources: tuple[str, ...]


@table("image/refused_options.csv", "package", "option")
@record
class RefusedOption:
    """An option of CMake, set for the build of a package, at which its build stops by now."""

    package: str
    option: str
    instead: str
    sources: tuple[str, ...]


@table("image/unbuildable_packages.csv", "package", "versions")
@record
class UnbuildablePackage:
    """Releases without a wheel from a Python on, whose source cannot be built with today's tools; blank: all."""

    package: str
    versions: str
    python: Version
    sources: tuple[str, ...]


@table("image/moving_pythons.csv", "repository", "tags")
@record
class MovingPython:
    """The Python that images under moving `tags`, a pattern, have at least."""

    repository: str
    tags: str
    python: Version
    sources: tuple[str, ...]
