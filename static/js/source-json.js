// JSON in the colours of its values.
const TOKENS = /("(?:[^"\\]|\\.)*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b/g;
const MOST = 60_000; // characters: beyond that colours cost more than they tell

/** The text in pieces, each with its kind: name, text, number, word, or "" for what is between. */
export function jsonPieces(text) {
  if (text.length > MOST) return [["", text]];
  const pieces = [];
  let at = 0;
  for (const found of text.matchAll(TOKENS)) {
    const [whole, string, colon, digits] = found;
    if (found.index > at) pieces.push(["", text.slice(at, found.index)]);
    if (string) pieces.push(colon ? ["name", string] : ["text", string]);
    else pieces.push([digits ? "number" : "word", whole]);
    if (colon) pieces.push(["", colon]);
    at = found.index + whole.length;
  }
  return at < text.length ? [...pieces, ["", text.slice(at)]] : pieces;
}

export function colourJson(element) {
  const nodes = jsonPieces(element.textContent).map(([kind, text]) => {
    if (!kind) return text;
    const span = document.createElement("span");
    span.className = kind === "name" ? "json-name" : `value-${kind}`;
    span.textContent = text;
    return span;
  });
  element.replaceChildren(...nodes);
}
