"""Who may see and change what: by role, by ownership, by what owners give to people and groups."""

import pytest
from django.contrib.auth.models import AnonymousUser, Group, User
from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction

from dashboard.accounts.levels import CHANGE, NOTHING, SEE
from dashboard.accounts.people import (
    ADMINISTRATOR,
    EDITOR,
    VIEWER,
    VIEWERS_LOOK,
    give_role,
    may_edit,
    role_of,
)
from dashboard.accounts.rights import (
    MayNotSee,
    check_may_change,
    check_may_see,
    may_change,
    may_see,
    may_share,
    unseen_words,
    visible_boards,
    visible_queries,
    visible_sources,
)
from dashboard.models import Board, Grant, SavedQuery, Source


def anew(person: User) -> User:
    """As the next request has them: Django remembers permissions on the object."""
    return User.objects.get(pk=person.pk)


@pytest.fixture
def hidden(sensors: Source) -> Source:
    sensors.for_all = NOTHING
    sensors.save()
    return sensors


@pytest.fixture
def plant(ana: User) -> Board:
    return Board.objects.create(slug="plant", name="Plant", owner=ana)


def test_roles_are_given_and_taken(ana: User, vera: User, ada: User) -> None:
    assert [role_of(one) for one in (vera, ana, ada)] == [VIEWER, EDITOR, ADMINISTRATOR]
    assert [may_edit(one) for one in (vera, ana, ada, AnonymousUser())] == [False, True, True, False]
    give_role(ada, VIEWER)
    give_role(ana, ADMINISTRATOR)
    assert (role_of(anew(ada)), role_of(anew(ana))) == (VIEWER, ADMINISTRATOR)
    give_role(ana, EDITOR)
    assert may_edit(anew(ana))
    assert not anew(ana).is_staff


def test_a_group_can_make_its_members_editors(vera: User) -> None:
    from django.contrib.auth.models import Permission

    group = Group.objects.create(name="Writers")
    group.permissions.add(Permission.objects.get(codename="edit", content_type__app_label="dashboard"))
    vera.groups.add(group)
    assert may_edit(anew(vera))
    assert role_of(anew(vera)) == EDITOR


def test_who_may_not_sign_in_may_nothing(ada: User, ana: User, sensors: Source) -> None:
    for person in (ada, ana):
        person.is_active = False
        person.save()
    assert not may_edit(anew(ana))
    assert not may_change(anew(ana), sensors)
    assert not may_change(anew(ada), sensors)


def test_what_nobody_restricted_is_seen_by_all_and_changed_by_its_owner(
    sensors: Source, hot: SavedQuery, ana: User, bo: User, vera: User, ada: User
) -> None:
    for thing in (sensors, hot):
        assert all(may_see(one, thing) for one in (ana, bo, vera, ada))
        assert [may_change(one, thing) for one in (ana, bo, vera, ada)] == [True, False, False, True]


def test_a_dashboard_is_changed_by_every_editor_until_its_owner_says_otherwise(
    plant: Board, ana: User, bo: User, vera: User
) -> None:
    assert [may_change(one, plant) for one in (ana, bo, vera)] == [True, True, False]
    plant.for_all = SEE
    plant.save()
    assert [may_change(one, plant) for one in (ana, bo, vera)] == [True, False, False]
    assert may_see(vera, plant)


def test_a_hidden_source_hides_its_queries_too(
    hidden: Source, hot: SavedQuery, ana: User, bo: User, ada: User
) -> None:
    assert list(visible_sources(bo)) == list(visible_queries(bo)) == []
    assert not may_see(bo, hidden)
    assert not may_see(bo, hot)
    for person in (ana, ada):
        assert list(visible_sources(person)) == [hidden]
        assert list(visible_queries(person)) == [hot]


def test_who_owns_a_query_of_a_source_that_is_hidden_from_them_does_not_see_it(
    hidden: Source, hot: SavedQuery, bo: User
) -> None:
    hot.owner = bo
    hot.save()
    assert not may_see(bo, hot)
    assert not may_change(bo, hot)
    assert unseen_words(hot) == (
        "You may not see this query.",
        "Ana owns its source and can give you access.",
    )


@pytest.mark.parametrize("by_group", [False, True])
@pytest.mark.parametrize("level", [SEE, CHANGE])
def test_a_right_is_given_to_a_person_or_to_a_group(
    hidden: Source, plant: Board, bo: User, vera: User, by_group: bool, level: str
) -> None:
    plant.for_all = NOTHING
    plant.save()
    team = Group.objects.create(name="Team")
    bo.groups.add(team)
    to = {"group": team} if by_group else {"person": bo}
    for thing in ({"source": hidden}, {"board": plant}):
        Grant.objects.create(**thing, **to, may_change=level == CHANGE)
    assert list(visible_sources(bo)) == [hidden]
    assert list(visible_boards(bo)) == [plant]
    assert [may_change(bo, thing) for thing in (hidden, plant)] == [level == CHANGE] * 2
    assert not may_see(vera, hidden)
    assert not may_see(vera, plant)
    assert not may_share(bo, hidden)  # that is for its owner to say


def test_a_viewer_changes_nothing_whatever_they_own_or_are_given(sensors: Source, vera: User) -> None:
    Grant.objects.create(source=sensors, person=vera, may_change=True)
    assert not may_change(vera, sensors)
    sensors.created_by = vera
    assert not may_change(vera, sensors)
    with pytest.raises(PermissionDenied, match=VIEWERS_LOOK):
        check_may_change(vera, sensors)


def test_refusals_say_whom_to_ask_and_not_what_it_is(
    hidden: Source, hot: SavedQuery, bo: User, ana: User
) -> None:
    with pytest.raises(MayNotSee) as refused:
        check_may_see(bo, hot)
    assert str(refused.value) == "You may not see this query. Ana owns it and can give you access."
    with pytest.raises(MayNotSee, match="You may not see this source"):
        check_may_change(bo, hidden)
    ana.is_active = False
    ana.save()
    hot.refresh_from_db()
    assert unseen_words(hot)[1] == "An administrator can give you access."


def test_connections_are_for_editors(sensors: Source, ana: User, vera: User) -> None:
    assert may_see(ana, sensors.connection)
    assert not may_see(vera, sensors.connection)


def test_the_database_keeps_grants_whole(sensors: Source, plant: Board, bo: User) -> None:
    Grant.objects.create(source=sensors, person=bo)
    for bad in ({"source": sensors, "person": bo}, {"person": bo}, {"source": sensors, "board": plant}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Grant.objects.create(**bad)
