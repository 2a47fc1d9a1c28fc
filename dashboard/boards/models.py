"""Dashboards and the panels on them."""

from typing import Any

from django.conf import settings
from django.db import models
from django.urls import reverse

from dashboard.accounts.levels import CHANGE, FOR_ALL
from dashboard.bin.models import Binned
from dashboard.queries.models import SavedQuery


class Board(Binned):
    """A dashboard: a named page of panels."""

    slug = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=80)
    tags = models.JSONField(default=list, blank=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="boards")
    for_all = models.CharField(
        max_length=6, choices=FOR_ALL, default=CHANGE
    )  # who has signed in may at least
    starred_by = models.ManyToManyField(settings.AUTH_USER_MODEL, related_name="starred_boards", blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("board", args=[self.slug])


class FirstBoard(models.Model):
    """The dashboard that somebody sees first."""

    person = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, related_name="first_board")
    board = models.ForeignKey(Board, models.CASCADE, related_name="+")


class Panel(Binned):
    """One place on a dashboard: results of queries, or a text."""

    board = models.ForeignKey(Board, models.CASCADE, related_name="panels")
    # One of those shown, without which the panel is not there (see leaning.py); a text has none.
    query = models.ForeignKey(SavedQuery, models.CASCADE, null=True, blank=True, related_name="panels")
    title = models.CharField(max_length=120)
    kind = models.CharField(max_length=16, default="line")
    shows = models.JSONField(default=list, blank=True)  # [{"query": key, "windows": […], …}]; empty: `query`
    settings = models.JSONField(default=dict, blank=True)  # what differs from the defaults of forms.py
    x = models.PositiveSmallIntegerField(null=True, blank=True)  # null: wherever there is room
    y = models.PositiveSmallIntegerField(null=True, blank=True)
    w = models.PositiveSmallIntegerField(default=6)
    h = models.PositiveSmallIntegerField(default=19)

    part_of = ("board", "query", "query__source", "query__source__connection")

    class Meta:
        ordering = [models.F("y").asc(nulls_last=True), "x", "pk"]

    def __str__(self) -> str:
        return self.title

    @property
    def shown(self) -> list[dict[str, Any]]:
        """The queries on the panel, each with what is shown of it."""
        return self.shows or ([{"query": self.query.key}] if self.query else [])
