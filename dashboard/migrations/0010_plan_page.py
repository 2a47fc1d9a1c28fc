"""Plans that people hold, calibrations, and estimated beside actual throughput."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

KEY = models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")


class Migration(migrations.Migration):
    dependencies = [
        ("dashboard", "0009_alerts"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField("planversion", "held", models.BooleanField(default=False)),
        migrations.CreateModel(
            name="CalibrationRecord",
            fields=[
                ("id", KEY),
                ("plan", models.PositiveIntegerField()),
                ("statistics", models.JSONField()),
                ("measured", models.JSONField()),
                ("automatic", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "made_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="calibrations",
                        to="dashboard.source",
                    ),
                ),
            ],
            options={"ordering": ["source", "-created_at", "-pk"]},
        ),
        migrations.CreateModel(
            name="ThroughputSample",
            fields=[
                ("id", KEY.clone()),
                ("at", models.DateTimeField()),
                ("plan", models.PositiveIntegerField()),
                ("estimated", models.FloatField()),
                ("actual", models.FloatField()),
                (
                    "source",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="throughput",
                        to="dashboard.source",
                    ),
                ),
            ],
            options={
                "ordering": ["source", "at"],
                "constraints": [models.UniqueConstraint(fields=["source", "at"], name="one_sample_per_span")],
            },
        ),
    ]
