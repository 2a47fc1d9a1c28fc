"""Addresses of the API and of the page that describes it."""

from django.contrib.auth.decorators import login_not_required
from django.urls import path
from django.views.generic import RedirectView

from dashboard.api import reference
from dashboard.api.api import api

operations = api.urls
for operation in operations[0]:
    # Strangers get a 401 from the API itself, not the sign-in page.
    login_not_required(operation.callback)  # type: ignore[type-var]  # of resolvers alone it is None

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="api-docs")),
    path("docs", reference.page, name="api-docs"),
    path("", operations),
]
