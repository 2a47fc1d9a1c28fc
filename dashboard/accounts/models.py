"""What is kept of people besides Django's own users and groups: tokens, sessions, rights and notices."""

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q
from django.utils import timezone


class ApiToken(models.Model):
    """A token that one person made. The token itself is shown once and kept nowhere, only its digest."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=80)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True, blank=True)  # to the minute
    expires_at = models.DateTimeField(null=True, blank=True)  # null: it holds until it is revoked

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return self.name

    @property
    def has_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= timezone.now()


class SignIn(models.Model):
    """One browser that somebody has signed in with; gone once that session has ended."""

    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="sign_ins")
    session_key = models.CharField(max_length=40, unique=True)
    browser = models.CharField(max_length=300, blank=True)  # as it calls itself
    address = models.GenericIPAddressField(null=True, blank=True)
    began_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField(default=timezone.now)  # to five minutes

    class Meta:
        ordering = ["-seen_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.person} since {self.began_at:%Y-%m-%d %H:%M}"


class Grant(models.Model):
    """One person or group that may see, or see and change, one source or dashboard."""

    source = models.ForeignKey("dashboard.Source", models.CASCADE, null=True, related_name="grants")
    board = models.ForeignKey("dashboard.Board", models.CASCADE, null=True, related_name="grants")
    person = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="grants")
    group = models.ForeignKey(Group, models.CASCADE, null=True, related_name="grants")
    may_change = models.BooleanField(default=False)

    class Meta:
        ordering = ["pk"]
        permissions = [("edit", "May add things and change what is theirs")]
        constraints = [
            models.CheckConstraint(
                condition=Q(source__isnull=True) ^ Q(board__isnull=True), name="grant_of_one_thing"
            ),
            models.CheckConstraint(
                condition=Q(person__isnull=True) ^ Q(group__isnull=True), name="grant_to_one"
            ),
            *(
                models.UniqueConstraint(fields=[thing, who], name=f"one_grant_of_{thing}_each_{who}")
                for thing in ("source", "board")
                for who in ("person", "group")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.source or self.board} to {self.person or self.group}"


class Notice(models.Model):
    """What somebody is told in the page: that another person asks for access."""

    to = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="notices")
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    source = models.ForeignKey("dashboard.Source", models.CASCADE, null=True, related_name="+")
    board = models.ForeignKey("dashboard.Board", models.CASCADE, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    answered_at = models.DateTimeField(null=True, blank=True)  # null: it waits

    class Meta:
        ordering = ["answered_at", "-created_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.asked_by} asks {self.to} for {self.source or self.board}"
