"""Addresses of the alert pages."""

from django.urls import path

from dashboard.alerts import views

urlpatterns = [
    path("", views.alert_list, name="alerts"),
    path("new/", views.alert_new, name="alert-new"),
    path("preview/", views.alert_preview, name="alert-preview"),
    path("<slug:key>/", views.alert_page, name="alert"),
    path("<slug:key>/edit/", views.alert_edit, name="alert-edit"),
    path("<slug:key>/pause/", views.alert_pause, name="alert-pause"),
    path("<slug:key>/silence/", views.alert_silence, name="alert-silence"),
    path("<slug:key>/silences/<int:pk>/end/", views.alert_unsilence, name="alert-unsilence"),
    path("<slug:key>/acknowledge/", views.alert_acknowledge, name="alert-acknowledge"),
    path("<slug:key>/test/", views.alert_test, name="alert-test"),
]
