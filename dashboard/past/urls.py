"""Addresses of the past: results for charts and as files, notes, links."""

from django.urls import path

from dashboard.past import share_views, views

urlpatterns = [
    path("history/", views.pasts, name="past"),
    path("history/<slug:key>/results.csv", views.query_file, name="past-file"),
    path("history/<slug:key>/marks/", views.query_marks, name="query-marks"),
    path("history/<slug:key>/policy/", views.policy_change, name="past-policy"),
    path("dashboards/<slug:slug>/panels/<int:pk>/results.csv", views.panel_file, name="panel-file"),
    path("dashboards/<slug:slug>/marks/", views.board_marks, name="board-marks"),
    path("dashboards/<slug:slug>/notes/", views.note_add, name="note-add"),
    path("dashboards/<slug:slug>/notes/<int:pk>/remove/", views.note_remove, name="note-remove"),
    path("dashboards/<slug:slug>/share/", share_views.share, name="share"),
    path("dashboards/<slug:slug>/share/<int:pk>/revoke/", share_views.share_revoke, name="share-revoke"),
    path("shared/<str:token>/", share_views.shared, name="shared"),
    path("shared/<str:token>/history/", share_views.shared_pasts, name="shared-past"),
    path("shared/<str:token>/panels/<int:pk>/results.csv", share_views.shared_file, name="shared-file"),
    path("shared/<str:token>/marks/", share_views.shared_marks, name="shared-marks"),
]
