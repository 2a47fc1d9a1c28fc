"""Rows that go to the bin before they go for good: what deleting means for whatever people made."""

from typing import Any, ClassVar, Self, TypeVar

from django.conf import settings
from django.db import models
from django.db.models import Q

Row = TypeVar("Row", bound="Binned", covariant=True)


class Living(models.Manager[Row]):
    """Rows that are not in the bin, nor part of anything that is."""

    def get_queryset(self) -> models.QuerySet[Row]:
        return super().get_queryset().filter(self.model.living())


class Binned(models.Model):
    """A row that is kept for a while after it was deleted. What belongs to it stays as it is meanwhile."""

    deleted_at = models.DateTimeField(null=True, blank=True, db_index=True)  # null: it is not in the bin
    deleted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, blank=True, related_name="+"
    )

    part_of: ClassVar[tuple[str, ...]] = ()  # the paths to what it goes to the bin with
    along = ""  # what is being deleted with it, for the audit log

    objects: ClassVar[Living[Self]] = Living()
    with_deleted: ClassVar[models.Manager[Self]] = models.Manager()

    class Meta:
        abstract = True

    @classmethod
    def living(cls, path: str = "") -> Q:
        """The condition under which a row is there, of rows that are reached by `path`."""
        owners: dict[str, Any] = {f"{path}{owner}__deleted_at__isnull": True for owner in cls.part_of}
        return Q(**{f"{path}deleted_at__isnull": True}, **owners)
