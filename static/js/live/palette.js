// Colours come from the tokens in CSS; a series keeps its colour while its panel lives.
const HUES = 8;

const known = new Map(); // tokens of the theme in use: to ask for one may lay the page out anew
let knownTheme = null;

export function token(name) {
  const { dataset } = document.documentElement;
  if (dataset.bsTheme !== knownTheme) known.clear();
  knownTheme = dataset.bsTheme;
  if (!known.get(name)) known.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  return known.get(name);
}

export const faded = (colour, share) => `color-mix(in srgb, ${colour} ${share * 100}%, transparent)`;

/** Colour and width of the n-th of `count` windows of one field, thin and light to thick and dark. */
export function windowStyle(at, count) {
  const place = count === 1 ? 0.5 : at / (count - 1); // one window alone takes the middle of the ramp
  const [from, to] = place < 0.5 ? ["w1", "w2"] : ["w2", "w3"];
  const within = (place < 0.5 ? place : place - 0.5) * 2;
  return {
    colour: `color-mix(in oklab, ${token(to)} ${within * 100}%, ${token(from)})`,
    width: 1.25 + 1.5 * place,
    dash: [],
  };
}

/** The same for the windows of a further field on the panel, which takes the n-th hue. */
export function furtherStyle(hue, at, count) {
  const place = count === 1 ? 0.5 : at / (count - 1);
  const base = token(`s${(hue % HUES) + 1}`);
  const towards = place < 0.5 ? token("surface") : token("ink");
  return { colour: `color-mix(in oklab, ${base} ${100 - Math.abs(place - 0.5) * 70}%, ${towards})`, width: 1.25 + 1.5 * place, dash: [] };
}

/** Gives each series of a panel a hue by the hash of its name, then the next free one: the same names have the same
 *  hues in a preview, on a panel and after it was loaded anew. */
export class SeriesColours {
  #taken = new Map(); // name of a series → index

  /** The names that are drawn, in any order; those that are gone give their colours back. */
  keep(names) {
    const wanted = new Set(names);
    for (const name of this.#taken.keys()) if (!wanted.has(name)) this.#taken.delete(name);
    for (const name of [...wanted].sort()) if (!this.#taken.has(name)) this.#taken.set(name, this.#free(name));
  }

  /** Of one that is kept. */
  style(name) {
    const index = this.#taken.get(name);
    const dash = index < HUES ? [] : index < 2 * HUES ? [6, 3] : [1.5, 3];
    return { colour: token(`s${(index % HUES) + 1}`), width: 1.75, dash };
  }

  #free(name) {
    const used = new Set(this.#taken.values());
    let index = hash(name) % HUES;
    for (let tries = 0; used.has(index); tries += 1) index = tries < HUES ? (index + 1) % HUES : index + 1;
    return index;
  }
}

function hash(text) {
  let sum = 2166136261;
  for (const letter of text) sum = Math.imul(sum ^ letter.codePointAt(0), 16777619);
  return sum >>> 0;
}
