"""The account of whoever owns a query may be deleted: its pages go on."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from dashboard.models import SavedQuery

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("page", ["/queries/", "/queries/{key}/", "/sources/sensors/", "/dashboards/", "/"])
def test_pages_of_a_query_whose_owner_has_left(as_bo: Client, hot: SavedQuery, ana: User, page: str) -> None:
    ana.delete()
    assert as_bo.get(page.format(key=hot.key), follow=True).status_code == 200
