"""Rights on sources and dashboards, sessions, notices and the audit log; everybody stays an editor."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

TABLE = "dashboard_auditentry"
SENTENCE = "An entry of the audit log is never changed."


def refuse_changes(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """The database itself keeps entries as they were written, whoever asks it."""
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute(
            f"CREATE TRIGGER audit_only_grows BEFORE UPDATE ON {TABLE} "
            f"BEGIN SELECT RAISE(ABORT, '{SENTENCE}'); END"
        )
    elif schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(
            "CREATE FUNCTION audit_only_grows() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{SENTENCE}'; END $$"
        )
        schema_editor.execute(
            f"CREATE TRIGGER audit_only_grows BEFORE UPDATE ON {TABLE} "
            "FOR EACH ROW EXECUTE FUNCTION audit_only_grows()"
        )


def allow_changes(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.execute("DROP TRIGGER IF EXISTS audit_only_grows")
    elif schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(f"DROP TRIGGER IF EXISTS audit_only_grows ON {TABLE}")
        schema_editor.execute("DROP FUNCTION IF EXISTS audit_only_grows")


def make_everyone_editor(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Until now everybody could add things; from now on that is a permission, which Django makes later."""
    content_type, _ = apps.get_model("contenttypes", "ContentType").objects.get_or_create(
        app_label="dashboard", model="grant"
    )
    edit, _ = apps.get_model("auth", "Permission").objects.get_or_create(
        content_type=content_type,
        codename="edit",
        defaults={"name": "May add things and change what is theirs"},
    )
    for person in apps.get_model("auth", "User").objects.filter(is_staff=False):
        person.user_permissions.add(edit)


class Migration(migrations.Migration):
    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("dashboard", "0005_tokens"),
        ("contenttypes", "0002_remove_content_type_name"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("at", models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                ("person", models.BigIntegerField(db_index=True, null=True)),
                ("person_name", models.CharField(max_length=150)),
                ("via", models.CharField(blank=True, max_length=120)),
                ("action", models.CharField(max_length=20)),
                ("kind", models.CharField(db_index=True, max_length=20)),
                ("thing", models.CharField(max_length=200)),
                ("thing_key", models.CharField(blank=True, max_length=64)),
                ("changes", models.JSONField(default=list)),
            ],
            options={
                "ordering": ["-pk"],
            },
        ),
        migrations.AddField(
            model_name="board",
            name="for_all",
            field=models.CharField(
                choices=[
                    ("none", "Only those named below"),
                    ("see", "Everyone may see it"),
                    ("change", "Everyone may see it, and every editor may change it"),
                ],
                default="change",
                max_length=6,
            ),
        ),
        migrations.AddField(
            model_name="source",
            name="for_all",
            field=models.CharField(
                choices=[
                    ("none", "Only those named below"),
                    ("see", "Everyone may see it"),
                    ("change", "Everyone may see it, and every editor may change it"),
                ],
                default="see",
                max_length=6,
            ),
        ),
        migrations.CreateModel(
            name="Notice",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("answered_at", models.DateTimeField(blank=True, null=True)),
                (
                    "asked_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "board",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="dashboard.board",
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="dashboard.source",
                    ),
                ),
                (
                    "to",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="notices",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["answered_at", "-created_at", "-pk"],
            },
        ),
        migrations.CreateModel(
            name="SignIn",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("session_key", models.CharField(max_length=40, unique=True)),
                ("browser", models.CharField(blank=True, max_length=300)),
                ("address", models.GenericIPAddressField(blank=True, null=True)),
                ("began_at", models.DateTimeField(auto_now_add=True)),
                ("seen_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="sign_ins",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-seen_at", "-pk"],
            },
        ),
        migrations.CreateModel(
            name="Grant",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("may_change", models.BooleanField(default=False)),
                (
                    "board",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grants",
                        to="dashboard.board",
                    ),
                ),
                (
                    "group",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grants",
                        to="auth.group",
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grants",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="grants",
                        to="dashboard.source",
                    ),
                ),
            ],
            options={
                "ordering": ["pk"],
                "permissions": [("edit", "May add things and change what is theirs")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("source__isnull", True), ("board__isnull", True), _connector="XOR"
                        ),
                        name="grant_of_one_thing",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("person__isnull", True), ("group__isnull", True), _connector="XOR"
                        ),
                        name="grant_to_one",
                    ),
                    models.UniqueConstraint(
                        fields=("source", "person"), name="one_grant_of_source_each_person"
                    ),
                    models.UniqueConstraint(
                        fields=("source", "group"), name="one_grant_of_source_each_group"
                    ),
                    models.UniqueConstraint(
                        fields=("board", "person"), name="one_grant_of_board_each_person"
                    ),
                    models.UniqueConstraint(fields=("board", "group"), name="one_grant_of_board_each_group"),
                ],
            },
        ),
        migrations.RunPython(refuse_changes, allow_changes),
        migrations.RunPython(make_everyone_editor, migrations.RunPython.noop),
    ]
