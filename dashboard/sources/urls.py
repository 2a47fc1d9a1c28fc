"""Addresses of the source pages."""

from django.urls import path

from dashboard.sources import changes, topic_views, views, wizard

urlpatterns = [
    path("", views.source_list, name="sources"),
    path("new/", wizard.source_new, name="source-new"),
    path("probe/", wizard.source_probe, name="source-probe"),
    path("types/", wizard.source_type_check, name="source-types"),
    path("<slug:key>/", views.source_page, name="source"),
    path("<slug:key>/check/", topic_views.source_check, name="source-check"),
    path("<slug:key>/overview/", topic_views.source_overview, name="source-overview"),
    path("<slug:key>/messages/", topic_views.source_messages, name="source-messages"),
    path(
        "<slug:key>/messages/<int:partition>/<int:offset>/", topic_views.source_message, name="source-message"
    ),
    path(
        "<slug:key>/messages/<int:partition>/<int:offset>/bytes/",
        topic_views.source_message_bytes,
        name="source-message-bytes",
    ),
    path("<slug:key>/download/", topic_views.source_download, name="source-download"),
    path("<slug:key>/consumers/", topic_views.source_consumers, name="source-consumers"),
    path("<slug:key>/consumers/count/", topic_views.source_consumers_count, name="source-consumers-count"),
    path("<slug:key>/dead-letters/", topic_views.source_dead_letters, name="source-dead-letters"),
    path(
        "<slug:key>/dead-letters/count/",
        topic_views.source_dead_letters_count,
        name="source-dead-letters-count",
    ),
    path(
        "<slug:key>/dead-letters/check/",
        topic_views.source_dead_letters_check,
        name="source-dead-letters-check",
    ),
    path(
        "<slug:key>/dead-letters/<int:partition>/<int:offset>/",
        topic_views.source_dead_letter,
        name="source-dead-letter",
    ),
    path("<slug:key>/read-again/", changes.source_read_again, name="source-read-again"),
    path("<slug:key>/settings/", changes.source_settings, name="source-settings"),
]
