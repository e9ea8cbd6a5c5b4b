// Everything here is a convenience: the page is complete without it.
(() => {
  "use strict";
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const { copy, copied } = document.body.dataset;

  // Hovering a name shows its other uses.
  const NAMES = ".n, .nc, .nf, .nn, .fm, .nb, .bp, .ne";
  let index = null;
  let marked = [];
  const uses = (text) => {
    if (!index) {
      index = new Map();
      for (const name of all(NAMES)) {
        const list = index.get(name.textContent) || [];
        list.push(name);
        index.set(name.textContent, list);
      }
    }
    return index.get(text) || [];
  };
  document.addEventListener("mouseover", (event) => {
    for (const name of marked) name.classList.remove("same");
    const name = event.target.closest?.(NAMES);
    marked = name ? uses(name.textContent) : [];
    for (const each of marked) each.classList.add("same");
  });

  // A line inside a note has no anchor of its own; the nearest one before it stands for it.
  const nearest = () => {
    const wanted = /^#L(\d+)$/.exec(location.hash);
    if (!wanted || document.getElementById(wanted[0].slice(1))) return;
    const lines = all("[id^=L]").map((each) => Number(each.id.slice(1))).filter((line) => line <= wanted[1]);
    if (lines.length) location.replace(`#L${Math.max(...lines)}`);
  };
  addEventListener("hashchange", nearest);
  nearest();

  // Copy buttons, for each piece of code; line numbers and prompts are left out.
  const text = (pre) => {
    const lines = all(".l", pre.closest(".code") || pre);
    const plain = pre.querySelector("code").textContent;
    // Of an example with prompts only what was typed is of use.
    if (pre.querySelector(".gp")) return plain.split("\n").filter((line) => /^(>>>|\.\.\.)( |$)/.test(line)).map((line) => line.slice(4)).join("\n");
    if (!lines.length) return plain;
    return lines.map((line) => [...line.childNodes].slice(1).map((node) => node.textContent).join("")).join("");
  };
  for (const pre of all(".code > pre:first-child, .note pre")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = pre.textContent.trimEnd().split("\n").length < 4 ? "copy short" : "copy";
    button.textContent = copy;
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text(pre));
        button.textContent = copied;
      } catch {
        getSelection().selectAllChildren(pre.querySelector("code"));
      }
      setTimeout(() => { button.textContent = copy; }, 1500);
    });
    pre.prepend(button);
  }

  // The other languages open at the same place: at the anchor, or at the row that is being read.
  const place = () => {
    if (location.hash) return location.hash;
    const row = all(".row[id]").filter((each) => each.getBoundingClientRect().top <= 80).pop();
    return row && scrollY > 0 ? `#${row.id}` : "";
  };
  for (const link of all(".languages a")) {
    const target = link.href;
    const keep = () => { link.href = target + place(); };
    for (const kind of ["click", "auxclick", "focus", "pointerenter"]) link.addEventListener(kind, keep);
  }

  // The menu closes when a link in it is followed, and shows where the reader is.
  const menu = document.getElementById("menu");
  menu.addEventListener("click", (event) => {
    if (event.target.closest("a") && menu.matches(":popover-open")) menu.hidePopover();
  });
  const entries = new Map(all(".contents a", menu).map((link) => [decodeURIComponent(link.hash.slice(1)), link]));
  const watch = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) {
      if (!isIntersecting) continue;
      for (const link of entries.values()) link.removeAttribute("aria-current");
      entries.get(target.id).setAttribute("aria-current", "location");
    }
  }, { rootMargin: "0px 0px -70% 0px" });
  for (const id of entries.keys()) {
    const heading = document.getElementById(id);
    if (heading) watch.observe(heading);
  }

  // What scrolls sideways can be reached with the keyboard, and a button that would cover code stands above it.
  const reach = () => {
    for (const box of all(".formula, .note table")) {
      if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
    for (const button of all(".note .copy")) {
      button.classList.remove("above");
      const { left, bottom } = button.getBoundingClientRect();
      const code = document.createRange();
      code.selectNodeContents(button.nextSibling);
      const covers = [...code.getClientRects()].some((box) => box.right > left && box.top < bottom);
      button.classList.toggle("above", covers);
    }
  };
  addEventListener("resize", reach);
  reach();
})();
