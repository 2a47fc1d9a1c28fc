"""Addresses of the query pages."""

from django.urls import path

from dashboard.queries import views

urlpatterns = [
    path("", views.query_list, name="queries"),
    path("new/", views.query_new, name="query-new"),
    path("preview/", views.query_preview, name="query-preview"),
    path("sample/", views.query_sample, name="query-sample"),
    path("bulk/", views.query_bulk, name="query-bulk"),
    path("view/", views.query_view, name="query-view"),
    path("<slug:key>/", views.query_page, name="query"),
    path("<slug:key>/edit/", views.query_edit, name="query-edit"),
    path("<slug:key>/tags/", views.query_tags, name="query-tags"),
    path("<slug:key>/delete/", views.query_delete, name="query-delete"),
    path("<slug:key>/restore/", views.query_restore, name="query-restore"),
]
