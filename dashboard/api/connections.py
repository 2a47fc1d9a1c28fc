"""Connections over the API. Secrets are taken and never given out."""

from typing import Any

from django.http import HttpRequest
from ninja import Router
from ninja.errors import HttpError

from dashboard.accounts.people import check_may_edit, signed_in
from dashboard.accounts.rights import check_may_change
from dashboard.api import binned
from dashboard.api.forms import checked_connection
from dashboard.api.pages import Page, PageAsked, page_of
from dashboard.api.refusals import REFUSALS
from dashboard.api.shapes import ConnectionSent, ConnectionShown
from dashboard.connections.actions import change_connection
from dashboard.connections.models import Connection

router = Router(tags=["Connections"])


@router.get("", response={200: Page[ConnectionShown], **REFUSALS}, summary="List connections")
def list_connections(request: HttpRequest, asked: PageAsked) -> Any:
    check_may_edit(signed_in(request))
    return page_of(Connection.objects.select_related("created_by"), asked, ConnectionShown.of)


@router.post("", response={201: ConnectionShown, **REFUSALS}, summary="Add a connection")
def add_connection(request: HttpRequest, sent: ConnectionSent) -> Any:
    form = checked_connection(sent.model_dump())
    return 201, ConnectionShown.of(form.save(signed_in(request)))


@router.get("/{slug:key}", response={200: ConnectionShown, **REFUSALS}, summary="Look at a connection")
def show_connection(request: HttpRequest, key: str) -> Any:
    return ConnectionShown.of(_found(key))


@router.patch("/{slug:key}", response={200: ConnectionShown, **REFUSALS}, summary="Change a connection")
def patch_connection(request: HttpRequest, key: str, sent: ConnectionSent) -> Any:
    """What is not sent stays, secrets included. Its sources go on with what it is now."""
    form = checked_connection(sent.model_dump(exclude_unset=True), editing=_own(request, key))
    change_connection(form, signed_in(request))
    return ConnectionShown.of(_found(key))


@router.delete("/{slug:key}", response={200: binned.Deleted, **REFUSALS}, summary="Delete a connection")
def remove_connection(request: HttpRequest, key: str) -> Any:
    """It goes to the bin with its sources and their queries."""
    return binned.delete(request, _found(key))


def _found(key: str) -> Connection:
    connection = Connection.objects.select_related("created_by").filter(key=key).first()
    if connection is None:
        raise HttpError(404, f"There is no connection “{key}”.")
    return connection


def _own(request: HttpRequest, key: str) -> Connection:
    connection = _found(key)
    check_may_change(signed_in(request), connection)
    return connection
