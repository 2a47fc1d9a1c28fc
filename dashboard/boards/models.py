"""Dashboards and the panels on them."""

from django.conf import settings
from django.db import models
from django.urls import reverse

from dashboard.accounts.levels import CHANGE, FOR_ALL
from dashboard.queries.models import SavedQuery


class Board(models.Model):
    """A dashboard: a named page of panels."""

    slug = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=80)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="boards")
    for_all = models.CharField(
        max_length=6, choices=FOR_ALL, default=CHANGE
    )  # who has signed in may at least
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name", "pk"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("board", args=[self.slug])


class LivePanels(models.Manager["Panel"]):
    """Panels whose query exists; those of a deleted query come back with it on Undo."""

    def get_queryset(self) -> models.QuerySet["Panel"]:
        return super().get_queryset().filter(query__deleted_at__isnull=True)


class Panel(models.Model):
    """One query's place on a dashboard."""

    board = models.ForeignKey(Board, models.CASCADE, related_name="panels")
    query = models.ForeignKey(SavedQuery, models.CASCADE, related_name="panels")
    title = models.CharField(max_length=120)
    position = models.PositiveIntegerField(default=0)

    objects = LivePanels()

    class Meta:
        ordering = ["position", "pk"]

    def __str__(self) -> str:
        return self.title
