"""Dashboards as grids: places and kinds of panels, tags, favourites, somebody's first dashboard."""

from typing import Any

import django.db.models.deletion
from django.apps.registry import Apps
from django.conf import settings
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

WIDTH, HEIGHT = 6, 19


def lay_out(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """Two panels in a row, in the order that they had."""
    panels: Any = apps.get_model("dashboard", "Panel")._base_manager
    count: dict[int, int] = {}
    for panel in panels.order_by("position", "pk"):
        at = count[panel.board_id] = count.get(panel.board_id, -1) + 1
        panel.x, panel.y = at % 2 * WIDTH, at // 2 * HEIGHT
        panel.save(update_fields=["x", "y"])


def line_up(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    panels: Any = apps.get_model("dashboard", "Panel")._base_manager
    for position, panel in enumerate(panels.order_by("y", "x", "pk")):
        panel.position = position
        panel.save(update_fields=["position"])


class Migration(migrations.Migration):
    dependencies = [
        ("dashboard", "0006_people_and_rights"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField("board", "deleted_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField(
            "board",
            "starred_by",
            models.ManyToManyField(blank=True, related_name="starred_boards", to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField("board", "tags", models.JSONField(blank=True, default=list)),
        migrations.AddField("panel", "deleted_at", models.DateTimeField(blank=True, null=True)),
        migrations.AddField("panel", "h", models.PositiveSmallIntegerField(default=19)),
        migrations.AddField("panel", "kind", models.CharField(default="line", max_length=16)),
        migrations.AddField("panel", "settings", models.JSONField(blank=True, default=dict)),
        migrations.AddField("panel", "shows", models.JSONField(blank=True, default=list)),
        migrations.AddField("panel", "w", models.PositiveSmallIntegerField(default=6)),
        migrations.AddField("panel", "x", models.PositiveSmallIntegerField(blank=True, null=True)),
        migrations.AddField("panel", "y", models.PositiveSmallIntegerField(blank=True, null=True)),
        migrations.AlterField(
            "panel",
            "query",
            models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="panels",
                to="dashboard.savedquery",
            ),
        ),
        migrations.RunPython(lay_out, line_up),
        migrations.AlterModelOptions(
            "panel", options={"ordering": [models.OrderBy(models.F("y"), nulls_last=True), "x", "pk"]}
        ),
        migrations.RemoveField("panel", "position"),
        migrations.CreateModel(
            "FirstBoard",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "board",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="dashboard.board"
                    ),
                ),
                (
                    "person",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="first_board",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
    ]
