"""What error pages and reports may show."""

from django.http import HttpRequest
from django.views.debug import SafeExceptionReporterFilter


class AlwaysDiscreet(SafeExceptionReporterFilter):
    """Hides what views marked as sensitive in debug mode, too: developers use real clusters."""

    def is_active(self, request: HttpRequest | None) -> bool:
        return True
