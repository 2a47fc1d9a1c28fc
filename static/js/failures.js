// What a request of the page itself says when it fails: a toast, once for each sentence.
import { say } from "./toast.js";

const SIGN_IN = "/sign-in/";

function sayOnce(text) {
  const said = [...document.querySelectorAll("[data-toast=error] > span")].some((toast) => toast.textContent === text);
  if (!said) say(text, { kind: "error" });
}

function refusal(status) {
  if (status === 403) return "Not accepted: load the page again, then try once more.";
  if (status === 404) return "What was asked for is gone: load the page again.";
  return "The server met an error, which its log describes. Try again.";
}

export function watchRequests() {
  document.addEventListener("htmx:sendError", () => sayOnce("The server did not answer: try again."));
  document.addEventListener("htmx:responseError", ({ detail }) => sayOnce(refusal(detail.xhr.status)));
  // The session has ended meanwhile: the sign-in page is a page of its own, not part of this one.
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    if (new URL(detail.xhr.responseURL, location.href).pathname !== SIGN_IN) return;
    detail.shouldSwap = false;
    location.reload();
  });
}
