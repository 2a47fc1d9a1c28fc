"""Addresses of the plan page."""

from django.urls import path

from dashboard.planning import views

urlpatterns = [
    path("", views.plan, name="plan"),
    path("<slug:key>/estimates/", views.estimates, name="plan-estimates"),
]
