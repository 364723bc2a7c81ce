// Live updates, sorting, filtering, keyboard navigation and the theme. Every page also works without this file.
"use strict";

(() => {
  const root = document.documentElement;

  // Theme: the system's, until the user chooses.
  const stored = localStorage.getItem("assay-theme");
  if (stored === "dark" || stored === "light") root.dataset.theme = stored;
  document.getElementById("theme").addEventListener("click", () => {
    const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    root.dataset.theme = (root.dataset.theme || system) === "dark" ? "light" : "dark";
    localStorage.setItem("assay-theme", root.dataset.theme);
  });

  // Filter rows by words, which are kept in the address.
  const filter = document.getElementById("filter");
  if (filter) filter.value = new URLSearchParams(location.search).get("find") || "";
  const applyFilter = () => {
    const words = filter ? filter.value.toLowerCase().split(/\s+/).filter(Boolean) : [];
    for (const row of document.querySelectorAll("[data-filter]")) {
      const text = row.dataset.filter.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  };
  if (filter) {
    filter.addEventListener("input", () => {
      const address = new URL(location.href);
      if (filter.value) address.searchParams.set("find", filter.value);
      else address.searchParams.delete("find");
      history.replaceState(null, "", address);
      applyFilter();
    });
    applyFilter();
    filter.addEventListener("keydown", (event) => {
      if (event.key === "Enter") event.preventDefault(); // it would submit the form around it
    });
  }

  // Forms that apply a choice at once.
  for (const form of document.querySelectorAll("form[data-submit-on-change]")) {
    form.querySelector("button[type=submit]")?.classList.add("hidden");
    form.addEventListener("change", (event) => {
      if (event.target.name && event.target !== filter) form.requestSubmit();
    });
  }

  // Sort tables by a column: buttons in the header.
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    const text = cell.dataset.value !== undefined ? cell.dataset.value : cell.textContent.trim();
    const number = Number(text);
    return text !== "" && !Number.isNaN(number) ? number : text.toLowerCase();
  };
  const sortBody = (table) => {
    const column = Number(table.dataset.column);
    if (Number.isNaN(column) || table.dataset.column === undefined) return;
    const sign = table.dataset.order === "descending" ? -1 : 1;
    const compare = (one, other) => {
      const [a, b] = [valueOf(one, column), valueOf(other, column)];
      if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
      return sign * (a < b ? -1 : a > b ? 1 : 0);
    };
    for (const body of table.tBodies) body.append(...[...body.rows].sort(compare));
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((cell, column) => {
      if (cell.classList.contains("plain")) return;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = cell.textContent;
      cell.replaceChildren(button);
      button.addEventListener("click", () => {
        const descending = table.dataset.column === String(column) && table.dataset.order === "descending";
        table.dataset.column = String(column);
        table.dataset.order = descending ? "ascending" : "descending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        cell.setAttribute("aria-sort", table.dataset.order);
        sortBody(table);
      });
    });
  }

  // Say so where a table is wider than its box.
  const markCut = () => {
    for (const box of document.querySelectorAll(".scroll")) {
      const cut = box.scrollWidth > box.clientWidth + 2;
      const cue = box.previousElementSibling?.classList.contains("cue") ? box.previousElementSibling : null;
      if (cut && !cue) {
        const words = document.createElement("span");
        words.className = "cue";
        words.textContent = box.querySelector("table") ? "more columns →" : "more →";
        box.before(words);
      } else if (!cut && cue) cue.remove();
    }
  };
  markCut();
  addEventListener("resize", markCut);

  // Words of marks and cells appear at once, beside the pointer, instead of after a second.
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  document.body.append(tip);
  let restore = null;
  const wordsOf = (element) => {
    const title = element.querySelector?.(":scope > title");
    if (title) {
      title.remove();
      return [title.textContent, () => element.append(title)];
    }
    const named = element.closest?.("[title]");
    if (!named?.title) return [];
    const words = named.title;
    named.removeAttribute("title");
    return [words, () => named.setAttribute("title", words)];
  };
  const hideTip = () => {
    restore?.();
    restore = null;
    tip.hidden = true;
  };
  const moveTip = (x, y) => {
    const right = Math.min(x + 14, innerWidth - tip.offsetWidth - 8);
    const below = y + 18 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 10 : y + 18;
    tip.style.translate = `${Math.max(right, 8)}px ${Math.max(below, 8)}px`;
  };
  const showTip = (element, x, y) => {
    hideTip();
    const [words, undo] = wordsOf(element);
    if (!words) return;
    restore = undo;
    tip.textContent = words;
    tip.hidden = false;
    moveTip(x, y);
  };
  addEventListener("pointerover", (event) => showTip(event.target, event.clientX, event.clientY));
  addEventListener("pointermove", (event) => tip.hidden || moveTip(event.clientX, event.clientY));
  addEventListener("focusin", (event) => {
    const box = event.target.getBoundingClientRect();
    if (event.target.matches(":focus-visible")) showTip(event.target, box.left, box.bottom - 8);
  });
  addEventListener("focusout", hideTip);
  addEventListener("scroll", hideTip, { capture: true, passive: true });
  document.documentElement.addEventListener("pointerleave", hideTip);

  // Live: fetch the page again when the server says that something changed, and replace only what differs.
  const openIn = (element) => [...element.querySelectorAll("details[open][id]")].map((one) => one.id);
  const replace = (old, fresh) => {
    if (old.isEqualNode(fresh)) return;
    const opened = openIn(old);
    // What lists the present may become shorter, but nothing below it moves up.
    if (old.dataset.live === "running") fresh.style.minHeight = `${old.offsetHeight}px`;
    old.replaceWith(fresh);
    for (const id of opened) {
      const details = document.getElementById(id);
      if (details) details.open = true;
    }
  };
  const update = (page) => {
    const current = document.querySelector(".entry.current")?.id;
    const focused = document.activeElement?.id;
    for (const old of document.querySelectorAll("[data-live]")) {
      const fresh = page.getElementById(old.id);
      if (!fresh) continue;
      if (old.dataset.live !== "rows") {
        replace(old, document.adoptNode(fresh));
        continue;
      }
      const known = new Map([...old.children].map((child) => [child.id, child]));
      for (const child of [...fresh.children]) {
        if (known.has(child.id)) replace(known.get(child.id), document.adoptNode(child));
        else old.append(document.adoptNode(child));
      }
    }
    if (current) document.getElementById(current)?.classList.add("current");
    if (focused && document.activeElement?.id !== focused) document.getElementById(focused)?.focus({ preventScroll: true });
    document.querySelectorAll("table.sortable").forEach(sortBody);
    applyFilter();
    markCut();
  };
  const address = document.body.dataset.updates;
  const live = document.getElementById("live");
  const showLive = () => (live.textContent = document.querySelector("[data-running]") ? "Live" : "");
  if (address) {
    const source = new EventSource(address);
    let version = document.body.dataset.version;
    let busy = false;
    let again = false;
    const refresh = async () => {
      if (busy) {
        again = true;
        return;
      }
      busy = true;
      try {
        const answer = await fetch(location.pathname + location.search);
        if (answer.ok) update(new DOMParser().parseFromString(await answer.text(), "text/html"));
        showLive();
      } catch {
        live.textContent = "Not connected";
      }
      busy = false;
      if (again) {
        again = false;
        refresh();
      }
    };
    source.addEventListener("message", (message) => {
      showLive();
      if (version !== message.data) refresh();
      version = message.data;
    });
    source.addEventListener("error", () => {
      live.textContent = "Not connected";
    });
    addEventListener("pagehide", () => source.close());
  }

  // Keyboard: j and k move between entries, n to the next problem, o opens and closes what the entry folds.
  const openAround = (element) => {
    for (let one = element.parentElement; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
  };
  const go = (entry) => {
    openAround(entry);
    history.replaceState(null, "", `#${entry.id}`);
    document.querySelectorAll(".entry.current").forEach((one) => one.classList.remove("current"));
    entry.classList.add("current");
    entry.focus({ preventScroll: true });
    entry.scrollIntoView({ block: "start" });
  };
  const isShown = (entry) => entry.getClientRects().length > 0;
  const move = (step, selector) => {
    const entries = [...document.querySelectorAll(selector)].filter((one) => selector !== ".entry" || isShown(one));
    if (!entries.length) return;
    const current = document.querySelector(".entry.current");
    if (!current) return go(entries[step > 0 ? 0 : entries.length - 1]);
    const after = entries.filter((one) => {
      const place = current.compareDocumentPosition(one);
      return place & (step > 0 ? Node.DOCUMENT_POSITION_FOLLOWING : Node.DOCUMENT_POSITION_PRECEDING);
    });
    const next = step > 0 ? after[0] : after[after.length - 1];
    if (next) go(next);
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    if (!document.querySelector(".entry")) return;
    if (event.key === "j") move(1, ".entry");
    else if (event.key === "k") move(-1, ".entry");
    else if (event.key === "n") move(1, ".entry.wrong");
    else if (event.key === "o") {
      const folds = document.querySelectorAll(".entry.current > details");
      const open = [...folds].some((one) => !one.open);
      folds.forEach((one) => (one.open = open));
    } else return;
    event.preventDefault();
  });
  const followHash = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    const entry = target.closest(".entry");
    if (entry) go(entry);
    else {
      openAround(target);
      target.querySelectorAll("details.fold").forEach((one) => (one.open = true));
      target.scrollIntoView();
    }
  };
  addEventListener("hashchange", followHash);
  followHash();
})();
