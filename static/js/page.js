// What every page does: toasts of the last request, forms that behave, and a word when something fails.
import { forgetSaved } from "./draft.js";
import { watchRequests } from "./failures.js";
import { adoptToasts } from "./toast.js";
import { watchForms } from "./forms.js";
import { watchJump } from "./jump.js";
import { watchKeys } from "./keys.js";
import { showLocalTimes } from "./times.js";
import { hintUtc } from "./utc-hints.js";

forgetSaved("source.new");
forgetSaved("connection.new");
adoptToasts();
watchForms();
watchRequests();
showLocalTimes();
watchKeys();
watchJump();
hintUtc();
