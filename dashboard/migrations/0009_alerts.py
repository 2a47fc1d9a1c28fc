"""Alerts, what is known of them, what fired and what was sent."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import dashboard.alerts.models
import dashboard.queries.models


class Migration(migrations.Migration):
    dependencies = [
        ("dashboard", "0008_history"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Alert",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "key",
                    models.SlugField(default=dashboard.queries.models.new_key, max_length=16, unique=True),
                ),
                ("name", models.CharField(max_length=120)),
                ("computation", models.CharField(max_length=500)),
                ("window", models.CharField(max_length=120)),
                (
                    "condition",
                    models.CharField(
                        choices=[
                            ("above", "above"),
                            ("below", "below"),
                            ("between", "between"),
                            ("outside", "outside"),
                            ("change", "change"),
                            ("no_data", "no_data"),
                        ],
                        max_length=16,
                    ),
                ),
                ("threshold", models.FloatField(default=0)),
                ("upper", models.FloatField(default=0)),
                ("margin", models.FloatField(default=0)),
                ("percent", models.BooleanField(default=False)),
                ("within", models.PositiveBigIntegerField(default=0)),
                ("hold", models.PositiveBigIntegerField(default=0)),
                ("per_group", models.BooleanField(default=True)),
                ("provisional", models.BooleanField(default=False)),
                ("emails", models.TextField(blank=True)),
                ("webhook", models.CharField(blank=True, max_length=500)),
                ("sealed_secret", models.TextField(blank=True)),
                ("interval", models.PositiveBigIntegerField(default=300000)),
                ("repeat", models.PositiveBigIntegerField(default=14400000)),
                ("paused_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("changed_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("deleted_at", models.DateTimeField(blank=True, null=True)),
                (
                    "owner",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="alerts",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "query",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="alerts",
                        to="dashboard.savedquery",
                    ),
                ),
            ],
            options={
                "ordering": ["name", "pk"],
            },
        ),
        migrations.CreateModel(
            name="Seat",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("holder", models.CharField(blank=True, max_length=120)),
                ("until", models.FloatField(default=0)),
                ("offset", models.BigIntegerField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Evaluation",
            fields=[
                (
                    "alert",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="evaluation",
                        serialize=False,
                        to="dashboard.alert",
                    ),
                ),
                ("state", models.CharField(default="ok", max_length=8)),
                ("firing", models.PositiveIntegerField(default=0)),
                ("pending", models.PositiveIntegerField(default=0)),
                ("pending_groups", models.JSONField(default=list)),
                ("newest_end", models.DateTimeField(null=True)),
                ("told_at", models.DateTimeField(null=True)),
                ("problem", models.TextField(blank=True)),
                ("memory", models.BinaryField(null=True)),
                ("memory_of", models.CharField(blank=True, max_length=40)),
            ],
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "key",
                    models.CharField(
                        default=dashboard.alerts.models.new_delivery_key, max_length=32, unique=True
                    ),
                ),
                ("channel", models.CharField(max_length=8)),
                ("target", models.CharField(max_length=500)),
                ("payload", models.JSONField()),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("due_at", models.DateTimeField(db_index=True, null=True)),
                ("sent_at", models.DateTimeField(null=True)),
                ("problem", models.CharField(blank=True, max_length=300)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "alert",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="dashboard.alert",
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at", "-pk"],
            },
        ),
        migrations.CreateModel(
            name="Silence",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("group", models.JSONField(null=True)),
                ("group_key", models.CharField(blank=True, max_length=200)),
                ("until", models.DateTimeField()),
                ("reason", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "alert",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="silences",
                        to="dashboard.alert",
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["until", "pk"],
            },
        ),
        migrations.CreateModel(
            name="Firing",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("group", models.JSONField(default=list)),
                ("group_key", models.CharField(max_length=200)),
                ("since", models.DateTimeField()),
                ("fired_at", models.DateTimeField()),
                ("value", models.FloatField(null=True)),
                ("resolved_at", models.DateTimeField(db_index=True, null=True)),
                ("reason", models.CharField(blank=True, max_length=80)),
                ("last_value", models.FloatField(null=True)),
                ("acknowledged_at", models.DateTimeField(null=True)),
                ("noted_at", models.DateTimeField(auto_now_add=True)),
                ("told", models.CharField(blank=True, max_length=8)),
                ("untold", models.BooleanField(db_index=True, default=True)),
                (
                    "acknowledged_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "alert",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="firings",
                        to="dashboard.alert",
                    ),
                ),
            ],
            options={
                "ordering": ["-fired_at", "-pk"],
                "constraints": [
                    models.UniqueConstraint(fields=("alert", "group_key", "fired_at"), name="firing_once")
                ],
            },
        ),
    ]
