// From what is known of a panel's queries to the series that it draws: chosen, ordered, named and coloured.
import { windowLength } from "./format.js";
import { furtherStyle, SeriesColours, windowStyle } from "./palette.js";
import { byNewestValue } from "./series.js";

export class DrawnSeries {
  #colours = new SeriesColours();

  constructor(settings, formats) {
    this.settings = settings;
    this.formats = formats;
  }

  /** `queryOf` gives what is known of a query by its key; `view` is the range of time, `hidden` has ids of series. */
  of({ queryOf, view, computation, window, hidden }) {
    const several = this.settings.shows.length > 1;
    const drawn = this.settings.shows.flatMap((show, place) => {
      const query = queryOf(show.query);
      return query ? this.#shown(query, { show, place, several, view, computation, window, hidden }) : [];
    });
    this.#colours.keep(drawn.map(({ named }) => named).filter((name) => name !== null));
    return drawn.map(({ named, ...one }) => (named !== null ? { ...one, style: this.#colours.style(named) } : one));
  }

  #shown(query, { show, place, several, view, computation, window, hidden }) {
    const grouped = query.groupBy.length > 0;
    const wanted = show.computation ?? computation;
    const all = query.shown(view).filter((one) => several && !show.computation ? true : one.computation === wanted);
    const windows = show.windows ?? (grouped ? [window ?? all[0]?.window] : null);
    const chosen = windows ? all.filter((one) => windows.includes(one.window)) : all;
    const sorted = grouped ? byNewestValue(chosen).slice(0, this.settings.groups * windows.length) : chosen;
    return sorted.map((one, at) => {
      const id = several ? `${place}:${one.id}` : one.id;
      const axis = show.axis === "right" ? "right" : "y";
      return {
        ...one,
        id,
        axis,
        format: this.formats[axis],
        named: grouped ? [...(several ? [place] : []), ...(windows.length > 1 ? [one.window] : []), ...one.group].join("|") : null,
        style: grouped ? null : place ? furtherStyle(place, at, sorted.length) : windowStyle(at, sorted.length),
        label: label(one, { show, grouped, several, alone: sorted.length === 1, windows }),
        detail: grouped || (several && sorted.length === 1) ? "" : slideWords(one),
        hidden: hidden.has(id),
      };
    });
  }
}

function label(one, { show, grouped, several, alone, windows }) {
  const group = one.group.map((part) => part ?? "none").join(" · ");
  const own = grouped ? [group, ...(windows.length > 1 ? [windowLength(one.range)] : [])].join(" · ") : windowLength(one.range);
  if (!several) return own;
  return alone && !grouped ? (show.name ?? own) : `${show.name ?? show.query} · ${own}`;
}

const slideWords = ({ slide, range }) => (slide === range ? "tumbling" : `every ${windowLength(slide)}`);
