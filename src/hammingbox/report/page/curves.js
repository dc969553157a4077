// Highlights curves, and opens all details for print. The page can be read without it.

for (const group of document.querySelectorAll("[data-curves]")) {
  const buttons = [...group.querySelectorAll("button[data-series]")];
  const show = () => {
    const picked = new Set(buttons.filter((b) => b.getAttribute("aria-pressed") === "true").map((b) => b.dataset.series));
    group.classList.toggle("picked", picked.size > 0);
    for (const curve of group.querySelectorAll(".series")) curve.classList.toggle("on", picked.has(curve.dataset.series));
  };
  for (const button of buttons) {
    button.addEventListener("click", () => {
      button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") !== "true"));
      show();
    });
  }
}
let opened = [];
addEventListener("beforeprint", () => {
  opened = [...document.querySelectorAll("details:not([open]):not(.noprint)")];
  for (const details of opened) details.open = true;
});
addEventListener("afterprint", () => {
  for (const details of opened) details.open = false;
});
