// What every page does: toasts of the last request, and forms that behave.
import { forgetSaved } from "./draft.js";
import { adoptToasts } from "./toast.js";
import { watchForms } from "./forms.js";
import { watchKeys } from "./keys.js";
import { showLocalTimes } from "./times.js";

forgetSaved("source.new");
adoptToasts();
watchForms();
showLocalTimes();
watchKeys();
