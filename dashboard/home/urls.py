"""Addresses of home and the search."""

from django.urls import path

from dashboard.home import views

urlpatterns = [
    path("", views.home, name="home"),
    path("search/", views.search, name="search"),
]
