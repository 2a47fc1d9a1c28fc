"""Queries compute several things at once, have tags and can be paused."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


def make_families(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    query_model = apps.get_model("dashboard", "SavedQuery")
    for query in query_model._base_manager.all():
        query.computations = [{"aggregate": query.aggregate, "field": query.field or None}]
        query.save(update_fields=["computations"])


def keep_the_first(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    query_model = apps.get_model("dashboard", "SavedQuery")
    for query in query_model._base_manager.all():
        query.aggregate = query.computations[0]["aggregate"]
        query.field = query.computations[0].get("field")
        query.save(update_fields=["aggregate", "field"])


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("dashboard", "0003_connections_only"),
    ]

    operations = [
        migrations.AddField("savedquery", "computations", models.JSONField(default=list)),
        migrations.AlterField(
            "savedquery", "aggregate", models.CharField(max_length=16, null=True)
        ),  # so that it can be taken away and brought back
        migrations.RunPython(make_families, keep_the_first),
        migrations.AlterField("savedquery", "computations", models.JSONField()),
        migrations.RemoveField("savedquery", "aggregate"),
        migrations.RemoveField("savedquery", "field"),
        migrations.AddField("savedquery", "tags", models.JSONField(blank=True, default=list)),
        migrations.AddField("savedquery", "paused_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField(
            "savedquery",
            "paused_by",
            models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
    ]
