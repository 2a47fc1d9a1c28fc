"""One line of the audit log."""

from typing import Any, NoReturn

from django.db import models
from django.utils import timezone


class OnlyGrows(RuntimeError):
    """Somebody tried to change the past."""


class Entries(models.QuerySet["AuditEntry"]):
    """Entries are made and read, nothing else."""

    def update(self, **kwargs: Any) -> NoReturn:
        raise OnlyGrows("An entry of the audit log is never changed.")

    def delete(self) -> NoReturn:
        raise OnlyGrows("An entry of the audit log is never deleted.")


class AuditEntry(models.Model):
    """What one person did to one thing. People and things are kept as words: they may be gone one day."""

    at = models.DateTimeField(default=timezone.now, db_index=True)
    person = models.BigIntegerField(null=True, db_index=True)  # null: a command or a stranger
    person_name = models.CharField(max_length=150)
    via = models.CharField(max_length=120, blank=True)  # empty: a page
    action = models.CharField(max_length=20)
    kind = models.CharField(max_length=20, db_index=True)
    thing = models.CharField(max_length=200)
    thing_key = models.CharField(max_length=64, blank=True)
    changes = models.JSONField(
        default=list
    )  # [[what, before, after], …] in words; before and after may be null

    objects = Entries.as_manager()

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.person_name} {self.action} the {self.kind} “{self.thing}”"

    @property
    def is_of_another(self) -> bool:
        """Whether who did it is not who it was done to."""
        return self.thing_key != str(self.person)

    def save(self, *args: Any, **kwargs: Any) -> None:
        if self.pk is not None:
            raise OnlyGrows("An entry of the audit log is never changed.")
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise OnlyGrows("An entry of the audit log is never deleted.")
