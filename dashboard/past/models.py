"""The kept past of queries, what people note beside it, and links that show a dashboard to others."""

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils import timezone

from dashboard.boards.models import Board
from dashboard.queries.models import SavedQuery

DETAIL_DAYS = 2
KEPT_DAYS = 35
MOST_DAYS = 3_650


class PastWindow(models.Model):
    """A single-window query that has a past; segments name it by its small number."""

    query = models.TextField(unique=True)  # its id, such as `k3mq7abc@1m/10s`

    def __str__(self) -> str:
        return self.query


class Segment(models.Model):
    """Some time of one window's final results, in full or thinned, as one compact block."""

    window = models.ForeignKey(PastWindow, models.CASCADE, related_name="segments")
    level = models.PositiveIntegerField()  # ms of a span of which two results are kept; 0: all are
    start = models.BigIntegerField()  # ms since the epoch, inclusive
    until = models.BigIntegerField()  # exclusive
    oldest = models.BigIntegerField()  # the first window end in it
    newest = models.BigIntegerField()  # the last one
    is_rolled_up = models.BooleanField(default=False)  # the next level has it, too
    data = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["window", "level", "start"], name="one_segment_per_place")
        ]
        indexes = [models.Index(fields=["is_rolled_up", "until"], name="segments_to_roll_up")]

    def __str__(self) -> str:
        return f"{self.window_id} from {self.start}, level {self.level}"


class HistoryPlace(models.Model):
    """How far the results topic is written down, and by whom: written with the segments, or not at all."""

    topic = models.CharField(max_length=249, primary_key=True)
    offset = models.BigIntegerField(default=0)  # the next message to write
    owner = models.CharField(max_length=32, default="")
    alive_at = models.DateTimeField(null=True)  # when the owner last said that it is there

    def __str__(self) -> str:
        return f"{self.topic} up to {self.offset}"


class HistoryPolicy(models.Model):
    """How long the results of one query are kept; a query without a row has the defaults."""

    query = models.OneToOneField(SavedQuery, models.CASCADE, related_name="history_policy")
    detail_days = models.PositiveIntegerField(
        default=DETAIL_DAYS, validators=[MinValueValidator(1), MaxValueValidator(MOST_DAYS)]
    )
    kept_days = models.PositiveIntegerField(
        default=KEPT_DAYS, validators=[MinValueValidator(1), MaxValueValidator(MOST_DAYS)]
    )

    def __str__(self) -> str:
        return f"{self.detail_days} days in full, {self.kept_days} days in all"


class Note(models.Model):
    """What somebody wrote beside an instant of a dashboard."""

    board = models.ForeignKey(Board, models.CASCADE, related_name="notes")
    time = models.BigIntegerField()  # ms since the epoch
    text = models.CharField(max_length=140)
    author = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["time", "pk"]
        indexes = [models.Index(fields=["board", "time"], name="notes_by_time")]

    def __str__(self) -> str:
        return self.text


class ShareLink(models.Model):
    """An address that shows one dashboard to whoever has it. The token itself is shown once."""

    board = models.ForeignKey(Board, models.CASCADE, related_name="share_links")
    digest = models.CharField(max_length=64, unique=True)
    label = models.CharField(max_length=80, blank=True)
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)  # to the minute

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return self.label or f"Link of {self.created_at:%Y-%m-%d}"

    @property
    def is_open(self) -> bool:
        return self.revoked_at is None and self.expires_at > timezone.now()
