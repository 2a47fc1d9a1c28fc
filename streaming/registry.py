"""Schemas of a Confluent Schema Registry, by the ids that messages begin with; once known, they are kept."""

import json
from collections.abc import Callable
from functools import lru_cache
from http.client import HTTPException
from urllib.parse import urlsplit

from streaming import addresses
from streaming.formats import FormatOptions
from streaming.reach import SourceProblem
from streaming.sources import SourceSpec

ANSWER_SECONDS = 4.0
MOST_BYTES = 4 << 20  # of an answer


class InvalidAddress(ValueError):
    """An address that no registry has; the message is the sentence shown to people."""


def check_address(address: str) -> str:
    """The address without a slash at its end.

    >>> check_address("http://registry:8081/")
    'http://registry:8081'
    """
    try:
        parts = urlsplit(address)
        has_host = bool(parts.hostname) and parts.port != 0 and " " not in address
        is_address = parts.scheme in ("http", "https") and has_host
    except ValueError:
        is_address = False
    if not is_address:
        raise InvalidAddress(f"“{address}” is not an address: write it as http://registry:8081.")
    if parts.username or parts.password:
        raise InvalidAddress("A registry that wants a login cannot be used yet: leave the user name out.")
    if problem := addresses.problem_of_literal(str(parts.hostname), addresses.allowed_networks()):
        raise InvalidAddress(problem)
    return address.rstrip("/")


def format_options(source: SourceSpec, dictionaries: bool = False) -> FormatOptions:
    """For the decoder of a source's messages."""
    by_id = schemas_of(source.registry) if source.registry else None
    return FormatOptions(tuple(source.types), source.avro_schema, by_id, dictionaries=dictionaries)


@lru_cache(maxsize=16)
def schemas_of(address: str) -> Callable[[int], str]:
    """Finds the schema of an id; raises LookupError where there is none, SourceProblem if nobody answers."""
    known: dict[int, str] = {}

    def by_id(number: int) -> str:
        if number not in known:
            known[number] = _ask(address, number)
        return known[number]

    return by_id


def _ask(address: str, number: int) -> str:
    status, body = _answer(address, f"/schemas/ids/{number}")
    if status == 404:
        raise LookupError(number)
    if status != 200:  # a redirect, too, which could lead anywhere
        raise SourceProblem(f"The schema registry at {address} answered with status {status}.")
    try:
        told = json.loads(body)
        kind, schema = told.get("schemaType", "AVRO"), told["schema"]
    except (ValueError, KeyError, AttributeError) as error:
        raise SourceProblem(f"{address} answers, but not as a schema registry; check the address.") from error
    if kind != "AVRO":
        raise SourceProblem(f"Schema {number} of {address} is {kind}; only Avro can be read.")
    return str(schema)


def _answer(address: str, path: str) -> tuple[int, bytes]:
    connection = None
    try:
        parts = urlsplit(check_address(address))
        connection = addresses.http(parts, ANSWER_SECONDS)
        connection.request("GET", parts.path + path)
        answer = connection.getresponse()
        return answer.status, answer.read(MOST_BYTES)
    except (addresses.NotAllowed, InvalidAddress) as error:
        raise SourceProblem(str(error)) from error
    except OSError as error:
        raise SourceProblem(f"The schema registry at {address} does not answer.") from error
    except HTTPException as error:
        raise SourceProblem(f"{address} answers, but not as a schema registry; check the address.") from error
    finally:
        if connection is not None:
            connection.close()
