// What every page does: toasts of the last request, and forms that behave.
import { adoptToasts } from "./toast.js";
import { watchForms } from "./forms.js";
import { showLocalTimes } from "./times.js";

adoptToasts();
watchForms();
showLocalTimes();
