"""Whether a source counts messages of open and aborted transactions."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0014_paused_why")]

    operations = [
        migrations.AddField("source", "isolation", models.CharField(default="read_committed", max_length=16))
    ]
