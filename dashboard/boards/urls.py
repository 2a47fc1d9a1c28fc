"""Addresses of the dashboards."""

from django.urls import path

from dashboard.boards import editor, views

urlpatterns = [
    path("start/", views.start, name="start"),
    path("dashboards/", views.boards, name="boards"),
    path("dashboards/new/", views.new_board, name="board-new"),
    path("dashboards/of-query/<slug:key>/", views.board_from_query, name="board-from-query"),
    path("dashboards/<slug:slug>/", views.board, name="board"),
    path("dashboards/<slug:slug>/rename/", views.change_board, name="board-rename"),
    path("dashboards/<slug:slug>/duplicate/", views.duplicate_board, name="board-duplicate"),
    path("dashboards/<slug:slug>/star/", views.star_board, name="board-star"),
    path("dashboards/<slug:slug>/first/", views.first_board, name="board-first"),
    path("dashboards/<slug:slug>/panels/", views.add_panel, name="panel-add"),
    path("dashboards/<slug:slug>/panels/<int:pk>/edit/", editor.edit_panel, name="panel-edit"),
    path("dashboards/<slug:slug>/panels/<int:pk>/preview/", editor.preview_panel, name="panel-preview"),
    path("dashboards/<slug:slug>/panels/<int:pk>/rename/", views.rename_panel, name="panel-rename"),
    path("dashboards/<slug:slug>/panels/<int:pk>/duplicate/", views.duplicate_panel, name="panel-duplicate"),
]
