"""Plans as they were made, what the machine was calibrated to, and how well plans were estimated."""

from django.conf import settings
from django.db import models

from dashboard.sources.models import Source
from optimizer.cost import Statistics
from optimizer.plan import Plan


class PlanVersion(models.Model):
    """One version of a source's plan, why it was made and what was known then."""

    source = models.ForeignKey(Source, models.CASCADE, related_name="plans")
    version = models.PositiveIntegerField()
    plan = models.JSONField()
    cause = models.CharField(max_length=300)
    statistics = models.JSONField()
    estimated_throughput = models.FloatField(null=True)  # events/s; null: the plan has no tree
    created_at = models.DateTimeField(auto_now_add=True)
    published_at = models.DateTimeField(null=True, blank=True)  # null: not on Kafka (yet, or superseded)
    held = models.BooleanField(
        default=False
    )  # somebody chose these trees: edits change no more than they must

    class Meta:
        ordering = ["source", "-version"]
        constraints = [models.UniqueConstraint(fields=["source", "version"], name="one_plan_per_version")]

    def __str__(self) -> str:
        return f"Plan {self.version} of {self.source}"

    def value(self) -> Plan:
        return Plan.from_json(self.plan)


class CalibrationRecord(models.Model):
    """What the job's steps took when this was made; a source's estimates reckon with its newest."""

    source = models.ForeignKey(Source, models.CASCADE, related_name="calibrations")
    plan = models.PositiveIntegerField()  # the version that ran
    statistics = models.JSONField()
    measured = models.JSONField()  # core seconds an event: in all, in map tasks, in shards, in kernels
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )
    automatic = models.BooleanField(default=False)  # by Millrace, when enough had been measured
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["source", "-created_at", "-pk"]

    def value(self) -> Statistics:
        return Statistics.from_json(self.statistics)


class ThroughputSample(models.Model):
    """Five minutes of a source: what its plan was estimated to take, and what the job showed it can.

    So for its trees, each alone, by identity (dashboard/planning/identity.py): estimated and actual.
    """

    source = models.ForeignKey(Source, models.CASCADE, related_name="throughput")
    at = models.DateTimeField()  # their end
    plan = models.PositiveIntegerField()
    estimated = models.FloatField()  # events/s
    actual = models.FloatField()
    trees = models.JSONField(default=dict)

    class Meta:
        ordering = ["source", "at"]
        constraints = [models.UniqueConstraint(fields=["source", "at"], name="one_sample_per_span")]

    def of(self, tree: str | None) -> tuple[float, float]:
        """Estimated and actual: of a tree that it knows, or of the plan."""
        if tree is None:
            return self.estimated, self.actual
        estimated, actual = self.trees[tree]
        return estimated, actual
