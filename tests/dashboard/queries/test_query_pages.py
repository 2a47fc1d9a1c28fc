"""The query pages: define, see, change, delete, restore."""

import pytest
from django.test import Client

from dashboard.models import Panel, PlanVersion, SavedQuery, Source
from tests.dashboard.places import source_at

TYPED = {
    "name": "Mean temp",
    "source": "sensors",
    "aggregate": "mean",
    "field": "temp",
    "windows": "1m, 5m, 15m every 10s",
    "group_by": ["device"],
    "where": "ok",
}


def test_saving_makes_a_query_and_a_plan_that_says_who_added_it(as_ana: Client, sensors: Source) -> None:
    response = as_ana.post("/queries/new/", TYPED)
    query = SavedQuery.objects.get()
    assert response.url == f"/queries/{query.key}/"
    assert [window["range"] for window in query.windows] == ["1m", "5m", "15m"]
    plan = PlanVersion.objects.get()
    assert (plan.version, plan.cause) == (1, "Ana added “Mean temp”")
    assert {one.id for one in plan.value().queries} == {one.id for one in query.queries()}
    assert plan.estimated_throughput > 0


def test_a_refused_form_keeps_what_was_typed_and_saves_nothing(as_ana: Client, sensors: Source) -> None:
    response = as_ana.post("/queries/new/", {**TYPED, "windows": "1m every soon", "where": "tmep > 1"})
    page = response.content.decode()
    assert response.status_code == 422
    assert "“soon” is not a duration" in page
    assert "No field “tmep” in sensors (character 1)." in page
    assert "1m every soon" in page
    assert 'value="Mean temp"' in page
    assert not SavedQuery.objects.exists()


def test_the_preview_tells_cost_and_windows_and_writes_nothing(as_ana: Client, hot: SavedQuery) -> None:
    page = as_ana.post("/queries/preview/", TYPED).content.decode()
    assert "Tree " in page
    assert "of capacity" in page
    assert "in about" in page
    assert "15 m every 10 s" in page
    assert SavedQuery.objects.count() == 1
    assert not PlanVersion.objects.exists()


def test_the_preview_keeps_the_last_answer_while_windows_are_wrong(as_ana: Client, sensors: Source) -> None:
    response = as_ana.post("/queries/preview/", {**TYPED, "windows": "1"})
    assert response["HX-Reswap"] == "none"
    assert "“1” is not a duration" in response.content.decode()


def test_the_preview_says_that_a_wrong_filter_is_left_out(as_ana: Client, sensors: Source) -> None:
    page = as_ana.post("/queries/preview/", {**TYPED, "where": "tmep > 1"}).content.decode()
    assert "Filter left out" in page
    assert "Use temp" in page


def test_the_preview_asks_for_no_name_before_one_tries_to_save(as_ana: Client, sensors: Source) -> None:
    assert (
        "Give the query a name."
        not in as_ana.post("/queries/preview/", {**TYPED, "name": ""}).content.decode()
    )


def test_choosing_another_source_brings_its_fields(as_ana: Client, sensors: Source) -> None:
    source_at("h:1", key="web", name="web", topic="w", schema=[["bytes", "integer"]])
    page = as_ana.post(
        "/queries/preview/", {**TYPED, "source": "web", "shown_source": "sensors"}
    ).content.decode()
    assert ">bytes</textarea>" in page
    assert '"bytes": ["integer", "bytes"]' in page


def test_the_list_shows_what_each_query_computes(as_bo: Client, hot: SavedQuery) -> None:
    page = as_bo.get("/queries/").content.decode()
    assert "Hot devices" in page
    assert "1 m, 5 m every 10 s" in page
    assert "Delete Hot devices" not in page  # Bo does not own it


def test_empty_pages_say_what_to_do_next(as_ana: Client) -> None:
    assert "connect a Kafka topic first" in as_ana.get("/queries/").content.decode()
    assert "connect a Kafka topic first" in as_ana.get("/queries/new/").content.decode()


def test_the_query_page_has_a_place_for_its_live_chart(as_bo: Client, hot: SavedQuery) -> None:
    assert f'data-live-query="{hot.key}"' in as_bo.get(hot.get_absolute_url()).content.decode()


