"""Saved queries: what people defined, kept as they wrote it."""

import secrets
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils import timezone

from dashboard.accounts.people import first_name
from dashboard.audit.acting import actor
from dashboard.bin.models import Binned
from dashboard.queries.aggregate_words import approximate
from dashboard.sources.models import Source
from optimizer.queries import AnyQuery, QuerySpec
from streaming.exact_queries import exactly

TAG_LENGTH = 40
DEFINITION = ("name", "computations", "windows", "group_by", "where")  # what its versions keep
_KEY_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that is mistaken for another


def new_key() -> str:
    """A short key that is never reused: results of a deleted query must not reach a new one."""
    return "".join(secrets.choice(_KEY_LETTERS) for _ in range(8))


def tidy_tags(typed: Iterable[str]) -> list[str]:
    """Tags as they are kept: none empty, too long or twice."""
    tags = (tag.strip()[:TAG_LENGTH] for tag in typed)
    return list(dict.fromkeys(tag for tag in tags if tag))


class SavedQuery(Binned):
    """A multi-window query of one person over one source."""

    key = models.SlugField(max_length=16, unique=True, default=new_key)
    source = models.ForeignKey(Source, models.CASCADE, related_name="queries")
    name = models.CharField(max_length=120)
    computations = models.JSONField()  # [{"aggregate": "max", "field": "temp"}, …]; field null: counts events
    windows = models.JSONField()  # [{"range": "5m", "slide": "10s"}, …]
    group_by = models.JSONField(default=list, blank=True)
    where = models.TextField(null=True, blank=True)  # null: no filter
    tags = models.JSONField(default=list, blank=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="queries")
    paused_at = models.DateTimeField(null=True, blank=True)  # null: it runs
    paused_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    paused_why = models.TextField(default="", blank=True)  # where Millrace paused it by itself
    created_at = models.DateTimeField(auto_now_add=True)

    part_of = ("source", "source__connection")

    class Meta:
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("query", args=[self.key])

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Whoever changes what it says, by whichever way, leaves a version behind."""
        super().save(*args, **kwargs)
        if kwargs.get("update_fields") is None:
            self._keep_version()

    def _keep_version(self) -> None:
        definition = {name: getattr(self, name) for name in DEFINITION}
        newest = self.versions.first()
        if newest is None or newest.definition != definition:
            number = newest.number + 1 if newest else 1
            self.versions.create(number=number, definition=definition, person_id=actor().person)

    def spec(self) -> QuerySpec:
        return QuerySpec.from_json(
            {
                "name": self.name,
                "computations": self.computations,
                "windows": self.windows,
                "group_by": self.group_by,
                "where": self.where,
            }
        )

    def take(self, spec: QuerySpec) -> None:
        """Become what `spec` says; not saved yet."""
        self.name = spec.name
        self.computations = [one.to_json() for one in spec.computations]
        self.windows = [window.to_json() for window in spec.windows]
        self.group_by = list(spec.group_by)
        self.where = spec.where

    @property
    def paused_by_words(self) -> str:
        """Who paused it; where that was Millrace itself, why."""
        return f"Millrace: {self.paused_why}" if self.paused_why else first_name(self.paused_by)

    def queries(self) -> list[AnyQuery]:
        return exactly(self.spec().queries(key=self.key), self.source.types)

    @property
    def approximate(self) -> str:
        """Which of its answers are approximate, and how far off; empty where all are exact."""
        return approximate(self.spec().computations)

    @property
    def computes(self) -> str:
        """What it computes, in words."""
        return ", ".join(one.words for one in self.spec().computations)


class QueryVersion(models.Model):
    """What a query said from one change to the next, and who changed it."""

    query = models.ForeignKey(SavedQuery, models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()  # from 1 on
    definition = models.JSONField()  # the fields of DEFINITION, as the query has them
    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    made_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["query", "number"], name="one_version_per_number")]

    def __str__(self) -> str:
        return f"Version {self.number} of {self.query}"

    def spec(self) -> QuerySpec:
        return QuerySpec.from_json(self.definition)
