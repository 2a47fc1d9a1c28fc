"""Addresses of home and the dashboards."""

from django.urls import path

from dashboard.boards import views

urlpatterns = [
    path("", views.home, name="home"),
    path("dashboards/", views.boards, name="boards"),
    path("dashboards/new/", views.new_board, name="board-new"),
    path("dashboards/<slug:slug>/", views.board, name="board"),
    path("dashboards/<slug:slug>/rename/", views.rename_board, name="board-rename"),
    path("dashboards/<slug:slug>/panels/", views.add_panel, name="panel-add"),
    path("dashboards/<slug:slug>/panels/<int:pk>/rename/", views.rename_panel, name="panel-rename"),
    path("dashboards/<slug:slug>/panels/<int:pk>/remove/", views.remove_panel, name="panel-remove"),
    path("dashboards/<slug:slug>/panels/restore/<str:token>/", views.restore_panel, name="panel-restore"),
]
