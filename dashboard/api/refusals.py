"""What the API refuses, in words: as {"problems": {field: sentence}}, or as {"problem": sentence}."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse, JsonResponse
from ninja import NinjaAPI, Schema
from ninja.errors import AuthenticationError, HttpError, ValidationError

from dashboard.api.who import STRANGER

CONTROL_CHARACTER = "control_character"
EXPECTED = {
    "string_type": "“{}” must be a text.",
    "string_unicode": "“{}” must be a text.",
    "list_type": "“{}” must be a list.",
    "bool_type": "“{}” must be true or false.",
    "bool_parsing": "“{}” must be true or false.",
    "int_type": "“{}” must be a whole number.",
    "int_parsing": "“{}” must be a whole number.",
    "int_from_float": "“{}” must be a whole number.",
    "float_type": "“{}” must be a number.",
    "float_parsing": "“{}” must be a number.",
    "missing": "“{}” is missing.",
    "extra_forbidden": "There is no “{}” here.",
    "model_attributes_type": "“{}” must be an object.",
    "model_type": "“{}” must be an object.",
    "dict_type": "“{}” must be an object.",
}
OF_FIELDS = {
    "windows": (
        "Write windows as a text such as “1m, 5m every 10s”, or as a list of objects with a range and a "
        "slide, a count and an every, or a gap."
    )
}


class OneProblem(Schema):
    """Why something was refused as a whole."""

    problem: str


class Problems(Schema):
    """What is wrong with what was sent, by field; the sentences are those of the forms."""

    problems: dict[str, str]


REFUSALS: dict[int, Any] = {400: OneProblem, 401: OneProblem, 403: OneProblem, 404: OneProblem, 422: Problems}


class Refused(Exception):
    """Input that was looked at and is not good."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__(*problems.values())
        self.problems = dict(problems)


def refuse_bad(form: BaseForm, renamed: Mapping[str, str] | None = None) -> None:
    """Refuse what the form refuses; `renamed` has the fields that are called otherwise in the API."""
    if not form.is_valid():
        names = renamed or {}
        raise Refused({names.get(field, field): str(lines[0]) for field, lines in form.errors.items()})


def mistakes(errors: list[dict[str, Any]]) -> dict[str, str]:
    """A sentence for each field that has not the shape that it must have."""
    found: dict[str, str] = {}
    for error in errors:
        where, *place = error["loc"]
        if where == "body":
            place = place[1:]  # after the name of the function's argument
        field = str(place[0]) if place else where
        innermost = next((part for part in reversed(place) if isinstance(part, str)), field)
        found.setdefault(field, _sentence(error, field, innermost))
    return found


def _sentence(error: dict[str, Any], field: str, innermost: str) -> str:
    if error["type"] == CONTROL_CHARACTER:
        return str(error["msg"])
    told = EXPECTED.get(error["type"])
    own = told.format(innermost) if told else f"“{innermost}”: {str(error['msg']).rstrip('.')}."
    return OF_FIELDS.get(field) or own


def speak(api: NinjaAPI) -> None:
    """Have the API refuse in these words."""

    @api.exception_handler(Refused)
    def refused(request: HttpRequest, error: Refused) -> HttpResponse:
        return JsonResponse({"problems": error.problems}, status=422)

    @api.exception_handler(ValidationError)
    def misshapen(request: HttpRequest, error: ValidationError) -> HttpResponse:
        return JsonResponse({"problems": mistakes(error.errors)}, status=422)

    @api.exception_handler(AuthenticationError)
    def unknown(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
        sentence = STRANGER if error.message == "Unauthorized" else error.message
        return JsonResponse({"problem": sentence}, status=401, headers={"WWW-Authenticate": "Bearer"})

    @api.exception_handler(PermissionDenied)
    def denied(request: HttpRequest, error: PermissionDenied) -> HttpResponse:
        return JsonResponse({"problem": str(error)}, status=403)

    @api.exception_handler(HttpError)
    def failed(request: HttpRequest, error: HttpError) -> HttpResponse:
        sentence = "The body is not JSON." if error.status_code == 400 else error.message
        return JsonResponse({"problem": sentence}, status=error.status_code)
