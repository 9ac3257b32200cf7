"""Standard output when it cannot be written: the reader has gone, the disk is full, or there is none."""

from __future__ import annotations

import errno
import os
import sys

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


def written(text: str = "", code: int = 0) -> int:
    """`code` once `text` and all that was printed before is written out; what ends the program where it cannot be."""
    try:
        if sys.stdout is not None:
            sys.stdout.write(text)
            sys.stdout.flush()
    except OSError as error:
        return failed(error)
    return code


def is_of_output(error: OSError) -> bool:
    """True for an error of writing to a stream; errors of files name the file."""
    return error.filename is None and error.errno in (errno.EPIPE, *_FULL)


def failed(error: OSError) -> int:
    """The exit code for an error of standard output, which is told unless the reader went away on purpose (`| head`).

    What is left in the buffer goes nowhere, so that the interpreter does not try and complain once more.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return 0
    sys.stderr.write(f"envkit: cannot write the output: {error.strerror}.\n")
    return 1
