// Search in the browser: the index of the language is a script that is loaded when the field is used.
(() => {
  "use strict";
  const form = document.querySelector(".search");
  if (!form) return;
  const field = form.querySelector("input");
  const list = form.querySelector("ul");
  const status = form.querySelector("[role=status]");
  const { index, base, found, nothing } = form.dataset;
  const MOST = 20;
  form.hidden = false;

  // The same word in other letters is the same: width, case, accents, and joiners that cannot be seen.
  const fold = (text) => text.normalize("NFKD").replace(/[\u0300-\u036f\u200b-\u200d]/g, "").normalize("NFC").toLowerCase();
  const LETTER = /[\p{L}\p{M}\p{N}_]/u;
  const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
  const language = document.documentElement.lang;
  const segmenter = window.Intl?.Segmenter ? new Intl.Segmenter(language, { granularity: "word" }) : null;
  const terms = (query) => {
    // Names of code are one term, whatever a language thinks of dots.
    const pieces = fold(query).split(/\s+/).filter(Boolean);
    return pieces.flatMap((piece) => {
      if (!segmenter || !UNSPACED.test(piece)) return [piece];
      return [...segmenter.segment(piece)].filter((part) => part.isWordLike).map((part) => part.segment);
    });
  };

  // How well a term stands in a text: 3 as a word, 2 at the start of one, 1 inside one, 0 not at all.
  const match = (text, term) => {
    let best = 0;
    for (let at = text.indexOf(term); at >= 0 && best < 3; at = text.indexOf(term, at + 1)) {
      const starts = at === 0 || UNSPACED.test(term) || !LETTER.test(text[at - 1]);
      const ends = at + term.length === text.length || UNSPACED.test(term) || !LETTER.test(text[at + term.length]);
      best = Math.max(best, starts ? (ends ? 3 : 2) : term.length > 2 ? 1 : 0);
    }
    return best;
  };

  let entries = null;
  const prepare = () => {
    const { pages, entries: raw } = window.facingIndex;
    entries = raw.map(([page, anchor, label, text]) => {
      const [path, title] = pages[page];
      return { href: base + path + (anchor && `#${encodeURIComponent(anchor)}`), title, label, text, first: !anchor && !label,
        folded: [fold(title), fold(label), fold(text)] };
    });
  };
  const score = (entry, wanted) => {
    let sum = 0;
    for (const term of wanted) {
      const [title, label, text] = entry.folded.map((each) => match(each, term));
      const best = Math.max(8 * title * (entry.first ? 1 : 0.1), 6 * label, 2 * text);
      if (!best) return 0;
      sum += best;
    }
    return sum;
  };

  // A cut falls between words where there are blanks, and never inside a letter with its signs.
  const cut = (text, wanted) => {
    const at = Math.max(0, Math.min(wanted, text.length));
    if (at === 0 || at === text.length) return at;
    const blank = text.lastIndexOf(" ", at);
    if (blank >= 0 && at - blank <= 24) return blank + 1;
    let place = at;
    while (place > 0 && (/[\p{M}\u200d\udc00-\udfff]/u.test(text[place]) || text[place - 1] === "\u200d")) place -= 1;
    return place;
  };

  // The folded text, and for each of its places the letter of the text that it comes from: what is shown is what was written.
  const letters = window.Intl?.Segmenter ? new Intl.Segmenter(language, { granularity: "grapheme" }) : null;
  const trace = (text) => {
    const from = [];
    let low = "", index = 0;
    for (const letter of letters ? [...letters.segment(text)].map((each) => each.segment) : text) {
      const folded = fold(letter);
      for (let unit = 0; unit < folded.length; unit += 1) from.push(index);
      low += folded;
      index += letter.length;
    }
    from.push(index);
    return { low, from };
  };

  // A piece of the text around the first term, with the terms marked.
  const excerpt = (entry, wanted) => {
    const { text } = entry;
    const { low, from } = trace(text);
    const hits = [];
    for (let at = 0; at < low.length;) {
      const next = wanted.map((term) => [low.indexOf(term, at), term]).filter(([place]) => place >= 0).sort((a, b) => a[0] - b[0])[0];
      if (!next) break;
      at = next[0] + next[1].length;
      // A letter of which a part was found is marked as a whole.
      while (at < low.length && from[at] === from[at - 1]) at += 1;
      hits.push([from[next[0]], from[at]]);
    }
    const start = hits.length ? cut(text, hits[0][0] - 40) : 0;
    const end = cut(text, start + 140);
    const node = document.createElement("small");
    if (start) node.append("… ");
    let at = start;
    for (const [first, last] of hits.filter(([first, last]) => first >= start && last <= end)) {
      const mark = document.createElement("mark");
      mark.textContent = text.slice(first, last);
      node.append(text.slice(at, first), mark);
      at = last;
    }
    node.append(text.slice(at, end), end < text.length ? " …" : "");
    return node;
  };

  const show = () => {
    const wanted = terms(field.value);
    list.replaceChildren();
    form.classList.toggle("open", wanted.length > 0);
    status.textContent = "";
    if (!wanted.length || !entries) return;
    const hits = entries.map((entry, at) => ({ entry, at, value: score(entry, wanted) })).filter((hit) => hit.value > 0);
    hits.sort((a, b) => b.value - a.value || a.at - b.at);
    for (const { entry } of hits.slice(0, MOST)) {
      const link = document.createElement("a");
      link.href = entry.href;
      const name = document.createElement("b");
      name.textContent = entry.label ? `${entry.title} › ${entry.label}` : entry.title;
      link.append(name, excerpt(entry, wanted));
      const item = document.createElement("li");
      item.append(link);
      list.append(item);
    }
    status.textContent = hits.length ? found.replace("{count}", hits.length) : nothing;
  };

  let asked = false;
  const load = () => {
    if (asked) return;
    asked = true;
    const script = document.createElement("script");
    script.src = index;
    script.addEventListener("load", () => { prepare(); show(); });
    document.head.append(script);
  };

  field.addEventListener("focus", load);
  field.addEventListener("input", () => { load(); show(); });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    list.querySelector("a")?.click();
  });
  const close = () => form.classList.remove("open");
  form.addEventListener("focusout", (event) => { if (!form.contains(event.relatedTarget)) setTimeout(() => { if (!form.contains(document.activeElement)) close(); }, 150); });
  form.addEventListener("focusin", () => { if (field.value.trim()) form.classList.add("open"); });
  list.addEventListener("click", (event) => { if (event.target.closest("a")) close(); });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      field.focus();
    }
  });
  form.addEventListener("keydown", (event) => {
    const links = [...list.querySelectorAll("a")];
    const here = links.indexOf(document.activeElement);
    if (event.key === "ArrowDown" && links.length) { event.preventDefault(); links[Math.min(here + 1, links.length - 1)].focus(); }
    else if (event.key === "ArrowUp" && here >= 0) { event.preventDefault(); (here ? links[here - 1] : field).focus(); }
    else if (event.key === "Escape") { field.value = ""; show(); field.focus(); }
  });
})();
