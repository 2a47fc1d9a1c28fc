"""What connections, sources and queries look like from outside: in the API, and in files of `export`.

Texts may be empty or wrong here; the forms look at them, so that everybody hears the same sentence.
"""

from datetime import datetime
from typing import Annotated, Any

from ninja import Schema
from pydantic import AfterValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from dashboard.api.refusals import CONTROL_CHARACTER
from dashboard.connections.forms import as_typed as connection_as_typed
from dashboard.connections.models import Connection
from dashboard.queries.models import SavedQuery
from dashboard.queries.windows_text import write_windows
from dashboard.sources import topic_rights
from dashboard.sources.forms import as_typed as source_as_typed
from dashboard.sources.models import Source
from dashboard.texts import control_problem
from optimizer.queries import CountSpec, SessionSpec, WindowSpec


def _storable(text: str) -> str:
    return _without_unseen(text, lines=True)


def _without_unseen(text: str, *, lines: bool = False) -> str:
    problem = control_problem(text, lines=lines)
    if problem:
        raise PydanticCustomError(CONTROL_CHARACTER, "{problem}", {"problem": problem})
    return text


Text = Annotated[str, AfterValidator(_storable)]
TextLine = Annotated[str, AfterValidator(_without_unseen)]


class Given(Schema):
    """What is sent: nothing that is not known."""

    model_config = ConfigDict(extra="forbid")


class ConnectionGiven(Given):
    name: Text = ""
    bootstrap_servers: Text = Field("", description="Brokers as host:port, separated by commas.")
    protocol: Text = Field("PLAINTEXT", description="PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.")
    mechanism: Text = Field("SCRAM-SHA-512", description="PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.")
    username: Text = ""
    ca: Text = Field("", description="The certificate authority, as PEM.")
    certificate: Text = Field("", description="The client certificate, as PEM.")
    check_host: bool = True


class ConnectionSent(ConnectionGiven):
    password: Text = Field("", description="Taken and never given out.")
    private_key: Text = Field("", description="Of the client certificate, as PEM; never given out.")


class ConnectionShown(Schema):
    key: str
    name: str
    bootstrap_servers: str
    protocol: str
    mechanism: str
    username: str
    ca: str
    certificate: str
    check_host: bool
    has_password: bool
    has_private_key: bool
    added_by: str | None

    @classmethod
    def of(cls, connection: Connection) -> "ConnectionShown":
        return cls(
            key=connection.key,
            **connection_shape(connection),
            has_password=bool(connection.sealed_password),
            has_private_key=bool(connection.sealed_key),
            added_by=_adder(connection),
        )


class FieldGiven(Given):
    name: Text
    type: Text = Field(description="text, integer, number, boolean, or decimal(0) to decimal(18).")


class SourceGiven(Given):
    name: Text = ""
    connection: Text = Field("", description="The key of a connection.")
    topic: Text = ""
    format: Text = Field("json", description="json, csv, tsv, avro or avro-registry.")
    avro_schema: Text = ""
    registry: Text = Field("", description="The address of a schema registry.")
    fields: list[FieldGiven] = []
    time_source: Text = Field("", description="field, message or processing.")
    event_time: Text = Field("", description="The field that holds the event time.")
    time_unit: Text = Field("ms", description="s, ms, us, ns, iso or pattern.")
    time_pattern: Text = ""
    time_zone: Text = "UTC"
    allowed_lateness: Text = "10s"
    future_bound: Text = Field("5m", description="How far ahead of the clock an event may be; empty: any.")
    past_bound: Text = Field("", description="How old an event may be; empty: any.")
    isolation: Text = Field("read_committed", description="read_committed or read_uncommitted.")


class SourceChange(Given):
    """What can be changed of a source; its topic and format stay, as another topic is another source."""

    name: Text = ""
    connection: Text = ""
    avro_schema: Text = ""
    registry: Text = ""
    fields: list[FieldGiven] = []
    time_source: Text = ""
    event_time: Text = ""
    time_unit: Text = ""
    time_pattern: Text = ""
    time_zone: Text = ""
    allowed_lateness: Text = ""
    future_bound: Text = ""
    past_bound: Text = ""
    isolation: Text = ""


class FieldShown(Schema):
    name: str
    type: str


