"""Addresses of the query pages."""

from django.urls import path

from dashboard.queries import backtest_views, version_views, views

urlpatterns = [
    path("", views.query_list, name="queries"),
    path("new/", views.query_new, name="query-new"),
    path("preview/", views.query_preview, name="query-preview"),
    path("sample/", views.query_sample, name="query-sample"),
    path("bulk/", views.query_bulk, name="query-bulk"),
    path("view/", views.query_view, name="query-view"),
    path("backtests/", backtest_views.backtest_new, name="backtest-new"),
    path("backtests/<slug:key>/", backtest_views.backtest_page, name="backtest"),
    path("backtests/<slug:key>/run/", backtest_views.backtest_run, name="backtest-run"),
    path("backtests/<slug:key>/cancel/", backtest_views.backtest_cancel, name="backtest-cancel"),
    path("backtests/<slug:key>/state/", backtest_views.backtest_state, name="backtest-state"),
    path("backtests/<slug:key>/results/", backtest_views.backtest_results, name="backtest-results"),
    path("backtests/<slug:key>/download/", backtest_views.backtest_download, name="backtest-download"),
    path("<slug:key>/", views.query_page, name="query"),
    path("<slug:key>/edit/", views.query_edit, name="query-edit"),
    path("<slug:key>/tags/", views.query_tags, name="query-tags"),
    path("<slug:key>/versions/", version_views.versions, name="query-versions"),
    path("<slug:key>/versions/<int:number>/restore/", version_views.restore, name="query-version-restore"),
]