def test_changing_a_query_keeps_its_key_and_makes_the_next_plan(as_ana: Client, hot: SavedQuery) -> None:
    assert "1m, 5m every 10s" in as_ana.get(f"/queries/{hot.key}/edit/").content.decode()
    as_ana.post(f"/queries/{hot.key}/edit/", {**TYPED, "name": "Hotter", "aggregate": "min"})
    changed = SavedQuery.objects.get()
    assert (changed.key, changed.name, changed.computes) == (hot.key, "Hotter", "min of temp")
    assert PlanVersion.objects.get().cause == "Ana changed “Hotter”"


def test_several_computations_make_a_family(as_ana: Client, sensors: Source) -> None:
    typed = {**TYPED, "aggregate": ["mean", "p95", "count"], "field": ["temp", "temp * 2", ""]}
    page = as_ana.post("/queries/new/", typed, follow=True).content.decode()
    query = SavedQuery.objects.get()
    assert query.computes == "mean of temp, p95 of temp * 2, count"
    assert "mean of temp, p95 of temp * 2, count" in page
    ids = [one.id.partition("@")[2] for one in query.queries()]
    assert ids[:4] == ["1m/10s", "5m/10s", "15m/10s", "1m/10s p95(temp * 2)"]
    assert {one.id for one in PlanVersion.objects.get().value().queries} == {
        one.id for one in query.queries()
    }


def test_another_computation_leaves_the_ids_of_the_first_alone(as_ana: Client, hot: SavedQuery) -> None:
    before = [one.id for one in hot.queries()]
    typed = {**TYPED, "windows": "1m, 5m every 10s", "aggregate": ["max", "p95"], "field": ["temp", "temp"]}
    as_ana.post(f"/queries/{hot.key}/edit/", typed)
    assert [one.id for one in SavedQuery.objects.get().queries()][:2] == before


def test_a_query_can_be_saved_as_sql_and_shown_as_json(as_ana: Client, sensors: Source) -> None:
    what = "SELECT avg(temp), count(*) FROM sensors WHERE ok GROUP BY device"
    sql = f"{what} WINDOW HOPPING (5m, 10s), SESSION (30s)"
    shown = as_ana.post(
        "/queries/view/", {"view": "sql", "sql": sql, "name": "S", "to": "json"}
    ).content.decode()
    assert "&quot;gap&quot;: &quot;30s&quot;" in shown
    assert "&quot;name&quot;: &quot;S&quot;" in shown
    as_ana.post("/queries/new/", {"view": "sql", "sql": sql, "name": "S"})
    query = SavedQuery.objects.get()
    assert (query.source, query.computes, query.where) == (sensors, "mean of temp, count", "ok")
    assert query.windows == [{"range": "5m", "slide": "10s"}, {"gap": "30s"}]


def test_a_form_with_a_slip_stays_until_it_is_mended(as_ana: Client, sensors: Source) -> None:
    page = as_ana.post("/queries/view/", {**TYPED, "where": "tmep > 1", "to": "sql"}).content.decode()
    assert 'name="where"' in page
    assert "No field “tmep” in sensors (character 1)." in page


def test_sql_cannot_move_a_saved_query_to_another_source(as_ana: Client, hot: SavedQuery) -> None:
    source_at(key="web", name="web", topic="w", schema=[["bytes", "integer"]])
    typed = {"view": "sql", "sql": "SELECT max(bytes) FROM web WINDOW TUMBLING (1m)", "name": "Hot"}
    response = as_ana.post(f"/queries/{hot.key}/edit/", typed)
    assert response.status_code == 422
    assert (
        "A query stays with its source: write FROM sensors, or make a new query." in response.content.decode()
    )


def test_undo_brings_a_deleted_query_and_its_panels_back(as_ana: Client, hot: SavedQuery, ana) -> None:
    board = ana.boards.create(slug="wall", name="Wall")
    Panel.objects.create(board=board, query=hot, title="Hot")
    page = as_ana.post(f"/bin/query/delete/?key={hot.key}", follow=True).content.decode()
    assert "Deleted “Hot devices”." in page
    assert f'action="/bin/query/restore/?key={hot.key}"' in page
    assert not SavedQuery.objects.exists()
    assert not board.panels.exists()
    assert PlanVersion.objects.first().value().queries == ()
    as_ana.post(f"/bin/query/restore/?key={hot.key}")
    assert SavedQuery.objects.get() == hot
    assert board.panels.count() == 1
    assert len(PlanVersion.objects.first().value().queries) == 2


