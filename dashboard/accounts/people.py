"""People in sentences, and what they may change."""

from django.contrib.auth.models import AbstractBaseUser, AbstractUser, AnonymousUser


def first_name(person: AbstractBaseUser | AnonymousUser | None) -> str:
    """How a sentence calls a person."""
    if not isinstance(person, AbstractUser):
        return "Someone who has left"
    return person.first_name or person.username


def may_change(person: AbstractBaseUser | AnonymousUser, owner: AbstractBaseUser | None) -> bool:
    """Owners change what is theirs; administrators change everything."""
    return isinstance(person, AbstractUser) and (person.is_staff or person == owner)
