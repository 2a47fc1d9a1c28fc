"""What a person hears when a request that the page makes by itself fails."""

import pytest
from playwright.sync_api import Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.spark]


def try_connection(page: Page) -> None:
    page.get_by_role("button", name="Test connection").click()


def test_a_request_that_fails_says_so_once(page: Page) -> None:
    page.goto("/connections/new/")
    errors = page.locator("#toasts [role=alert]")
    page.route("**/connections/test/", lambda route: route.abort())
    try_connection(page)
    expect(errors).to_have_text(["The server did not answer: try again."])
    try_connection(page)
    page.unroute("**/connections/test/")
    page.route("**/connections/test/", lambda route: route.fulfill(status=500))
    try_connection(page)
    expect(errors.last).to_contain_text("The server met an error")
    expect(errors).to_have_count(2)


def test_who_was_signed_out_meanwhile_is_asked_to_sign_in(page: Page) -> None:
    page.goto("/connections/new/")
    page.context.clear_cookies(name="sessionid")
    try_connection(page)
    page.wait_for_url("**/sign-in/?next=/connections/new/")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
