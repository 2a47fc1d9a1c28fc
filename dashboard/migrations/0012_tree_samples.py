"""Samples of estimated and actual throughput know the trees, too."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0011_rereads")]

    operations = [migrations.AddField("throughputsample", "trees", models.JSONField(default=dict))]
