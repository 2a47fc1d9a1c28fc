// The form of an alert: only what its condition uses is shown.
const form = document.getElementById("alert-form");

function showUsed() {
  const condition = form.elements.condition.value;
  for (const part of form.querySelectorAll("[data-used-by]")) {
    part.hidden = !part.dataset.usedBy.split(" ").includes(condition);
  }
}

form.elements.condition.addEventListener("change", showUsed);
showUsed();
