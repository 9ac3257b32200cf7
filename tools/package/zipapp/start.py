"""The `__main__` of the zipped application. It must be understood by every Python that somebody may start it with."""

import sys

NEEDED = (3, 10)

if sys.version_info[:2] < NEEDED:
    needed, own = (".".join(map(str, version)) for version in (NEEDED, sys.version_info[:3]))
    words = ["envkit needs Python", needed, "or newer, and this is", own + ".", "Try: python3.12"]
    sys.stderr.write(" ".join(words + sys.argv) + "\n")
    sys.exit(2)

from envkit.__main__ import main  # noqa: E402 - an older Python cannot read it

main()
