"use strict";
// The report's movements: zoom, and one record at a time as "now", with the records of an opened
// check lit. Without this script the page is whole, only still.
(() => {
  const $ = (id) => document.getElementById(id);
  const chart = $("chart"), scroll = $("scroll"), told = $("told"), moments = $("moments");
  const consoles = document.querySelector(".consoles");
  const svg = "http://www.w3.org/2000/svg";

  // Zoom: powers of two. Finer ticks, and single frames, from the levels on that the page knows.
  const most = 64;
  let zoom = 1;
  const setZoom = (to, keep) => {
    to = Math.min(most, Math.max(1, to));
    const middle = keep ?? (scroll.scrollLeft + scroll.clientWidth / 2) / scroll.scrollWidth;
    zoom = to;
    chart.style.setProperty("--zoom", zoom);
    chart.dataset.level = zoom >= 64 ? 3 : zoom >= 16 ? 2 : zoom >= 4 ? 1 : 0;
    $("zoom").textContent = zoom + "×";
    $("out").disabled = $("fit").disabled = zoom === 1;
    $("in").disabled = zoom === most;
    scroll.scrollLeft = middle * scroll.scrollWidth - scroll.clientWidth / 2;
  };
  $("in").addEventListener("click", () => setZoom(zoom * 2));
  $("out").addEventListener("click", () => setZoom(zoom / 2));
  $("fit").addEventListener("click", () => setZoom(1));
  scroll.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.key === "+" || e.key === "=") setZoom(zoom * 2);
    else if (e.key === "-") setZoom(zoom / 2);
    else if (e.key === "0") setZoom(1);
    else if (e.key === "," || e.key === "<") step(-1);
    else if (e.key === "." || e.key === ">") step(1);
    else return;
    e.preventDefault();
  });
  scroll.addEventListener("wheel", (e) => {
    if (!e.ctrlKey) return; // a pinch, or the wheel with control
    e.preventDefault();
    const x = (scroll.scrollLeft + e.clientX - scroll.getBoundingClientRect().left) / scroll.scrollWidth;
    setZoom(e.deltaY < 0 ? zoom * 2 : zoom / 2, x);
  }, { passive: false });

  // Records.
  const marks = new Map(); // by record: what stands for it in the diagram
  for (const e of chart.querySelectorAll("[data-n]")) {
    const n = Number(e.dataset.n);
    marks.set(n, [...(marks.get(n) ?? []), e]);
  }
  const rowOf = (n) => $("r" + n);
  const percent = (e) => parseFloat(e.getAttribute("x2") ?? e.getAttribute("x"));
  const line = (x, now) => {
    const l = document.createElementNS(svg, "line");
    l.setAttribute("x1", x + "%");
    l.setAttribute("x2", x + "%");
    l.setAttribute("y1", 0);
    l.setAttribute("y2", "100%");
    if (now) l.setAttribute("class", "now");
    moments.append(l);
  };
  let lit = new Map(); // record: its place in the diagram
  let current = 0;
  const draw = (n, x) => {
    for (const e of document.querySelectorAll(".lit, .now")) e.classList.remove("lit", "now");
    moments.replaceChildren();
    for (const [m, at] of lit) {
      line(at, false);
      for (const e of marks.get(m) ?? []) e.classList.add("lit");
      rowOf(m)?.classList.add("lit");
    }
    if (!n) return;
    line(x, true);
    for (const e of marks.get(n) ?? []) e.classList.add("lit");
    rowOf(n)?.classList.add("now");
    for (const e of document.querySelectorAll(`.proof [data-go="${n}"]`)) e.classList.add("now");
  };
  const reveal = (n, x) => {
    const at = x / 100 * scroll.scrollWidth;
    if (at < scroll.scrollLeft || at > scroll.scrollLeft + scroll.clientWidth) {
      scroll.scrollLeft = at - scroll.clientWidth / 2;
    }
    const row = rowOf(n);
    if (row) consoles.scrollTop = row.offsetTop - consoles.clientHeight / 3;
  };
  const tell = (n) => {
    const mark = (marks.get(n) ?? [])[0], row = rowOf(n);
    if (mark) return mark.dataset.t;
    return row ? `${row.querySelector(".time").textContent} s: ${row.querySelector(".text").textContent}` : "";
  };
  const go = (n, x, text) => {
    current = n;
    draw(n, x);
    reveal(n, x);
    told.textContent = `${text ?? tell(n)} (record ${n})`;
  };
  document.addEventListener("click", (e) => {
    const button = e.target.closest("[data-go]");
    if (button) {
      const text = button.closest(".proof") ? [...button.children].map((c) => c.textContent).join(" ") : undefined;
      go(Number(button.dataset.go), parseFloat(button.dataset.x), text);
      return;
    }
    const mark = e.target.closest("#chart [data-n]");
    if (mark) go(Number(mark.dataset.n), percent(mark), mark.dataset.t);
  });
  chart.addEventListener("pointerover", (e) => {
    const mark = e.target.closest("[data-t]");
    if (mark) told.textContent = mark.dataset.t;
  });

  // Through the records one by one: those that are lit, or all that the diagram has.
  const order = [...marks.keys()].sort((a, b) => a - b);
  const step = (by) => {
    const list = lit.size ? [...lit.keys()].sort((a, b) => a - b) : order;
    const next = by > 0 ? list.find((n) => n > current) : list.findLast((n) => n < current);
    if (next === undefined) return;
    const mark = (marks.get(next) ?? [])[0];
    go(next, lit.get(next) ?? percent(mark));
  };
  $("next").addEventListener("click", () => step(1));
  $("previous").addEventListener("click", () => step(-1));

  // Checks: opening one lights its records.
  for (const check of document.querySelectorAll(".check")) {
    check.addEventListener("toggle", () => {
      if (!check.open) return;
      lit = new Map([...check.querySelectorAll("[data-go]")].map(
        (b) => [Number(b.dataset.go), parseFloat(b.dataset.x)]));
      current = 0;
      draw(0);
      const first = [...lit].find(([n]) => rowOf(n));
      if (first) reveal(first[0], first[1]);
      told.textContent = `${check.querySelector(".title").textContent}: ${lit.size} records`;
    });
  }
  $("dark").addEventListener("click", () => {
    lit = new Map();
    current = 0;
    draw(0);
    told.textContent = "";
  });
  const filter = (unheld) => {
    $("all").setAttribute("aria-pressed", String(!unheld));
    $("unheld").setAttribute("aria-pressed", String(unheld));
    for (const c of document.querySelectorAll(".check")) {
      c.hidden = unheld && c.dataset.status === "held";
    }
  };
  $("all").addEventListener("click", () => filter(false));
  $("unheld").addEventListener("click", () => filter(true));
  setZoom(1);
})();
