"use strict";
// The colours: the reader's choice of an earlier time, else what the system says. This runs before
// the body is there, so that nothing changes its colour after it was drawn.
(() => {
  const root = document.documentElement, key = "holdfast-theme";
  const stored = () => { try { return localStorage.getItem(key); } catch { return null; } };
  const store = (v) => { try { localStorage.setItem(key, v); } catch { /* private window */ } };
  const dark = () => (root.dataset.theme ||
    (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  if (stored()) root.dataset.theme = stored();
  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const tell = () => button.setAttribute("aria-pressed", String(dark()));
    button.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      store(root.dataset.theme);
      tell();
    });
    tell();
  });
})();
