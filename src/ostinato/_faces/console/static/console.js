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

  // The menu is closed on a narrow screen until it is asked for.
  const menu = document.querySelector("nav .menu");
  if (menu && matchMedia("(max-width: 860px)").matches) menu.open = false;

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

  // Live parts: a region is loaded again every few seconds while somebody looks at it, and replaced
  // when it changed. Nobody's typing or selection is taken away.
  const busy = (part) => part.contains(document.activeElement) && document.activeElement !== part
    && /^(input|textarea|select|button|summary)$/i.test(document.activeElement.tagName);
  const reload = async () => {
    const answer = await fetch(location.href, { headers: { accept: "text/html" }, redirect: "error" });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    all("[data-live]").forEach((part) => {
      const other = fresh.getElementById(part.id);
      if (!other || busy(part) || getSelection().containsNode(part, true) && !getSelection().isCollapsed) return;
      if (other.innerHTML !== part.innerHTML) part.replaceChildren(...other.childNodes);
    });
  };
  const every = Math.min(...all("[data-live]").map((part) => Number(part.dataset.live) || 5));
  const stream = document.querySelector("[data-stream]");
  if (Number.isFinite(every) && !stream) {
    const turn = async () => {
      if (!document.hidden) await reload().catch(() => {});
      setTimeout(turn, every * 1000);
    };
    setTimeout(turn, every * 1000);
  }

  // The first page listens: the server sends what changed once a second to all open pages.
  if (stream && "EventSource" in window) {
    const source = new EventSource(stream.dataset.stream);
    const state = document.getElementById("live-state");
    const say = (text) => { if (state) state.textContent = text; };
    source.addEventListener("figures", (event) => {
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
      say(state?.dataset.on ?? "");
    });
    source.addEventListener("changed", () => { reload().catch(() => {}); });
    source.addEventListener("error", () => say(state?.dataset.off ?? ""));
    addEventListener("pagehide", () => source.close());
  }
})();