def test_a_query_that_fits_its_source_no_more_is_not_brought_back(
    as_ana: Client, hot: SavedQuery, sensors: Source
) -> None:
    as_ana.post(f"/bin/query/delete/?key={hot.key}")
    sensors.schema = [["ts", "integer"], ["device", "text"], ["temp", "text"], ["ok", "boolean"]]
    sensors.save()
    sentence = "“Hot devices” does not fit the fields of “sensors” any more: "
    assert sentence in as_ana.post(f"/bin/query/restore/?key={hot.key}", follow=True).content.decode()
    assert not SavedQuery.objects.exists()


def test_a_panel_of_several_queries_stays_until_the_last_of_them_goes(
    as_ana: Client, hot: SavedQuery, ana
) -> None:
    as_ana.post("/queries/new/", TYPED)
    mean = SavedQuery.objects.get(name="Mean temp")
    board = ana.boards.create(slug="wall", name="Wall")
    shows = [{"query": hot.key, "windows": ["5m every 10s"]}, {"query": mean.key}]
    Panel.objects.create(board=board, query=hot, title="Both", shows=shows)
    as_ana.post(f"/bin/query/delete/?key={hot.key}")
    (panel,) = board.panels.all()
    page = as_ana.get("/dashboards/wall/").content.decode()
    assert "mean of temp by device · sensors" in page
    edited = as_ana.get(f"/dashboards/wall/panels/{panel.pk}/edit/").context["typed"]
    assert [shown["query"] for shown in edited["shows"]] == [mean.key], "what is gone cannot be chosen"
    as_ana.post(f"/dashboards/wall/panels/{panel.pk}/rename/", {"title": "Still there"})
    as_ana.post(f"/bin/query/delete/?key={mean.key}")
    assert not board.panels.exists()
    as_ana.post(f"/bin/query/restore/?key={hot.key}")
    (panel,) = board.panels.all()
    assert (panel.title, panel.query) == ("Still there", hot)
    as_ana.post(f"/bin/query/restore/?key={mean.key}")
    assert [shown["query"] for shown in board.panels.get().shown] == [hot.key, mean.key]


def test_a_teammate_may_look_but_not_change(as_bo: Client, hot: SavedQuery) -> None:
    response = as_bo.post(f"/queries/{hot.key}/edit/", TYPED)
    assert response.status_code == 403
    assert "Ana owns it." in response.content.decode()
    assert SavedQuery.objects.get().name == "Hot devices"


def test_the_page_says_when_the_job_has_not_heard(as_ana: Client, sensors: Source) -> None:
    # Inside a test's transaction nothing is published, exactly as when Kafka does not answer.
    page = as_ana.post("/queries/new/", TYPED, follow=True).content.decode()
    assert "The job has not heard of this plan yet: Kafka does not answer." in page


def test_names_are_shown_as_text_never_as_markup(as_ana: Client, sensors: Source) -> None:
    page = as_ana.post("/queries/new/", {**TYPED, "name": "<script>x</script>"}, follow=True).content.decode()
    assert "<script>x</script>" not in page
    assert "&lt;script&gt;x&lt;/script&gt;" in page


@pytest.mark.parametrize(
    ("escaped", "code"), [("\\ud800", "U+D800"), ("\\u0000", "U+0000"), ("\\u009f", "U+009F")]
)
def test_what_nobody_can_see_is_refused_in_json_too(
    as_ana: Client, sensors: Source, escaped: str, code: str
) -> None:
    text = f'{{"name": "Hot{escaped}", "aggregate": "count", "windows": [{{"range": "1m"}}]}}'
    answer = as_ana.post("/queries/new/", {"view": "json", "json": text, "source": "sensors"})
    assert answer.status_code == 422
    sentences = [problem.sentence for problem in answer.context["problems"].values()]
    assert any(code in sentence for sentence in sentences)
    assert not SavedQuery.objects.exists()


