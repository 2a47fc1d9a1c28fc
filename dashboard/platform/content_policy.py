"""What a page may load and run: files of this site, and nothing that is written into the page itself."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

NOBODY = "'none'"
POLICY = "; ".join(
    (
        "default-src 'self'",
        "img-src 'self' data:",  # icons in Tabler's stylesheet
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors {framers}",
    )
)
Answer = Callable[[HttpRequest], HttpResponse]


def content_policy(get_response: Answer) -> Answer:
    """Middleware; a response with an attribute `framers` may be framed by those origins."""

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        framers = getattr(response, "framers", NOBODY)
        response["Content-Security-Policy"] = POLICY.format(framers=framers)
        return response

    return answer
