"""Apart from 0002: PostgreSQL alters no table whose rows were changed in the same transaction."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0002_connections")]

    operations = [
        migrations.AlterField(
            model_name="source",
            name="connection",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="sources",
                to="dashboard.connection",
            ),
        ),
        migrations.RemoveField(model_name="source", name="bootstrap_servers"),
        migrations.AlterField(
            model_name="source", name="time_unit", field=models.CharField(default="ms", max_length=8)
        ),
        migrations.AddField(
            model_name="source", name="time_pattern", field=models.CharField(blank=True, max_length=100)
        ),
        migrations.AddField(
            model_name="source", name="time_zone", field=models.CharField(default="UTC", max_length=64)
        ),
        migrations.AddField(
            model_name="source", name="processing_time", field=models.BooleanField(default=False)
        ),
        migrations.AddField(
            model_name="source",
            name="future_bound",
            field=models.PositiveBigIntegerField(default=300_000, null=True),
        ),
        migrations.AddField(
            model_name="source", name="past_bound", field=models.PositiveBigIntegerField(null=True)
        ),
        migrations.AddField(model_name="source", name="avro_schema", field=models.TextField(blank=True)),
        migrations.AddField(
            model_name="source", name="registry", field=models.CharField(blank=True, max_length=300)
        ),
    ]
