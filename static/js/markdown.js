// Markdown to elements: headings, paragraphs, lists, quotes, code, tables, emphasis, links. Raw HTML stays text, and
// links lead nowhere but to http, https, mailto or a place on this server.
const INLINE = /(`[^`]+`)|(\*\*[^*]+\*\*)|(\*[^*\s][^*]*\*)|(\[[^\]]+\]\([^)\s]+\))|(https?:\/\/[^\s<>()]+)/;
const BLOCKS = [
  [/^#{1,4} /, heading],
  [/^```/, code],
  [/^> ?/, quote],
  [/^\s*[-*] /, (lines) => list(lines, "ul", /^\s*[-*] /)],
  [/^\s*\d+[.)] /, (lines) => list(lines, "ol", /^\s*\d+[.)] /)],
  [/^\|.*\|\s*$/, table],
  [/^(---+|\*\*\*+)\s*$/, (lines) => [element("hr"), lines.slice(1)]],
];

function element(tag, ...children) {
  const made = document.createElement(tag);
  made.append(...children);
  return made;
}

/** A fragment with the text's elements. */
export function markdown(text) {
  const fragment = document.createDocumentFragment();
  let lines = text.replaceAll("\r\n", "\n").split("\n");
  while (lines.length) {
    if (!lines[0].trim()) {
      lines = lines.slice(1);
      continue;
    }
    const [, read] = BLOCKS.find(([begins]) => begins.test(lines[0])) ?? [null, paragraph];
    const [block, rest] = read(lines);
    fragment.append(block);
    lines = rest;
  }
  return fragment;
}

function inline(text) {
  const parts = [];
  let rest = text;
  for (let match = INLINE.exec(rest); match; match = INLINE.exec(rest)) {
    parts.push(rest.slice(0, match.index), styled(match));
    rest = rest.slice(match.index + match[0].length);
  }
  return [...parts, rest].filter((part) => part !== "");
}

function styled([whole, codeText, bold, slanted, linked]) {
  if (codeText) {
    const made = element("code", codeText.slice(1, -1));
    made.className = "code";
    return made;
  }
  if (bold) return element("strong", ...inline(bold.slice(2, -2)));
  if (slanted) return element("em", ...inline(slanted.slice(1, -1)));
  const [label, address] = linked ? /^\[(.+)\]\((.+)\)$/.exec(linked).slice(1) : [whole, whole];
  return link(label, address);
}

/** Whether an address may be followed from a text that somebody else wrote. */
export function isSafe(address) {
  if (/^\/(?![/\\])/.test(address) || address.startsWith("#")) return true;
  return /^(https?:\/\/|mailto:)/i.test(address);
}

function link(label, address) {
  if (!isSafe(address)) return document.createTextNode(label);
  const made = element("a", ...inline(label === address ? "" : label));
  if (label === address) made.append(label);
  made.href = address;
  made.rel = "noopener noreferrer";
  return made;
}

const whileLines = (lines, holds) => {
  const end = lines.findIndex((line) => !holds(line));
  return end === -1 ? [lines, []] : [lines.slice(0, end), lines.slice(end)];
};

function heading([first, ...rest]) {
  const level = /^#+/.exec(first)[0].length;
  // The page has its h1 and the panel its h2.
  return [element(`h${level + 2}`, ...inline(first.slice(level).trim())), rest];
}

function code([, ...after]) {
  const [inside, rest] = whileLines(after, (line) => !line.startsWith("```"));
  const made = element("pre", inside.join("\n"));
  made.className = "whole code";
  return [made, rest.slice(1)];
}

function quote(lines) {
  const [inside, rest] = whileLines(lines, (line) => line.startsWith(">"));
  return [element("blockquote", markdown(inside.map((line) => line.replace(/^> ?/, "")).join("\n"))), rest];
}

function list(lines, tag, mark) {
  const [inside, rest] = whileLines(lines, (line) => mark.test(line));
  return [element(tag, ...inside.map((line) => element("li", ...inline(line.replace(mark, ""))))), rest];
}

function table(lines) {
  const [inside, rest] = whileLines(lines, (line) => /^\|.*\|\s*$/.test(line));
  const cells = (line) => line.trim().slice(1, -1).split("|").map((cell) => cell.trim());
  const isRule = (line) => /^\|[\s:|-]+\|\s*$/.test(line);
  const [head, ...body] = inside.filter((line) => !isRule(line));
  const row = (line, tag) => element("tr", ...cells(line).map((cell) => element(tag, ...inline(cell))));
  const made = element("table", element("thead", row(head, "th")), element("tbody", ...body.map((line) => row(line, "td"))));
  made.className = "list";
  return [made, rest];
}

function paragraph(lines) {
  const [inside, rest] = whileLines(lines, (line) => line.trim() && !BLOCKS.some(([begins]) => begins.test(line)));
  return [element("p", ...inline(inside.join(" "))), rest];
}
