// Calls of the API with the session of this page.
export class Refused extends Error {}

/** The answer's JSON, or null; throws a sentence. */
export async function call(method, address, body) {
  const token = document.querySelector("input[name=csrfmiddlewaretoken]")?.value ?? "";
  const headers = { "Content-Type": "application/json", "X-CSRFToken": token };
  const answer = await fetch(`/api/${address}`, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const text = await answer.text();
  const told = text && answer.headers.get("Content-Type")?.includes("json") ? JSON.parse(text) : null;
  if (!answer.ok) throw new Refused(told?.problem ?? Object.values(told?.problems ?? {})[0] ?? "The server did not answer as it should.");
  return told;
}
