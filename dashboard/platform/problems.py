"""The one way in which commands fail: a sentence that says what is wrong and what to do."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandError

from streaming.broker import BrokerError
from streaming.jars import JarError
from streaming.java import JavaError


class Problem(CommandError):
    """Something a person has to put right; the command ends with exit code 1.

    Django prints the name of the class before the sentence: "Problem: Port 8000 …".
    """


@contextmanager
def as_problems() -> Iterator[None]:
    """Turn what can go wrong on any machine into problems; everything else stays a defect with a trace."""
    try:
        yield
    except (BrokerError, JarError, JavaError) as error:
        raise Problem(str(error)) from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise Problem("The disk is full: free about 1 GB, then run this again.") from error
        raise
