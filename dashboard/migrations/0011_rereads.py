"""Sources whose topic is read again though nothing else about them changed."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0010_plan_page")]

    operations = [migrations.AddField("source", "rereads", models.PositiveIntegerField(default=0))]
