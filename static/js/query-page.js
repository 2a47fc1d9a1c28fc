// The page that a saved query leads to: what was kept while it was typed can go.
import { forgetSaved } from "./draft.js";

const { liveQuery } = document.querySelector("[data-live-query]").dataset;
for (const form of ["new", liveQuery]) forgetSaved(`query.${form}`);
