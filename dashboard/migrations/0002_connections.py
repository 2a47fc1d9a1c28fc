"""Connections: shared by sources, one for every list of addresses that there is."""

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.utils.text import slugify


def share_addresses(apps: Any, schema_editor: Any) -> None:
    """Give the sources of one address list one connection, named by it."""
    source_model = apps.get_model("dashboard", "Source")
    connection_model = apps.get_model("dashboard", "Connection")
    for number, source in enumerate(source_model.objects.order_by("pk")):
        servers = source.bootstrap_servers
        connection = connection_model.objects.filter(bootstrap_servers=servers).first()
        if connection is None:
            is_taken = connection_model.objects.filter(name=servers[:80]).exists()
            stem = slugify(servers.replace(".", "-").replace(":", "-").replace(",", "-"))[:40].strip("-")
            has_key = connection_model.objects.filter(key=stem).exists()
            connection = connection_model.objects.create(
                key=f"{stem}-{number}" if has_key or not stem else stem,
                name=f"{servers[:70]} {number}" if is_taken else servers[:80],
                bootstrap_servers=servers,
                created_by_id=source.created_by_id,
            )
        source.connection = connection
        source.save(update_fields=["connection"])


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("dashboard", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="Connection",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("key", models.SlugField(max_length=60, unique=True)),
                ("name", models.CharField(max_length=80, unique=True)),
                ("bootstrap_servers", models.CharField(max_length=500)),
                (
                    "protocol",
                    models.CharField(
                        choices=[
                            ("PLAINTEXT", "PLAINTEXT"),
                            ("SSL", "SSL"),
                            ("SASL_PLAINTEXT", "SASL_PLAINTEXT"),
                            ("SASL_SSL", "SASL_SSL"),
                        ],
                        default="PLAINTEXT",
                        max_length=16,
                    ),
                ),
                (
                    "mechanism",
                    models.CharField(
                        choices=[
                            ("PLAIN", "PLAIN"),
                            ("SCRAM-SHA-256", "SCRAM-SHA-256"),
                            ("SCRAM-SHA-512", "SCRAM-SHA-512"),
                        ],
                        default="SCRAM-SHA-512",
                        max_length=16,
                    ),
                ),
                ("username", models.CharField(blank=True, max_length=200)),
                ("sealed_password", models.TextField(blank=True)),
                ("ca", models.TextField(blank=True)),
                ("certificate", models.TextField(blank=True)),
                ("sealed_key", models.TextField(blank=True)),
                ("check_host", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="connections",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"ordering": ["name"]},
        ),
        migrations.AddField(
            model_name="source",
            name="connection",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="sources",
                to="dashboard.connection",
            ),
        ),
        migrations.RunPython(share_addresses, migrations.RunPython.noop),
    ]
