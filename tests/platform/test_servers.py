"""Millrace on a real PostgreSQL and a real Redis, as docker-compose.yml runs it."""

from pathlib import Path

from tests.platform.servers import manage, postgres, redis

ROUND_TRIP = """
from dashboard import demo_seed
from dashboard.models import Board, PlanVersion, SavedQuery, Source
assert demo_seed.seed("127.0.0.1:1")
assert not demo_seed.seed("127.0.0.1:1")
source = Source.objects.get(key="demo-sensors")
spec = SavedQuery.objects.get(name="Temperature, average").spec()
plan = PlanVersion.objects.get(source=source).value()
ranges = [window.range for window in spec.windows]
boards = Board.objects.order_by("pk").values_list("name", flat=True)
print(source.spec().types["temp"], ranges, len(plan.queries), *boards, sep=", ")
Source.objects.all().delete()
assert not demo_seed.seed("127.0.0.1:1"), "what somebody deleted must not come back"
"""

HISTORY_ROUND_TRIP = """
from dashboard import demo_seed
from dashboard.models import SavedQuery
from dashboard.past import reading
from dashboard.past.known import kept, known_windows
from dashboard.past.writing import Displaced, Writer
from tests.dashboard.live.messages import block
demo_seed.seed("127.0.0.1:1")
saved = SavedQuery.objects.get(name="Events")
query = saved.queries()[0]
writer = Writer("results")
assert writer.claim() == 0
assert Writer("results").claim() is None
until = 1_800_000_000_000
for low in (0, 7_200):
    writer.take(block(until - at * 1_000, {(): float(at)}, query=query.id) for at in range(low, low + 7_200))
    writer.flush(low, known_windows())
    writer.roll_up(known_windows(), until + 86_400_000)
writer.tidy(known_windows(), until)
((ends, values),) = reading.read(query, until - 20_000_000, until + 1).lines.values()
print(values.max(), values.min(), len(ends) < 800, kept(saved)["size"] > 0)
"""

GROUP_ROUND_TRIP = """
from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
layer = get_channel_layer()
async def round_trip():
    channel = await layer.new_channel()
    await layer.group_add("results", channel)
    await layer.group_send("results", {"type": "result", "value": 21.5})
    return await layer.receive(channel)
print(type(layer).__name__, async_to_sync(round_trip)())
"""


def test_migrations_and_models_work_on_postgresql(tmp_path: Path) -> None:
    with postgres() as url:
        environment = {"DATABASE_URL": url, "MILLRACE_VAR": str(tmp_path), "MILLRACE_KAFKA": "127.0.0.1:1"}
        first = manage("setup", "--only", "database", MILLRACE_ADMIN_PASSWORD="correct horse", **environment)
        assert "Administrator “admin” created" in first
        assert "correct horse" not in first
        second = manage("setup", "--only", "database", **environment)
        assert "Administrator" not in second
        told = manage("shell", "--no-imports", "-c", ROUND_TRIP, **environment)
        assert told.splitlines()[-1] == "number, ['10s', '1m', '5m'], 8, Demo, Every kind of panel"


def test_history_is_written_and_read_on_postgresql(tmp_path: Path) -> None:
    with postgres() as url:
        environment = {"DATABASE_URL": url, "MILLRACE_VAR": str(tmp_path), "MILLRACE_KAFKA": "127.0.0.1:1"}
        manage("setup", "--only", "database", **environment)
        told = manage("shell", "--no-imports", "-c", HISTORY_ROUND_TRIP, **environment)
        assert told.splitlines()[-1] == "14399.0 0.0 True True"


def test_the_channel_layer_works_on_redis(tmp_path: Path) -> None:
    with redis() as url:
        told = manage(
            "shell", "--no-imports", "-c", GROUP_ROUND_TRIP, REDIS_URL=url, MILLRACE_VAR=str(tmp_path)
        )
        assert told.splitlines()[-1] == "RedisChannelLayer {'type': 'result', 'value': 21.5}"


def test_a_random_admin_password_is_printed_once(tmp_path: Path) -> None:
    environment = {"MILLRACE_VAR": str(tmp_path), "DATABASE_URL": f"sqlite:///{tmp_path / 'db.sqlite3'}"}
    first = manage("setup", "--only", "database", **environment)
    password = first.split("shown only now: ")[1].split()[0]
    check = "from django.contrib.auth.models import User; u = User.objects.get(); "
    check += f"print(u.username, u.is_superuser, u.check_password({password!r}))"
    assert manage("shell", "--no-imports", "-c", check, **environment).split() == ["admin", "True", "True"]
    assert password not in manage("setup", "--only", "database", **environment)
