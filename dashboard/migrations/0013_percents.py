from django.apps.registry import Apps
from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

RENAMED = {"%": "% (0–100)"}  # “%” is of a share from now on: what stands on a panel stays as it is
UNITS = ("unit", "right_unit")


def _rewrite(apps: Apps, names: dict[str, str]) -> None:
    for panel in apps.get_model("dashboard", "Panel").objects.all():
        found = {unit: names[panel.settings[unit]] for unit in UNITS if panel.settings.get(unit) in names}
        if found:
            panel.settings = {**panel.settings, **found}
            panel.save(update_fields=["settings"])


def forwards(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    _rewrite(apps, RENAMED)


def backwards(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    _rewrite(apps, {now: before for before, now in RENAMED.items()})


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0012_tree_samples")]
    operations = [migrations.RunPython(forwards, backwards)]
