"""Addresses of the source pages."""

from django.urls import path

from dashboard.sources import changes, views, wizard

urlpatterns = [
    path("", views.source_list, name="sources"),
    path("new/", wizard.source_new, name="source-new"),
    path("probe/", wizard.source_probe, name="source-probe"),
    path("<slug:key>/", views.source_page, name="source"),
    path("<slug:key>/messages/", views.source_messages, name="source-messages"),
    path("<slug:key>/dead-letters/", views.source_dead_letters, name="source-dead-letters"),
    path("<slug:key>/settings/", changes.source_settings, name="source-settings"),
    path("<slug:key>/delete/", changes.source_delete, name="source-delete"),
]
