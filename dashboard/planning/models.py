"""Plans as they were made: one row per version of a source's plan, never changed afterwards."""

from django.db import models

from dashboard.sources.models import Source
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

    class Meta:
        ordering = ["source", "-version"]
        constraints = [models.UniqueConstraint(fields=["source", "version"], name="one_plan_per_version")]

    def __str__(self) -> str:
        return f"Plan {self.version} of {self.source}"

    def value(self) -> Plan:
        return Plan.from_json(self.plan)
