"""People and what they may do, as they go about it: passwords, sessions, groups, roles, and the log of it."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from django.conf import settings
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import Millrace, new_page, sign_in

pytestmark = pytest.mark.browser

FIRST, SECOND = "otter-below-the-dam-4", "heron-at-the-weir-7"
AT_ONCE_MS = 10_000


@dataclass(frozen=True)
class Person:
    """Cleo, a viewer, with two browsers in which nobody has signed in yet."""

    name: str
    here: Page
    there: Page


@pytest.fixture
def cleo(page: Page, browser: Browser, millrace: Millrace) -> Iterator[Person]:
    name = f"cleo-{time.time_ns()}"
    page.goto("/people/")
    page.get_by_role("button", name="Invite person").first.click()
    page.get_by_label("User name").fill(name)
    page.get_by_label("First name").fill("Cleo")
    page.get_by_label("Role").select_option("viewer")
    page.locator("#invite").get_by_role("button", name="Invite person").click()
    link = page.locator("#link").inner_text()
    person = Person(name, new_page(browser, millrace), new_page(browser, millrace))
    set_password(person.here, link, FIRST)
    yield person
    for one in (person.here, person.there):
        one.context.close()


def set_password(page: Page, link: str, password: str) -> None:
    page.goto(link)
    page.get_by_label("New password", exact=True).fill(password)
    page.get_by_label("New password, again").fill(password)
    page.get_by_role("button", name="Set password").click()
    expect(page.get_by_text("Your password is set.")).to_be_visible()


def signed_in(page: Page, name: str, password: str) -> None:
    sign_in(page, name, password)
    page.wait_for_url(lambda url: "sign-in" not in url)


def test_sessions_are_listed_and_ended_and_a_new_password_ends_all_others(cleo: Person) -> None:
    here, there = cleo.here, cleo.there
    signed_in(here, cleo.name, FIRST)
    signed_in(there, cleo.name, FIRST)
    there.goto("/queries/")
    here.goto("/account/")
    sessions = here.get_by_role("region", name="Table of sessions").locator("tbody tr")
    expect(sessions).to_have_count(2)
    expect(sessions.filter(has_text="this one")).to_have_count(1)
    sessions.get_by_role("button", name="Sign out").click()
    expect(here.get_by_text("Signed out Chrom")).to_be_visible()
    expect(sessions).to_have_count(1)
    expect(there.get_by_role("heading", name="Sign in")).to_be_visible(timeout=AT_ONCE_MS)

    signed_in(there, cleo.name, FIRST)
    there.goto("/queries/")
    for present, said in (
        ("wrong", "This is not your current password."),
        (FIRST, "Your password is changed."),
    ):
        here.get_by_role("form", name="Password").get_by_label("Current password").fill(present)
        here.get_by_label("New password", exact=True).fill(SECOND)
        here.get_by_label("New password, again").fill(SECOND)
        here.get_by_role("button", name="Change password").click()
        expect(here.get_by_text(said)).to_be_visible()
    expect(there.get_by_role("heading", name="Sign in")).to_be_visible(timeout=AT_ONCE_MS)
    sign_in(there, cleo.name, FIRST)
    expect(there.get_by_text("User name and password do not match.")).to_be_visible()
    signed_in(there, cleo.name, SECOND)


def test_too_many_tries_lock_out_until_the_administrator_makes_a_link(page: Page, cleo: Person) -> None:
    for _ in range(settings.AXES_FAILURE_LIMIT):
        sign_in(cleo.here, cleo.name, "wrong")
        expect(
            cleo.here.get_by_text("User name and password do not match.").or_(locked_out(cleo.here))
        ).to_be_visible()
    sign_in(cleo.here, cleo.name, FIRST)
    expect(locked_out(cleo.here)).to_be_visible()
    expect(cleo.here.get_by_text("Wait 15 minutes, or ask your administrator.")).to_be_visible()

    page.goto("/people/")
    page.get_by_role("row").filter(has_text=cleo.name).get_by_role("link", name="Cleo").click()
    page.get_by_role("button", name="Make password link").click()
    link = page.locator("#link").inner_text()
    set_password(cleo.here, link, SECOND)
    signed_in(cleo.here, cleo.name, SECOND)
    cleo.there.goto(link)
    expect(cleo.there.get_by_role("heading", name="This link is not good any more")).to_be_visible()


def locked_out(page: Page) -> Locator:
    return page.get_by_role("heading", name="Locked out for a while")


def test_a_group_is_filled_a_role_is_changed_and_the_log_has_both(page: Page, cleo: Person) -> None:
    signed_in(cleo.here, cleo.name, FIRST)
    cleo.here.goto("/dashboards/new/")
    expect(cleo.here.get_by_role("button", name="Save dashboard")).to_have_count(0)
    group = f"Plant {cleo.name[-6:]}"
    page.goto("/people/")
    page.get_by_role("button", name="New group").first.click()
    page.locator("#group-name").fill(group)
    page.get_by_role("button", name="Make group").click()
    expect(page.get_by_role("heading", name=group, level=1)).to_be_visible()
    page.locator(".choice").filter(has_text=cleo.name).click()
    page.get_by_role("button", name="Save group").click()
    expect(page.get_by_text(f"Saved “{group}”.")).to_be_visible()
    cleo.here.goto("/account/")
    expect(cleo.here.get_by_text(f"in {group}")).to_be_visible()

    page.goto("/people/")
    page.get_by_role("row").filter(has_text=cleo.name).get_by_role("link", name="Cleo").click()
    page.get_by_label("Role").select_option("editor")
    page.get_by_role("button", name="Save person").click()
    expect(page.get_by_text("Saved Cleo.")).to_be_visible()
    cleo.here.goto("/dashboards/new/")
    expect(cleo.here.get_by_role("button", name="Save dashboard")).to_be_visible()

    page.goto("/audit/")
    entries = page.get_by_role("region", name="Table of entries").locator("tbody tr")
    for words, said in ((group, f"the group “{group}”"), (cleo.name, "editor")):
        page.get_by_label("Words").fill(words)
        page.get_by_role("button", name="Search").click()
        expect(entries.filter(has_text=said).first).to_be_visible()
    page.get_by_label("Words").fill("nobody did this")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_text("No entry matches.")).to_be_visible()


def test_a_dashboard_that_is_withdrawn_leaves_the_screen_of_who_watches_it(page: Page, cleo: Person) -> None:
    text = {"title": "Shift", "kind": "text", "text": "The sluice is open."}
    token = next(one["value"] for one in page.context.cookies() if one["name"] == "csrftoken")
    asked = {"name": f"Sluice {cleo.name}", "panels": [text]}
    made = page.request.post("/api/dashboards", data=asked, headers={"X-CSRFToken": token})
    assert made.status == 201, made.text()
    board = f"/dashboards/{made.json()['key']}/"
    signed_in(cleo.here, cleo.name, FIRST)
    cleo.here.goto(board)
    expect(cleo.here.get_by_text("The sluice is open.")).to_be_visible()

    page.goto(board)
    page.get_by_role("button", name="Who may see this").click()
    page.get_by_label("Only those named below").check()
    page.get_by_role("button", name="Save access").click()
    expect(cleo.here.get_by_text("You may not see this dashboard.")).to_be_visible(timeout=AT_ONCE_MS)
    assert "The sluice is open." not in cleo.here.content()