class SourceShown(Schema):
    key: str
    name: str
    connection: str
    topic: str
    format: str
    avro_schema: str
    registry: str
    fields: list[FieldShown]
    time_source: str
    event_time: str
    time_unit: str
    time_pattern: str
    time_zone: str
    allowed_lateness: str
    future_bound: str
    past_bound: str
    isolation: str
    added_by: str | None
    note: str | None = Field(None, description="What to know about its topic.")

    @classmethod
    def of(cls, source: Source) -> "SourceShown":
        note = topic_rights.warning(source.topic) or None
        return cls(key=source.key, **source_shape(source), added_by=_adder(source), note=note)


class ComputationGiven(Given):
    aggregate: Text
    field: Text | None = Field(None, description="A field or an expression; none: count counts events.")
    fraction: float | None = Field(None, description="Of a percentile: from 0 to 1; none: 0.95.")
    k: int | None = Field(None, description="Of top_k: how many values, up to 1,000; none: 10.")

    @property
    def parameter(self) -> str:
        """What is given, as it is typed in the form."""
        given = next((one for one in (self.fraction, self.k) if one is not None), "")
        return str(given)


class TimeWindow(Given):
    range: Text
    slide: Text = Field("", description="Empty: the range, which makes the window tumble.")
    offset: Text = ""

    def words(self) -> str:
        return WindowSpec(self.range, self.slide or self.range, self.offset).words


class CountWindow(Given):
    count: int
    every: int | None = None

    def words(self) -> str:
        return CountSpec(self.count, self.count if self.every is None else self.every).words


class SessionWindow(Given):
    gap: Text

    def words(self) -> str:
        return SessionSpec(self.gap).words


class QueryDefined(Given):
    """What is computed: by its parts, or as SQL, which says all but the name."""

    name: Text = ""
    computations: list[ComputationGiven] = []
    windows: Text | list[TimeWindow | CountWindow | SessionWindow] = Field(
        "", description="A text such as 1m, 5m every 10s; or a list of windows."
    )
    group_by: list[Text] = []
    where: Text | None = Field("", description="A condition in SQL.")
    sql: Text | None = Field(None, description="SELECT … FROM … WINDOW …, instead of the parts.")

    def windows_text(self) -> str:
        if isinstance(self.windows, str):
            return self.windows
        return "\n".join(window.words() for window in self.windows)


class QuerySent(QueryDefined):
    source: Text = Field("", description="The key of a source.")
    tags: list[TextLine] = []


class QueryChange(QueryDefined):
    tags: list[TextLine] = []


class QueryShown(Schema):
    key: str
    source: str
    name: str
    computations: list[dict[str, str | float | None]]
    windows: list[dict[str, str | int]]
    group_by: list[str]
    where: str
    tags: list[str]
    owner: str | None
    paused_at: datetime | None
    paused_why: str = Field("", description="Where Millrace paused it by itself, why.")
    created_at: datetime
    note: str | None = Field(None, description="What to know about a change that was made.")

    @classmethod
    def of(cls, query: SavedQuery, note: str | None = None) -> "QueryShown":
        return cls(
            key=query.key,
            source=query.source.key,
            name=query.name,
            computations=query.computations,
            windows=query.windows,
            group_by=query.group_by,
            where=query.where or "",
            tags=query.tags,
            owner=query.owner.username if query.owner else None,
            paused_at=query.paused_at,
            paused_why=query.paused_why,
            created_at=query.created_at,
            note=note,
        )


def connection_shape(connection: Connection) -> dict[str, Any]:
    """A connection as it would be sent to make it, without its secrets."""
    return connection_as_typed(connection)


def source_shape(source: Source) -> dict[str, Any]:
    """A source as it would be sent to make it."""
    typed = source_as_typed(source)
    names, kinds = typed.pop("field"), typed.pop("kind")
    [avro_schema], [registry] = typed.pop("avro_schema"), typed.pop("registry")
    return {
        **{name: value for name, [value] in typed.items()},
        "topic": source.topic,
        "format": source.written_as,
        "avro_schema": avro_schema,
        "registry": registry,
        "fields": [{"name": name, "type": kind} for name, kind in zip(names, kinds, strict=True)],
    }


def query_shape(query: SavedQuery) -> dict[str, Any]:
    """A query as it would be sent to make it, with its windows as people type them."""
    return {
        "source": query.source.key,
        "name": query.name,
        "computations": query.computations,
        "windows": write_windows(query.spec().windows),
        "group_by": query.group_by,
        "where": query.where or "",
        "tags": query.tags,
    }


def _adder(thing: Connection | Source) -> str | None:
    return thing.created_by.username if thing.created_by else None
