"""Addresses of the connection pages."""

from django.urls import path

from dashboard.connections import views

urlpatterns = [
    path("", views.connection_list, name="connections"),
    path("new/", views.connection_new, name="connection-new"),
    path("test/", views.connection_test, name="connection-test"),
    path("<slug:key>/", views.connection_page, name="connection"),
]
