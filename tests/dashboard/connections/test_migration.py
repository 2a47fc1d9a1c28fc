"""Sources of before: each list of addresses becomes one connection that they share."""

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor


@pytest.mark.django_db(transaction=True)
def test_sources_of_one_address_share_a_connection() -> None:
    executor = MigrationExecutor(connection)
    newest = executor.loader.graph.leaf_nodes()
    executor.migrate([("dashboard", "0001_initial")])
    try:
        old = executor.loader.project_state([("dashboard", "0001_initial")]).apps.get_model(
            "dashboard", "Source"
        )
        for key, servers in (("a", "h:1,i:2"), ("b", "h:1,i:2"), ("c", "k:9092")):
            old.objects.create(key=key, name=key, bootstrap_servers=servers, topic="t")
        executor = MigrationExecutor(connection)
        executor.migrate(newest)
        now = executor.loader.project_state(newest).apps.get_model("dashboard", "Source")
        found = {source.key: source.connection for source in now.objects.all()}
        assert found["a"].pk == found["b"].pk != found["c"].pk
        assert (found["a"].name, found["a"].bootstrap_servers) == ("h:1,i:2", "h:1,i:2")
        assert (found["c"].key, found["c"].protocol) == ("k-9092", "PLAINTEXT")
        now.objects.all().delete()
    finally:
        MigrationExecutor(connection).migrate(newest)
