"""The map of all pages; every room keeps its own part."""

from django.urls import include, path

urlpatterns = [
    path("", include("dashboard.home.urls")),
    path("", include("dashboard.boards.urls")),
    path("", include("dashboard.past.urls")),
    path("", include("dashboard.accounts.urls")),
    path("audit/", include("dashboard.audit.urls")),
    path("sources/", include("dashboard.sources.urls")),
    path("connections/", include("dashboard.connections.urls")),
    path("queries/", include("dashboard.queries.urls")),
    path("plan/", include("dashboard.planning.urls")),
    path("alerts/", include("dashboard.alerts.urls")),
    path("bin/", include("dashboard.bin.urls")),
    path("api/", include("dashboard.api.urls")),
]

handler403 = "dashboard.shell.forbidden"
handler404 = "dashboard.shell.not_found"
handler500 = "dashboard.shell.failed"
