"""What the user asks of an image beside the versions."""

from __future__ import annotations

from envkit._startup.records import record


@record
class ImageOptions:
    """The options of `envkit dockerfile` that shape the image; the defaults give the smallest image that serves."""

    official: bool = False  # start from the framework's own image
    base: str | None = None  # the user's base image
    digest: bool = False  # pin the base by digest where one is on record
    devel: bool = False  # compilers and headers too
    slim: bool = False  # the plain distribution image
    syntax: bool = True  # name the Dockerfile frontend in the first line
    pip: tuple[str, ...] = ()
    requirements: str | None = None  # a file name in the build context
    lock: str | None = None  # a file of the build context that pins every package with its hashes
    apt: tuple[str, ...] = ()  # distribution packages, whatever the package manager
    jupyter: bool = False
    workdir: str = "/workspace"
    entrypoint: str | None = None
    user: str = "app"

    @property
    def of_the_image(self) -> tuple[str, ...]:
        """The options among those given that say what an image starts from, or how its file is written."""
        given = {"--base": self.base, "--digest": self.digest, "--slim": self.slim, "--no-syntax": not self.syntax}
        return tuple(name for name, value in given.items() if value)
