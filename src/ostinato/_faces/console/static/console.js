// What pages do beyond forms and links. Every page works without it.
"use strict";

(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // A one-time link enters by itself where scripts run.
  all("form[data-send]").forEach((form) => form.submit());
  // Who comes back from the issuer goes on by itself.
  all("a[data-follow]").forEach((link) => location.replace(link.href));

  // The reader's zone, once; the page is drawn in it from then on.
  if (!/(?:^|; )ostinato-zone=/.test(document.cookie)) {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const secure = location.protocol === "https:" ? "; secure" : "";
    if (zone) document.cookie = `ostinato-zone=${zone}; path=/; max-age=31536000; samesite=strict${secure}`;
  }

  // The menu is closed on a narrow screen until it is asked for; so is a filter that is not in use.
  if (matchMedia("(max-width: 860px)").matches) {
    all("nav .menu, .fold:not([data-kept])").forEach((box) => { box.open = false; });
  }

  // Keys: "/" finds, and any [data-key] is pressed by its key. Not while somebody types.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(input|textarea|select)$/i.test(event.target.tagName) && event.key !== "Escape") return;
    if (event.key === "/") {
      const find = document.querySelector(".find input");
      if (find) { event.preventDefault(); find.focus(); }
      return;
    }
    if (event.key === "Escape") { document.activeElement.blur(); return; }
    const target = all("[data-key]").find((each) => each.dataset.key === event.key);
    if (target) { event.preventDefault(); target.click(); }
  });

  // A form that does something that cannot be undone asks once more.
  document.addEventListener("submit", (event) => {
    const asked = event.submitter?.dataset.sure ?? event.target.dataset.sure;
    if (asked && !confirm(asked)) event.preventDefault();
  });

  // A box that marks all rows of a table.
  all("input[data-marks]").forEach((box) => box.addEventListener("change", () => {
    all(`input[name="${box.dataset.marks}"]`).forEach((each) => { each.checked = box.checked; });
  }));

  // Where a button of the mouse or a finger is down: what is replaced under it is never clicked.
  let pressed = null;
  addEventListener("pointerdown", (event) => { pressed = event.target; }, true);
  ["pointerup", "pointercancel"].forEach((over) => addEventListener(over, () => setTimeout(() => { pressed = null; }), true));

  // Live parts: a region is loaded again every few seconds while somebody looks at it, and replaced
  // when it changed. Nobody's typing, selection, click, focus, place or open box is taken away.
  const typed = (field) => field.type !== "hidden"
    && (field.value !== field.defaultValue || field.checked !== field.defaultChecked);
  const busy = (part) => {
    const held = part.contains(document.activeElement)
      && /^(input|textarea|select|button)$/i.test(document.activeElement.tagName);
    const chosen = getSelection().containsNode(part, true) && !getSelection().isCollapsed;
    return held || chosen || part.contains(pressed) || all("input, textarea", part).some(typed);
  };
  // What a box is about: its own words, behind those that its row or its panel begins with.
  const named = (box) => [box.closest("tr, .item, .panel")?.querySelector("a, h2, b"), box.querySelector("summary")]
    .map((each) => each?.textContent).join(" ");
  const keep = (part, fresh) => {
    const open = new Map(all("details", part).map((box) => [named(box), box.open]));
    all("details", fresh).forEach((box) => { box.open = open.get(named(box)) ?? box.open; });
    if (fresh.innerHTML === part.innerHTML) return;
    const sign = (each) => `${each.tagName} ${each.getAttribute("href") ?? each.ariaLabel ?? each.textContent}`;
    const held = part.contains(document.activeElement) ? sign(document.activeElement) : null;
    const places = new Map(all(".scroll", part).map((each) => [each.ariaLabel, each.scrollLeft]));
    part.replaceChildren(...fresh.childNodes);
    all(".scroll", part).forEach((each) => { each.scrollLeft = places.get(each.ariaLabel) ?? 0; });
    if (held) all("a, summary, .scroll", part).find((each) => sign(each) === held)?.focus({ preventScroll: true });
  };
  const load = async () => {
    const answer = await fetch(location.href, { headers: { accept: "text/html" }, redirect: "error" });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  };
  // A page that cannot be loaded again says of when it is, until it can.
  const stale = document.getElementById("stale");
  const reload = async () => {
    const fresh = await load().catch(() => null);
    if (stale) stale.hidden = fresh !== null;
    if (!fresh) return;
    all("[data-live]").forEach((part) => {
      const other = fresh.getElementById(part.id);
      if (other && !busy(part)) keep(part, other);
    });
    const lines = new Map(all("nav .menu a", fresh).map((link) => [link.pathname, link]));
    all("nav .menu a").forEach((link) => {
      const now = lines.get(link.pathname);
      if (now && now.innerHTML !== link.innerHTML) link.replaceChildren(...now.childNodes);
    });
    const at = fresh.getElementById("stale-at");
    if (stale && at) document.getElementById("stale-at").textContent = at.textContent;
  };
  const every = Math.min(...all("[data-live]").map((part) => Number(part.dataset.live) || 5));
  const stream = document.querySelector("[data-stream]");
  if (Number.isFinite(every) && !stream) {
    const turn = async () => {
      if (!document.hidden) await reload();
      setTimeout(turn, every * 1000);
    };
    setTimeout(turn, every * 1000);
  }

  // The first page listens: the server sends what changed once a second to all open pages.
  if (stream && "EventSource" in window) {
    const state = document.getElementById("live-state");
    const clock = document.getElementById("live-at");
    const say = (live) => {
      if (!state) return;
      state.textContent = live ? state.dataset.on : state.dataset.off;
      state.className = live ? "" : "pill bad";
    };
    const hour = clock && new Intl.DateTimeFormat(root.lang === "fr" ? "fr-FR" : "en-GB", {
      timeZone: clock.dataset.zone, hour: "2-digit", minute: "2-digit", second: "2-digit",
    });
    const show = (event) => {
      const figures = JSON.parse(event.data);
      for (const [name, value] of Object.entries(figures[root.lang] ?? {})) {
        all(`[data-figure="${CSS.escape(name)}"]`).forEach((each) => {
          if (each.textContent !== value) each.textContent = value;
        });
      }
      for (const [name, path] of Object.entries(figures.paths ?? {})) {
        const line = document.getElementById(name);
        if (line) line.setAttribute("d", path);
      }
      if (hour && figures.at) clock.textContent = hour.format(new Date(figures.at));
      say(true);
    };
    // A browser asks again by itself where the connection broke, and never where it was refused.
    let source;
    const listen = () => {
      source = new EventSource(stream.dataset.stream);
      source.addEventListener("figures", show);
      source.addEventListener("changed", () => { reload(); });
      source.addEventListener("error", () => {
        say(false);
        if (source.readyState === EventSource.CLOSED) setTimeout(listen, 10000);
      });
    };
    listen();
    addEventListener("pagehide", () => source.close());
    addEventListener("pageshow", (event) => { if (event.persisted) { reload(); listen(); } });
  }
})();
