// Buttons that copy the text of another element; they say so themselves, where the person looks.
const SAID_MS = 2000;

for (const button of document.querySelectorAll("[data-copies]")) {
  const label = button.querySelector("[data-label]");
  const usual = label.textContent;
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copies).textContent;
    try {
      await navigator.clipboard.writeText(text);
      label.textContent = "Copied";
    } catch {
      label.textContent = "Not copied: select it";
    }
    setTimeout(() => { label.textContent = usual; }, SAID_MS);
  });
}
