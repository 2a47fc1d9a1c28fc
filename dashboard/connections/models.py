"""How a Kafka cluster is reached; several sources share one connection."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse

from dashboard.bin.models import Binned
from streaming.security import MECHANISMS, PROTOCOLS, Security


class Connection(Binned):
    """Bootstrap servers and what lets us in. Secrets are stored sealed and opened by who dials alone."""

    key = models.SlugField(max_length=60, unique=True)  # in addresses; never renamed
    name = models.CharField(max_length=80)
    bootstrap_servers = models.CharField(max_length=500)
    protocol = models.CharField(max_length=16, default="PLAINTEXT", choices=[(one, one) for one in PROTOCOLS])
    mechanism = models.CharField(
        max_length=16, default="SCRAM-SHA-512", choices=[(one, one) for one in MECHANISMS]
    )
    username = models.CharField(max_length=200, blank=True)
    sealed_password = models.TextField(blank=True)
    ca = models.TextField(blank=True)
    certificate = models.TextField(blank=True)
    sealed_key = models.TextField(blank=True)
    check_host = models.BooleanField(default=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="connections"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["name"], condition=Q(deleted_at=None), name="one_connection_per_name"
            )
        ]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("connection", args=[self.key])

    def security(self) -> Security:
        return Security(
            protocol=self.protocol,  # type: ignore[arg-type]  # the form admits PROTOCOLS alone
            mechanism=self.mechanism,  # type: ignore[arg-type]
            username=self.username,
            sealed_password=self.sealed_password,
            ca=self.ca,
            certificate=self.certificate,
            sealed_key=self.sealed_key,
            check_host=self.check_host,
        )

    @property
    def words(self) -> str:
        """Its security as a line says it."""
        security = self.security()
        encrypted = "TLS" if security.is_encrypted else "not encrypted"
        if security.certificate:
            encrypted = "TLS with a client certificate"
        return f"{self.mechanism}, {encrypted}" if security.has_login else encrypted
