"""A source as people registered it; `spec()` is what the job gets."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse

from dashboard.accounts.levels import FOR_ALL, SEE
from dashboard.bin.models import Binned
from dashboard.connections.models import Connection
from streaming.sources import FUTURE_BOUND_MS, READ_COMMITTED, FieldType, SourceSpec


class Source(Binned):
    """A Kafka topic with its connection, format, schema, event-time field and allowed lateness."""

    key = models.SlugField(max_length=60, unique=True)  # the SourceSpec's id: on the wire, never renamed
    name = models.CharField(max_length=80)
    connection = models.ForeignKey(Connection, models.PROTECT, related_name="sources")
    topic = models.CharField(max_length=249)  # Kafka's own limit
    format = models.CharField(max_length=16, default="json")
    schema = models.JSONField(default=list)  # [[name, type], …] in the order of the messages
    event_time = models.CharField(max_length=200, null=True, blank=True)  # null: message timestamp
    time_unit = models.CharField(max_length=8, default="ms")
    time_pattern = models.CharField(max_length=100, blank=True)  # where the unit is “pattern”
    time_zone = models.CharField(max_length=64, default="UTC")  # of texts that name none
    processing_time = models.BooleanField(default=False)  # an event happens when it is read
    future_bound = models.PositiveBigIntegerField(default=FUTURE_BOUND_MS, null=True)  # ms; null: any
    past_bound = models.PositiveBigIntegerField(null=True)  # ms; null: any
    avro_schema = models.TextField(blank=True)
    registry = models.CharField(max_length=300, blank=True)  # address of a schema registry
    isolation = models.CharField(max_length=16, default=READ_COMMITTED)  # one of ISOLATIONS
    allowed_lateness = models.PositiveBigIntegerField(default=10_000)  # ms
    rereads = models.PositiveIntegerField(default=0)  # how often people had the topic read again
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="sources"
    )
    for_all = models.CharField(max_length=6, choices=FOR_ALL, default=SEE)  # who has signed in may at least
    created_at = models.DateTimeField(auto_now_add=True)

    part_of = ("connection",)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["name"], condition=Q(deleted_at=None), name="one_source_per_name")
        ]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("source", args=[self.key])

    @property
    def bootstrap_servers(self) -> str:
        return self.connection.bootstrap_servers

    @property
    def written_as(self) -> str:
        """The format as it is chosen: one of FORMAT_CHOICES."""
        return "avro-registry" if self.registry else self.format

    @property
    def format_words(self) -> str:
        if self.registry:
            return "Avro with a schema registry"
        return "Avro" if self.format == "avro" else self.format.upper()

    @property
    def types(self) -> dict[str, FieldType]:
        return dict(self.schema)

    def spec(self) -> SourceSpec:
        return SourceSpec(
            id=self.key,
            bootstrap_servers=self.connection.bootstrap_servers,
            topic=self.topic,
            format=self.format,
            schema=tuple((name, kind) for name, kind in self.schema),
            event_time=self.event_time or None,
            time_unit=self.time_unit,  # type: ignore[arg-type]  # the form admits TIME_UNITS alone
            allowed_lateness=self.allowed_lateness,
            made=self.created_at.isoformat() if self.created_at else "",
            time_pattern=self.time_pattern,
            time_zone=self.time_zone,
            processing_time=self.processing_time,
            future_bound=self.future_bound,
            past_bound=self.past_bound,
            avro_schema=self.avro_schema,
            registry=self.registry,
            security=self.connection.security(),
            rereads=self.rereads,
            isolation=self.isolation,  # type: ignore[arg-type]  # likewise
        )