def test_tags_that_nobody_can_read_are_not_saved(as_ana: Client, hot: SavedQuery) -> None:
    answer = as_ana.post(f"/queries/{hot.key}/tags/", {"tags": "plant, a\0b"}, follow=True)
    assert "The tags are not saved: Remove the control character U+0000 after “plant, a”." in (
        answer.content.decode()
    )
    hot.refresh_from_db()
    assert hot.tags == []


def test_an_unknown_query_is_answered_with_our_own_page(as_ana: Client) -> None:
    response = as_ana.get("/queries/nosuch/")
    assert response.status_code == 404
    assert "Nothing is at this address" in response.content.decode()


def test_pausing_takes_queries_out_of_the_plan_and_undo_brings_them_back(
    as_ana: Client, hot: SavedQuery, sensors: Source
) -> None:
    as_ana.post("/queries/new/", TYPED)
    cold = SavedQuery.objects.get(name="Mean temp")
    page = as_ana.post("/queries/bulk/", {"do": "pause", "key": [hot.key]}, follow=True).content.decode()
    assert "Paused “Hot devices”." in page
    assert f"/queries/bulk/?do=resume&amp;key={hot.key}" in page
    plan = PlanVersion.objects.first()
    assert plan.cause == "Ana paused “Hot devices”"
    assert {one.id for one in plan.value().queries} == {one.id for one in cold.queries()}
    assert "by Ana" in as_ana.get("/queries/").content.decode()
    as_ana.post(f"/queries/bulk/?do=resume&key={hot.key}")
    assert SavedQuery.objects.get(pk=hot.pk).paused_at is None
    own = as_ana.post("/queries/bulk/", {"do": "pause", "key": hot.key, "from": "page"}, follow=True)
    assert own.redirect_chain == [(hot.get_absolute_url(), 302)]
    assert f"/queries/bulk/?do=resume&amp;key={hot.key}&amp;from=page" in own.content.decode()
    as_ana.post(f"/queries/bulk/?do=resume&key={hot.key}&from=page")
    assert len(PlanVersion.objects.first().value().queries) == 5


def test_bulk_changes_nothing_when_one_query_is_another_persons(as_bo: Client, hot: SavedQuery, bo) -> None:
    own = SavedQuery.objects.create(
        source=hot.source, owner=bo, name="Own", computations=hot.computations, windows=hot.windows
    )
    response = as_bo.post("/queries/bulk/", {"do": "pause", "key": [own.key, hot.key]})
    assert response.status_code == 403
    assert not SavedQuery.objects.exclude(paused_at=None).exists()
    assert as_bo.post("/queries/bulk/", {"do": "explode", "key": [own.key]}).status_code == 400
    page = as_bo.post("/queries/bulk/", {"do": "pause"}, follow=True).content.decode()
    assert "Nothing chosen: tick the queries first." in page


def test_the_list_is_searched_by_words_tags_and_owner(as_ana: Client, hot: SavedQuery) -> None:
    as_ana.post(f"/queries/{hot.key}/tags/", {"tags": "on-call, checkout,, on-call"})
    assert SavedQuery.objects.get().tags == ["on-call", "checkout"]
    for words in ("hot", "on-call", "ana max", "sensors device"):
        assert "Hot devices" in as_ana.get("/queries/", {"q": words}).content.decode(), words
    page = as_ana.get("/queries/", {"q": "cold"}).content.decode()
    assert "No query matches “cold”." in page
    assert "Hot devices" not in page


def test_a_duplicate_begins_as_the_query_it_is_of(as_bo: Client, hot: SavedQuery) -> None:
    page = as_bo.get("/queries/new/", {"copy": hot.key}).content.decode()
    assert 'value="Hot devices, copy"' in page
    assert "1m, 5m every 10s" in page


def test_a_querys_page_follows_its_state(as_ana: Client, hot: SavedQuery) -> None:
    page = as_ana.get(hot.get_absolute_url()).content.decode()
    assert f'data-live-query-state="{hot.key}"' in page
    assert f'data-pauses="{hot.key}"' in page
