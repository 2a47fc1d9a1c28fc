"""Queries of before families: each keeps what it computes and the ids that its results are kept by."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

FAMILIES = ("dashboard", "0004_query_families")
BEFORE = ("dashboard", "0003_connections_only")


@pytest.mark.django_db(transaction=True)
def test_one_computation_becomes_a_family_of_one_and_back() -> None:
    newest = MigrationExecutor(connection).loader.graph.leaf_nodes()
    executor = MigrationExecutor(connection)
    executor.migrate([BEFORE])
    try:
        apps = executor.loader.project_state([BEFORE]).apps
        reached = apps.get_model("dashboard", "Connection").objects.create(key="c", name="c")
        source = apps.get_model("dashboard", "Source").objects.create(
            key="s", name="s", topic="s", connection=reached
        )
        old = apps.get_model("dashboard", "SavedQuery")
        windows = [{"range": "1m", "slide": "10s"}]
        old.objects.create(key="a", source=source, name="a", aggregate="max", field="temp", windows=windows)
        old.objects.create(key="b", source=source, name="b", aggregate="count", windows=windows)
        executor = MigrationExecutor(connection)
        executor.migrate([FAMILIES])
        new = executor.loader.project_state([FAMILIES]).apps.get_model("dashboard", "SavedQuery")
        columns = new.objects.order_by("key").values_list("computations", flat=True)
        assert list(columns) == [
            [{"aggregate": "max", "field": "temp"}],
            [{"aggregate": "count", "field": None}],
        ]
        executor = MigrationExecutor(connection)
        executor.migrate([BEFORE])
        assert list(old.objects.order_by("key").values_list("aggregate", "field")) == [
            ("max", "temp"),
            ("count", None),
        ]
    finally:
        MigrationExecutor(connection).migrate(newest)
