"""Addresses of the plan page and what leads on from it."""

from django.urls import path

from dashboard.planning import history_views, verify_views, views, what_if_views

urlpatterns = [
    path("", views.plan, name="plan"),
    path("picture/", views.plan_picture, name="plan-picture"),
    path("verified/<str:task>/", verify_views.verified, name="plan-verified"),
    path("verified/<str:task>/state/", verify_views.verify_state, name="plan-verify-state"),
    path("verified/<str:task>/cancel/", verify_views.verify_cancel, name="plan-verify-cancel"),
    path("verified/<str:task>/rows/", verify_views.verify_rows, name="plan-verify-rows"),
    path("<slug:key>/trees/<str:tree_id>/", views.tree, name="plan-tree"),
    path("<slug:key>/estimates/", views.estimates, name="plan-estimates"),
    path("<slug:key>/throughput/", views.throughput_history, name="plan-throughput"),
    path("<slug:key>/calibrate/", views.calibrate_anew, name="plan-calibrate"),
    path("<slug:key>/strategies/", what_if_views.strategies, name="plan-strategies"),
    path("<slug:key>/what-if/", what_if_views.what_if, name="plan-what-if"),
    path("<slug:key>/what-if/outcomes/", what_if_views.outcomes, name="plan-outcomes"),
    path("<slug:key>/what-if/compare/", what_if_views.compare, name="plan-compare"),
    path("<slug:key>/what-if/<slug:strategy>/", what_if_views.preview, name="plan-preview"),
    path("<slug:key>/adopt/", what_if_views.adopt, name="plan-adopt"),
    path("<slug:key>/release/", what_if_views.release, name="plan-release"),
    path("<slug:key>/history/", history_views.history, name="plan-history"),
    path("<slug:key>/history/<int:number>/", history_views.version, name="plan-version"),
    path("<slug:key>/history/<int:number>/back/", history_views.back_preview, name="plan-back-preview"),
    path("<slug:key>/history/<int:number>/go-back/", history_views.go_back, name="plan-back"),
    path("<slug:key>/verify/", verify_views.verify, name="plan-verify"),
]
