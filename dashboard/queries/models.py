"""Saved queries: what people defined, kept as they wrote it."""

import secrets
from collections.abc import Iterable

from django.conf import settings
from django.db import models
from django.urls import reverse

from dashboard.accounts.people import first_name
from dashboard.sources.models import Source
from optimizer.queries import AnyQuery, QuerySpec

TAG_LENGTH = 40
_KEY_LETTERS = "abcdefghjkmnpqrstuvwxyz23456789"  # none that is mistaken for another


def new_key() -> str:
    """A short key that is never reused: results of a deleted query must not reach a new one."""
    return "".join(secrets.choice(_KEY_LETTERS) for _ in range(8))


def tidy_tags(typed: Iterable[str]) -> list[str]:
    """Tags as they are kept: none empty, too long or twice."""
    tags = (tag.strip()[:TAG_LENGTH] for tag in typed)
    return list(dict.fromkeys(tag for tag in tags if tag))


class LiveQueries(models.Manager["SavedQuery"]):
    """All queries but those deleted, which are kept for a while so that Undo can bring them back."""

    def get_queryset(self) -> models.QuerySet["SavedQuery"]:
        return super().get_queryset().filter(deleted_at__isnull=True)


class SavedQuery(models.Model):
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
    deleted_at = models.DateTimeField(null=True, blank=True)

    objects = LiveQueries()
    with_deleted = models.Manager["SavedQuery"]()

    class Meta:
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("query", args=[self.key])

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
        return self.spec().queries(key=self.key)

    @property
    def computes(self) -> str:
        """What it computes, in words."""
        return ", ".join(one.words for one in self.spec().computations)
