"""Addresses of the bin: a kind, and the keys of what is meant in the query (`?key=…`)."""

from django.urls import path

from dashboard.bin import views

urlpatterns = [
    path("", views.bin_page, name="bin"),
    path("<slug:kind>/delete/", views.delete, name="bin-delete"),
    path("<slug:kind>/restore/", views.restore, name="bin-restore"),
    path("<slug:kind>/delete-for-good/", views.delete_for_good, name="bin-delete-for-good"),
]
