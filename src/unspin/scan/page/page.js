"use strict";
// Draws the page from its data. Whatever comes from a log is put in as text (textContent, fillText), never as markup.
(() => {
  const $ = (id) => document.getElementById(id);
  const blocks = [...document.querySelectorAll('script[type="application/json"]')];
  const about = JSON.parse(blocks.find((each) => each.dataset.kind === "about").textContent);
  const raw = blocks.filter((each) => each.dataset.kind === "session");
  const read = [];
  const session = (at) => read[at] || (read[at] = prepared(JSON.parse(raw[at].textContent)));

  const WHO = { m: "you", w: "machine", e: "edit", c: "check", r: "run", v: "read", q: "asks you", g: "subagent", o: "other", k: "compaction", n: "turn", s: "unspin", l: "unspin" };
  const OUT = { p: "passed", f: "failed", u: "unknown", x: "refused", e: "error", ".": "" };
  const CALLS = "ecrvqgo";
  const FILTERS = [
    ["everything", () => true], ["lines of unspin", (k) => k === "s" || k === "l"], ["messages", (k) => k === "m" || k === "w"],
    ["edits", (k, o, edit) => edit], ["checks", (k) => k === "c" || k === "n"], ["what failed or was refused", (k, o) => o === "f" || o === "e" || o === "x"],
    ["compactions", (k) => k === "k"], ["subagents", (k, o, edit, sub) => sub],
  ];
  const BIG = 0.0005; // dollars below which a cost is not shown

  let now = null; // the session that is shown
  let from = 0, to = 1; // what is seen of it, in units of the axis
  let byTime = false, selected = -1, shown = [], dragging = null;

  // -- words ---------------------------------------------------------------------------

  const count = (n) => n.toLocaleString("en-US");
  const many = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;
  const tokens = (n) => n >= 9.995e8 ? `${(n / 1e9).toFixed(2)} bn` : n >= 999500 ? `${(n / 1e6).toFixed(n < 9.95e6 ? 2 : 1)} M` : n >= 9950 ? `${Math.round(n / 1e3)} k` : n >= 1000 ? `${(n / 1e3).toFixed(1)} k` : String(n);
  const dollars = (n) => `$${n < 0.01 && n > 0 ? n.toFixed(4) : n.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
  const clock = (s) => s < 0 ? "" : s < 3600 ? `${Math.floor(s / 60)}:${String(s % 60).padStart(2, "0")}` : `${Math.floor(s / 3600)}:${String(Math.floor(s / 60) % 60).padStart(2, "0")}:${String(s % 60).padStart(2, "0")}`;
  const span = (s) => s < 0 ? "" : s < 60 ? `${s} s` : s < 3600 ? `${Math.floor(s / 60)} min` : s < 36000 ? `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min` : s < 172800 ? `${(s / 3600).toFixed(1)} h` : `${(s / 86400).toFixed(1)} days`;
  const moment = (t) => /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(t) ? `${t.slice(0, 10)} ${t.slice(11, 16)}${t.endsWith("Z") ? " UTC" : ""}` : t;
  const base = (path) => path.split("/").filter(Boolean).pop() || "";
  const spent = (s, t, d) => [t ? `${tokens(t)} tokens` : "", s.priced && (t || d > BIG) ? dollars(d) : ""].filter(Boolean).join(", ");

  function element(name, properties, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(properties || {})) {
      if (key === "class") made.className = value;
      else if (key === "on") for (const [event, call] of Object.entries(value)) made.addEventListener(event, call);
      else made.setAttribute(key, value);
    }
    made.append(...children.filter((each) => each !== "" && each !== null)); // strings become text nodes
    return made;
  }

  // -- data ----------------------------------------------------------------------------

  function prepared(s) {
    const n = (s.n = s.kinds.length);
    s.at = new Float64Array(n); // seconds, never going back
    s.tokensAt = new Float64Array(n); s.dollarsAt = new Float64Array(n); s.contextAt = new Float64Array(n);
    s.isEdit = new Uint8Array(n); s.foundAt = new Map();
    let time = 0, used = 0, paid = 0, context = 0, next = 0;
    for (let i = 0; i < n; i++) {
      s.at[i] = time = Math.max(time, s.times[i]);
      s.tokensAt[i] = used += s.used_tokens[i];
      s.dollarsAt[i] = paid += s.used_dollars[i] / 1e6;
      if (s.contexts[next] === i) { context = s.contexts[next + 1]; next += 2; }
      s.contextAt[i] = context;
      s.isEdit[i] = s.kinds[i] === "e" ? 1 : 0;
    }
    for (const i of s.edit_rows) s.isEdit[i] = 1;
    s.timed = n > 0 && s.lasted > 0;
    s.priced = s.dollars > 0;
    s.peak = Math.max(1, ...largest(s.contextAt));
    s.lines = []; for (let i = 0; i < n; i++) if (s.kinds[i] === "s" || s.kinds[i] === "l") s.lines.push(i);
    let at = 0; // the lines are told in the order of what was noticed
    for (const i of s.lines) { if (at < s.found.length) { s.found[at].line = i; s.foundAt.set(i, s.found[at++]); } }
    return s;
  }
  function largest(values) { let most = 0; for (const each of values) if (each > most) most = each; return [most]; }
  const text = (i) => now.texts[now.labels[i]];

  // -- the index -----------------------------------------------------------------------

  function index() {
    if (raw.length < 2) return;
    $("index").hidden = false;
    const heads = [["session"], ["began", "l"], ["asked", "l"], ["noticed", "l"], ["calls"], ["tokens"], ["cost"]];
    $("sessions").append(element("thead", {}, element("tr", {}, ...heads.map(([word, at]) => element("th", { scope: "col", class: at || "" }, word)))));
    const body = element("tbody"), ids = raw.map((_, at) => session(at).id), unlike = new Set(ids).size;
    let shown = 8; // characters of an id: as many as tell all of them apart
    while (shown < 100 && new Set(ids.map((each) => each.slice(0, shown))).size < unlike) shown++;
    raw.forEach((_, at) => {
      const s = session(at), rules = new Map();
      for (const each of s.found) rules.set(each.rule, (rules.get(each.rule) || 0) + 1);
      body.append(element("tr", { on: { click: () => open(at, true) } },
        element("td", {}, element("button", { title: s.id }, s.id.slice(0, shown) || base(s.path))),
        element("td", { class: "l" }, moment(s.began).slice(0, 16)),
        element("td", { class: "l wide" }, (s.first || "").slice(0, 110) + ((s.first || "").length > 110 ? "…" : "")),
        element("td", { class: "l wide rules" }, [...rules].map(([rule, times]) => times > 1 ? `${rule} ×${times}` : rule).join(", ")),
        element("td", {}, count(s.calls)), element("td", {}, s.tokens ? tokens(s.tokens) : "–"), element("td", {}, s.priced ? dollars(s.dollars) : "–")));
    });
    $("sessions").append(body);
    if (about.left_out) {
      $("left-out").hidden = false;
      $("left-out").textContent = `${many(about.left_out, "older session")} in which something was noticed ${about.left_out === 1 ? "is" : "are"} left out.`;
    }
  }

  // -- one session ---------------------------------------------------------------------

  function open(at, move) {
    now = session(at);
    [...$("sessions").querySelectorAll("tbody tr")].forEach((row, other) => row.setAttribute("aria-current", String(other === at)));
    byTime = false; selected = -1;
    head(); legend(); found(); models(); filters();
    $("by-time").disabled = !now.timed;
    axis(false);
    list(true);
    if (move) { $("session").scrollIntoView(); $("session").focus({ preventScroll: true }); }
  }

  function head() {
    const s = now;
    document.title = `unspin report: ${base(s.project) || s.id.slice(0, 8) || base(s.path)}`;
    $("where").textContent = [s.agent || s.format, s.project, s.id].filter(Boolean).join("  ·  ");
    $("title").textContent = base(s.project) || s.id || base(s.path);
    $("asked").textContent = s.first ? `“${s.first}”` : "";
    const said = s.found.filter((each) => each.response === "nudge"), first = said[0] || s.found[0];
    const verdict = $("verdict");
    verdict.replaceChildren(); verdict.classList.toggle("spun", said.length > 0);
    if (!first) verdict.append("Nothing was noticed.");
    else {
      const lines = said.length ? `${many(said.length, "line")} of unspin${s.noticed > said.length ? `, ${count(s.noticed - said.length)} only logged` : ""}` : `${many(s.noticed, "thing")} noticed and only logged`;
      const when = first.time >= 0 && s.timed ? `, ${span(first.time)} in` : "";
      verdict.append(`${lines}, the first (${first.rule}) at event ${count(first.event)}${when}.`);
      const paid = s.priced ? `${dollars(s.dollars - first.dollars)} of ${dollars(s.dollars)}` : "";
      const after = [many(s.calls - first.calls, "tool call"), s.tokens ? `${tokens(s.tokens - first.tokens)} tokens` : "", paid].filter(Boolean).join(", ");
      verdict.append(element("span", { class: "more" }, `After it: ${after}.`));
    }
    const c = s.checks, all = c.passed + c.failed + c.unknown;
    const figures = [
      ["tool calls", count(s.calls), s.subagent_calls ? `${count(s.subagent_calls)} of subagents` : s.failed_calls ? `${count(s.failed_calls)} failed or refused` : ""],
      ["edits", count(s.edits), ""],
      ["checks", count(all), all ? [c.passed ? `${count(c.passed)} passed` : "", c.failed ? `${count(c.failed)} failed` : "", c.unknown ? `${count(c.unknown)} unknown` : ""].filter(Boolean).join(", ") : ""],
      ["your messages", count(s.messages), s.compactions ? many(s.compactions, "compaction") : ""],
      s.timed ? ["time", span(s.lasted), moment(s.began)] : null,
      s.peak > 1 ? ["largest context", tokens(s.peak), "tokens"] : null,
      s.tokens ? ["tokens used", tokens(s.tokens), ""] : null,
      s.tokens || s.priced ? ["cost", s.priced ? `${s.unpriced ? "≥ " : ""}${dollars(s.dollars)}` : "unknown", s.priced ? (s.tokens ? "list prices" : "as the log says") : "no price is known"] : null,
      s.how ? ["ended", s.how, ""] : null,
    ].filter(Boolean);
    $("figures").replaceChildren(...figures.map(([name, value, more]) => element("div", {}, element("dt", {}, name), element("dd", {}, value, more ? element("small", {}, more) : ""))));
    const notices = [];
    if (s.problems) notices.push(`${many(s.problems, "line")} of the file could not be read.`);
    if (s.entries > s.n) notices.push(`The timeline shows the first ${count(s.n)} of ${count(s.entries)} events; the figures are of all.`);
    if (s.noticed > s.found.length) notices.push(`The first ${count(s.found.length)} of ${count(s.noticed)} detections are shown.`);
    $("notice").hidden = !notices.length; $("notice").textContent = notices.join(" ");
  }

  function found() {
    const place = $("found"), s = now;
    place.replaceChildren();
    if (!s.found.length) { place.append(element("p", { class: "quiet" }, "Nothing: no rule of unspin fired in this session.")); return; }
    const rules = new Map();
    for (const each of s.found) rules.set(each.rule, (rules.get(each.rule) || 0) + 1);
    const cards = element("div"), more = element("button", { class: "more-button" }), buttons = [];
    let wanted = s.found, upTo = 0;
    const add = (n) => {
      cards.append(...wanted.slice(upTo, upTo + n).map(card));
      upTo = Math.min(wanted.length, upTo + n);
      more.hidden = upTo >= wanted.length;
      more.textContent = `Show ${count(Math.min(20, wanted.length - upTo))} more of ${count(wanted.length)}`;
    };
    const choose = (rule) => {
      wanted = rule ? s.found.filter((each) => each.rule === rule) : s.found;
      for (const each of buttons) each.setAttribute("aria-pressed", String(each.dataset.rule === rule));
      upTo = 0; cards.replaceChildren(); add(6);
    };
    more.addEventListener("click", () => add(20));
    if (rules.size > 1) {
      for (const [rule, times] of [["", s.found.length], ...rules]) buttons.push(element("button", { "data-rule": rule, "aria-pressed": "false", on: { click: () => choose(rule) } }, rule || "all", element("small", {}, ` ${count(times)}`)));
      place.append(element("div", { class: "chips", role: "group", "aria-label": "Rules" }, ...buttons));
    }
    place.append(cards, more); choose("");
  }

  function card(each) {
    const s = now, said = each.response === "nudge";
    const when = [each.time >= 0 && s.timed ? `${clock(each.time)} in` : "", spent(s, each.tokens, each.dollars)].filter(Boolean).join(" · ");
    const left = [many(s.calls - each.calls, "tool call"), spent(s, s.tokens - each.tokens, s.dollars - each.dollars)].filter(Boolean).join(", ");
    const go = (row, label) => row === undefined || row < 0 ? element("span", { class: "quiet" }, label) : element("button", { class: "ref", title: "Show in the timeline", on: { click: () => show(row, true) } }, label);
    return element("article", { class: said ? "card" : "card logged" },
      element("header", {}, element("h3", {}, each.rule), element("span", { class: "tag" }, said ? "said" : "only logged"),
        each.file ? element("span", { class: "quiet" }, each.file) : "",
        element("span", { class: "when" }, go(each.line, `event ${count(each.event)}`), when ? ` · ${when}` : "")),
      element("p", { class: "said" }, each.message),
      element("p", { class: "after" }, `After it: ${left}.`),
      element("ul", { class: "evidence", "aria-label": "Evidence" }, ...each.evidence.map((seen) => element("li", {}, go(seen.row, count(seen.event)), element("span", { class: "tool" }, seen.tool), element("code", {}, seen.excerpt)))));
  }

  function models() {
    const s = now, table = $("models");
    table.replaceChildren();
    $("cost").hidden = !s.models.length;
    if (!s.models.length) return;
    const heads = ["model", "messages", "input", "cache write", "cache read", "output", "cost"];
    const cells = (row) => [count(row.messages), count(row.input), count(row.cache_write), count(row.cache_read), count(row.output), row.unpriced ? "unknown" : dollars(row.dollars)];
    table.append(element("thead", {}, element("tr", {}, ...heads.map((word) => element("th", { scope: "col" }, word)))));
    table.append(element("tbody", {}, ...s.models.map((row) => element("tr", {}, element("td", {}, row.model || "?"), ...cells(row).map((cell) => element("td", {}, cell))))));
    if (s.models.length > 1) {
      const sum = { unpriced: 0 };
      for (const key of ["messages", "input", "cache_write", "cache_read", "output", "dollars"]) sum[key] = s.models.reduce((all, row) => all + row[key], 0);
      table.append(element("tfoot", {}, element("tr", {}, element("td", {}, "total"), ...cells(sum).map((cell) => element("td", {}, cell)))));
    }
    $("cost-note").textContent = `Tokens of all model messages, subagents included, at the makers' list prices${about.prices ? ` as of ${about.prices}` : ""}.${s.unpriced ? " A model without a known price is left out of the cost." : ""}`;
  }

  // -- the timeline --------------------------------------------------------------------

  const canvas = $("canvas"), pen = canvas.getContext("2d");
  let wide = 0, left = 0, right = 0, lanes = [], colours = {}, printing = false;

  function palette() {
    const style = getComputedStyle(document.documentElement);
    colours = {};
    for (const name of ["card", "ink", "ink-2", "ink-3", "rule", "rule-2", "passed", "failed", "unknown", "line", "area", "stroke", "edit", "call", "focus"]) colours[name] = style.getPropertyValue(`--${name}`).trim();
  }

  function layout() {
    wide = canvas.clientWidth || 600;
    const narrow = wide < 620;
    left = narrow ? 12 : 104; right = wide - (narrow ? 12 : 84);
    const s = now, head = narrow ? 15 : 0;
    const wanted = [["unspin", 30], ["you", 24], ["edits", 24], ["checks", 46], ["other calls", 24]];
    if (s.peak > 1) wanted.push(["context", 58]);
    if (s.tokens) wanted.push(["tokens used", 46]);
    if (s.priced) wanted.push(["cost", 46]);
    let y = 12;
    lanes = wanted.map(([name, high]) => { const lane = { name, top: y + head, high, label: y + 10 }; y += high + head + 8; return lane; });
    const high = y + 24, scale = Math.min(3, window.devicePixelRatio || 1);
    canvas.style.height = `${high}px`;
    canvas.width = Math.round(wide * scale); canvas.height = Math.round(high * scale);
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    return { high, narrow };
  }

  const lane = (name) => lanes.find((each) => each.name === name);
  const value = (i) => byTime ? now.at[i] : i;
  const end = () => Math.max(1, byTime ? now.lasted : now.n - 1);
  const x = (v) => left + 6 + ((v - from) / (to - from || 1)) * (right - left - 12);
  const unx = (px) => from + ((px - left - 6) / (right - left - 12)) * (to - from);

  function axis(time) {
    byTime = time && now.timed;
    $("by-event").setAttribute("aria-pressed", String(!byTime)); $("by-time").setAttribute("aria-pressed", String(byTime));
    from = 0; to = end();
    draw();
  }

  function firstFrom(v) { // the first entry at or after v
    let low = 0, high = now.n;
    while (low < high) { const mid = (low + high) >> 1; if (value(mid) < v) low = mid + 1; else high = mid; }
    return low;
  }

  function draw() {
    if (!now) return;
    const { high, narrow } = layout(), s = now;
    pen.clearRect(0, 0, wide, high);
    pen.font = "12px system-ui, sans-serif"; pen.textBaseline = "alphabetic";
    const a = Math.max(0, firstFrom(from) - 1), b = Math.min(s.n - 1, firstFrom(to) + 1);
    scale(high, narrow);
    for (const each of lanes) {
      pen.fillStyle = colours["ink-2"]; pen.textAlign = narrow ? "left" : "right";
      pen.fillText(each.name, narrow ? left : left - 14, narrow ? each.label : each.top + each.high / 2 + 4);
      pen.fillStyle = colours["rule-2"]; pen.fillRect(left, each.top + each.high + 3.5, right - left, 1);
    }
    curve("context", s.contextAt, a, b, 0, s.peak, [`${tokens(s.peak)} max`], true);
    const grown = (name, values, say) => { // what grows is shown from where it stands at the left edge
      const least = a > 0 ? values[a] : 0, most = Math.max(values[b] || 0, least);
      curve(name, values, a, b, least, most, a > 0 ? [say(most), say(least)] : [say(most)], false);
    };
    grown("tokens used", s.tokensAt, tokens);
    if (s.priced) grown("cost", s.dollarsAt, dollars);
    pen.save(); pen.beginPath(); pen.rect(left, 0, right - left, high); pen.clip();
    const cuts = [];
    for (let i = a; i <= b; i++) if (s.kinds[i] === "k") cuts.push(i);
    const place = lane("context") || lane("other calls"), dense = cuts.length > (right - left) / 24; // then a tick each
    for (const i of cuts) vertical(x(value(i)), dense ? { top: place.top, high: 3 } : place, colours["ink-2"], dense ? [] : [3, 3]);
    marks(a, b);
    pen.restore();
    if (dragging && Math.abs(dragging.at - dragging.from) > 4) {
      pen.globalAlpha = 0.14; pen.fillStyle = colours.focus; pen.fillRect(Math.min(dragging.from, dragging.at), 4, Math.abs(dragging.at - dragging.from), high - 28); pen.globalAlpha = 1;
    }
    if (selected >= 0 && value(selected) >= from && value(selected) <= to) {
      const at = x(value(selected));
      pen.fillStyle = colours.ink; pen.fillRect(at - 0.5, 4, 1, high - 30);
      pen.beginPath(); pen.moveTo(at - 5, 2); pen.lineTo(at + 5, 2); pen.lineTo(at, 8); pen.fill();
    }
    canvas.setAttribute("aria-label", `Timeline of ${many(s.n, "event")}: ${many(s.edits, "edit")}, ${many(s.checks.passed, "check")} passed, ${s.checks.failed} failed, ${many(s.lines.length, "line")} of unspin. The same stands in the list of events below.`);
    $("whole").disabled = from <= 0 && to >= end(); $("out").disabled = $("whole").disabled; $("in").disabled = to - from <= (byTime ? 10 : 12);
    $("before").disabled = $("after").disabled = !s.lines.length;
  }

  function vertical(at, from_, colour, dash) {
    pen.strokeStyle = colour; pen.lineWidth = 1; pen.setLineDash(dash || []); pen.beginPath(); pen.moveTo(Math.round(at) + 0.5, from_.top - 2); pen.lineTo(Math.round(at) + 0.5, from_.top + from_.high + 2); pen.stroke(); pen.setLineDash([]);
  }

  function scale(high, narrow) {
    const steps = byTime ? [1, 5, 15, 30, 60, 300, 600, 1800, 3600, 7200, 14400, 43200, 86400, 172800, 604800, 2592000] : [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000];
    const room = Math.max(2, Math.floor((right - left) / (narrow ? 80 : 110)));
    const step = steps.find((each) => (to - from) / each <= room) || steps[steps.length - 1];
    pen.textAlign = "center";
    for (let v = Math.ceil(from / step) * step; v <= to; v += step) {
      const at = Math.round(x(v)) + 0.5;
      pen.fillStyle = colours["rule-2"]; pen.fillRect(at - 0.5, 8, 1, high - 32);
      pen.fillStyle = colours["ink-3"];
      const label = byTime ? (step >= 86400 ? `${Math.round(v / 86400)} d` : clock(v)) : count(v);
      if (at > left + 8 && at < right - 8) pen.fillText(label, at, high - 9);
    }
    pen.textAlign = narrow ? "left" : "right"; pen.fillStyle = colours["ink-3"];
    if (!narrow) pen.fillText(byTime ? "time" : "event", left - 14, high - 9);
  }

  function curve(name, values, a, b, least, most, labels, area) {
    const to_ = lane(name);
    if (!to_) return;
    const bottom = to_.top + to_.high, y = (v) => bottom - ((v - least) / (most - least || 1)) * (to_.high - 4);
    pen.save(); pen.beginPath(); pen.rect(left, to_.top - 2, right - left, to_.high + 5); pen.clip();
    pen.beginPath();
    let last = null, lastPx = -1;
    for (let i = a; i <= b; i++) { // a step for each pixel is enough
      const at = x(value(i));
      if (last === null) pen.moveTo(at, y(values[i]));
      else if (Math.round(at) !== lastPx || i === b) { pen.lineTo(at, y(last)); pen.lineTo(at, y(values[i])); lastPx = Math.round(at); }
      last = values[i];
    }
    pen.strokeStyle = colours.stroke; pen.lineWidth = 1.5; pen.lineJoin = "round"; pen.stroke();
    pen.lineTo(x(value(b)), bottom); pen.lineTo(x(value(a)), bottom); pen.closePath();
    pen.fillStyle = colours.area; pen.globalAlpha = area ? 1 : 0.45; pen.fill(); pen.globalAlpha = 1;
    pen.restore();
    pen.fillStyle = colours["ink-2"];
    if (left < 60) { pen.textAlign = "right"; pen.fillText(labels.reverse().join(" – "), right, to_.label); return; }
    pen.textAlign = "left"; pen.fillText(labels[0], right + 8, to_.top + 10);
    if (labels.length > 1) { pen.fillStyle = colours["ink-3"]; pen.fillText(labels[1], right + 8, bottom - 3); }
  }

  function marks(a, b) {
    const s = now, room = right - left;
    const groups = { unspin: [], you: [], edits: [], checks: [], "other calls": [] };
    for (let i = a; i <= b; i++) {
      const k = s.kinds[i];
      if (k === "m" || k === "w") groups.you.push(i);
      else if (k === "s" || k === "l") groups.unspin.push(i);
      if (s.isEdit[i]) groups.edits.push(i);
      if (k === "c" || (k === "n" && s.outcomes[i] !== ".")) groups.checks.push(i);
      else if (CALLS.includes(k) && !s.isEdit[i]) groups["other calls"].push(i);
    }
    const lines = groups.unspin, many_ = lines.length > Math.max(24, room / 12), bottom = lanes[lanes.length - 1];
    if (lines.length <= 40) for (const i of lines) if (s.kinds[i] === "s") { // through all lanes, as long as there are few
      pen.fillStyle = colours.line; pen.globalAlpha = 0.55; pen.fillRect(Math.round(x(value(i))), lanes[0].top + 12, 1, bottom.top + bottom.high - lanes[0].top - 10); pen.globalAlpha = 1;
    }
    bars(lane("other calls"), groups["other calls"], () => colours.call, room / 3);
    bars(lane("edits"), groups.edits, (i) => s.outcomes[i] === "x" ? colours.failed : colours.edit, room / 3);
    checks(groups.checks, room / 7);
    for (const i of groups.you) mark(x(value(i)), lane("you").top + 12, s.kinds[i]);
    if (many_) bars(lane("unspin"), lines, () => colours.line, 0);
    else for (const i of lines) mark(x(value(i)), lane("unspin").top + 14, s.kinds[i]);
  }

  function bars(to_, rows, colour, room) {
    const mid = to_.top + to_.high / 2;
    if (rows.length <= room) {
      for (const i of rows) {
        pen.fillStyle = colour(i);
        const at = x(value(i));
        if (now.outcomes[i] === "x") { pen.strokeStyle = colour(i); pen.lineWidth = 1.25; pen.strokeRect(at - 2.5, mid - 4.5, 5, 9); } else pen.fillRect(at - 1, mid - 7, 2, 14);
      }
      return;
    }
    const bins = new Map(); let most = 1;
    for (const i of rows) { const bin = Math.floor(x(value(i)) / 3); const n = (bins.get(bin) || 0) + 1; bins.set(bin, n); most = Math.max(most, n); }
    pen.fillStyle = colour(-1);
    for (const [bin, n] of bins) { const high = Math.max(2, (n / most) * to_.high); pen.fillRect(bin * 3, to_.top + to_.high - high + 1, 2.4, high); }
  }

  function checks(rows, room) {
    const to_ = lane("checks"), mid = to_.top + to_.high / 2, s = now;
    if (rows.length <= room) {
      for (const i of rows) { const o = s.outcomes[i]; mark(x(value(i)), o === "p" ? mid - 13 : o === "f" ? mid + 13 : mid, o === "p" ? "p" : o === "f" ? "f" : "u"); }
      return;
    }
    const bins = new Map(); let most = 1;
    for (const i of rows) {
      const bin = Math.floor(x(value(i)) / 4), row = bins.get(bin) || { p: 0, f: 0, u: 0 };
      row[s.outcomes[i] === "p" || s.outcomes[i] === "f" ? s.outcomes[i] : "u"]++; bins.set(bin, row);
      most = Math.max(most, row.p, row.f);
    }
    pen.fillStyle = colours.rule; pen.fillRect(left, mid - 0.5, right - left, 1);
    for (const [bin, row] of bins) { // passed upwards, failed downwards
      const high = (n) => Math.max(2, (n / most) * (to_.high / 2 - 3));
      if (row.p) { pen.fillStyle = colours.passed; pen.fillRect(bin * 4, mid - 2 - high(row.p), 3, high(row.p)); }
      if (row.f) { pen.fillStyle = colours.failed; pen.fillRect(bin * 4, mid + 2, 3, high(row.f)); }
      if (row.u) { pen.fillStyle = colours.unknown; pen.fillRect(bin * 4, mid - 1.5, 3, 3); }
    }
  }

  function mark(at, y, kind, to_) { // each kind has a shape of its own besides its colour
    const p = to_ || pen;
    p.lineWidth = 1.75; p.lineCap = "round"; p.beginPath();
    if (kind === "p") { p.fillStyle = colours.passed; p.arc(at, y, 3.75, 0, 7); p.fill(); }
    else if (kind === "f") { p.strokeStyle = colours.failed; p.moveTo(at - 3.25, y - 3.25); p.lineTo(at + 3.25, y + 3.25); p.moveTo(at + 3.25, y - 3.25); p.lineTo(at - 3.25, y + 3.25); p.stroke(); }
    else if (kind === "u") { p.strokeStyle = colours.unknown; p.lineWidth = 1.25; p.arc(at, y, 3, 0, 7); p.stroke(); }
    else if (kind === "m" || kind === "w") { p.moveTo(at, y - 5); p.lineTo(at + 5, y); p.lineTo(at, y + 5); p.lineTo(at - 5, y); p.closePath(); if (kind === "m") { p.fillStyle = colours.ink; p.fill(); } else { p.strokeStyle = colours["ink-3"]; p.lineWidth = 1.25; p.stroke(); } }
    else if (kind === "s" || kind === "l") { p.moveTo(at - 6, y - 8); p.lineTo(at + 6, y - 8); p.lineTo(at, y + 3); p.closePath(); if (kind === "s") { p.fillStyle = colours.line; p.fill(); } else { p.fillStyle = colours.card; p.fill(); p.strokeStyle = colours.line; p.lineWidth = 1.25; p.stroke(); } }
    else if (kind === "e") { p.fillStyle = colours.edit; p.fillRect(at - 1, y - 6, 2, 12); }
    else if (kind === "x") { p.strokeStyle = colours.failed; p.lineWidth = 1.25; p.strokeRect(at - 2.5, y - 4.5, 5, 9); }
    else if (kind === "k") { p.strokeStyle = colours["ink-2"]; p.lineWidth = 1; p.setLineDash([3, 3]); p.moveTo(at + 0.5, y - 7); p.lineTo(at + 0.5, y + 7); p.stroke(); p.setLineDash([]); }
    p.lineCap = "butt";
  }

  function legend() {
    palette();
    const s = now, has = (test) => { for (let i = 0; i < s.n; i++) if (test(i)) return true; return false; };
    const entries = [
      ["s", "line of unspin", has((i) => s.kinds[i] === "s")], ["l", "noticed, only logged", has((i) => s.kinds[i] === "l")], ["m", "you", s.messages > 0],
      ["w", "machine-made message", has((i) => s.kinds[i] === "w")], ["e", "edit", s.edits > 0], ["x", "refused edit", has((i) => s.kinds[i] === "e" && s.outcomes[i] === "x")],
      ["p", "check passed", has((i) => s.outcomes[i] === "p")], ["f", "check failed", has((i) => s.outcomes[i] === "f")], ["u", "outcome unknown", has((i) => s.outcomes[i] === "u")], ["k", "compaction", s.compactions > 0],
    ].filter((each) => each[2]);
    $("legend").replaceChildren(...entries.map(([kind, label]) => {
      const small = element("canvas", { width: 32, height: 32, "aria-hidden": "true" }), p = small.getContext("2d");
      p.scale(2, 2); mark(8, kind === "s" || kind === "l" ? 10.5 : 8, kind, p);
      return element("li", {}, small, label);
    }));
  }

  // -- looking around ------------------------------------------------------------------

  function zoom(factor, around) {
    const least = byTime ? 10 : Math.min(12, end()), middle = around === undefined ? (selected >= 0 && value(selected) >= from && value(selected) <= to ? value(selected) : (from + to) / 2) : around;
    const size = Math.min(end(), Math.max(least, (to - from) * factor)), share = (middle - from) / (to - from || 1);
    from = Math.max(0, Math.min(end() - size, middle - share * size)); to = from + size;
    draw();
  }

  function show(i, scroll) { // select an entry, and bring it into view
    if (i < 0 || i >= now.n) return;
    selected = i;
    const v = value(i);
    if (v < from || v > to) { const size = to - from; from = Math.max(0, Math.min(end() - size, v - size / 2)); to = from + size; }
    draw();
    let at = shown.indexOf(i);
    if (at < 0) { $("filter").value = "0"; $("find").value = ""; list(false); at = shown.indexOf(i); }
    const view = $("list"), high = rowHigh();
    if (at * high < view.scrollTop || (at + 1) * high > view.scrollTop + view.clientHeight) view.scrollTop = Math.max(0, at * high - view.clientHeight / 2);
    rows(); details();
    if (scroll) $("timeline").scrollIntoView({ block: "start" });
  }

  function nearest(px, py) {
    const v = unx(px), a = Math.max(0, firstFrom(unx(px - 8)) - 1), b = Math.min(now.n - 1, firstFrom(unx(px + 8)) + 1);
    const at = lanes.find((each) => py >= each.top - 6 && py <= each.top + each.high + 6);
    const fits = (i) => {
      const k = now.kinds[i];
      if (!at) return true;
      if (at.name === "unspin") return k === "s" || k === "l";
      if (at.name === "you") return k === "m" || k === "w";
      if (at.name === "edits") return now.isEdit[i];
      if (at.name === "checks") return k === "c" || k === "n";
      if (at.name === "other calls") return CALLS.includes(k) && !now.isEdit[i] && k !== "c";
      return true;
    };
    let best = -1, far = Infinity, any = -1, anyFar = Infinity;
    for (let i = a; i <= b; i++) {
      const off = Math.abs(value(i) - v);
      if (off < anyFar) { anyFar = off; any = i; }
      if (fits(i) && off < far) { far = off; best = i; }
    }
    return best >= 0 ? best : any;
  }

  function tip(px, py) {
    const place = $("tip"), i = nearest(px, py);
    if (i < 0 || px < left || px > right) { place.hidden = true; return; }
    const parts = [now.indices[i] >= 0 ? `event ${count(now.indices[i])}` : "", now.timed ? clock(now.at[i]) : "", now.contextAt[i] ? `context ${tokens(now.contextAt[i])}` : "", now.priced ? dollars(now.dollarsAt[i]) : ""].filter(Boolean).join(" · ");
    place.replaceChildren(element("b", {}, `${WHO[now.kinds[i]]}${OUT[now.outcomes[i]] ? `, ${OUT[now.outcomes[i]]}` : ""}: `), text(i).slice(0, 160), now.details[i] ? element("span", {}, now.details[i].slice(0, 160)) : "", element("span", {}, parts));
    place.hidden = false;
    const room = $("chart").clientWidth, size = place.offsetWidth;
    place.style.left = `${Math.max(4, Math.min(room - size - 4, px + 14 + size > room ? px - size - 14 : px + 14))}px`;
    place.style.top = `${Math.max(4, py + 16)}px`;
  }

  function pointer() {
    const at = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    canvas.addEventListener("pointerdown", (event) => { const [px] = at(event); if (event.button === 0 && event.pointerType !== "touch") { dragging = { from: px, at: px }; canvas.setPointerCapture(event.pointerId); } });
    canvas.addEventListener("pointermove", (event) => { const [px, py] = at(event); if (dragging) { dragging.at = Math.max(left, Math.min(right, px)); $("tip").hidden = true; draw(); } else tip(px, py); });
    canvas.addEventListener("pointerleave", () => { $("tip").hidden = true; });
    canvas.addEventListener("pointerup", (event) => {
      const [px, py] = at(event), drag = dragging;
      dragging = null;
      if (drag && Math.abs(drag.at - drag.from) > 4) {
        const a = unx(Math.min(drag.at, drag.from)), b = unx(Math.max(drag.at, drag.from)), least = byTime ? 10 : Math.min(12, end()), middle = (a + b) / 2;
        from = Math.max(0, b - a < least ? middle - least / 2 : a); to = Math.min(end(), Math.max(from + least, b)); draw();
      } else if (px >= left && px <= right) show(nearest(px, py), false);
    });
    canvas.addEventListener("pointercancel", () => { dragging = null; draw(); });
    canvas.addEventListener("dblclick", () => { from = 0; to = end(); draw(); });
    canvas.addEventListener("wheel", (event) => { if (!event.ctrlKey && !event.metaKey) return; event.preventDefault(); zoom(event.deltaY > 0 ? 1.25 : 0.8, unx(at(event)[0])); }, { passive: false });
  }

  function jump(step) { // to the line of unspin before or after
    const lines = now.lines;
    if (!lines.length) return;
    const next = step > 0 ? lines.find((i) => i > selected) : [...lines].reverse().find((i) => i < (selected < 0 ? now.n : selected));
    show(next === undefined ? (step > 0 ? lines[0] : lines[lines.length - 1]) : next, false);
  }

  const KEYS = {
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: () => { from = 0; to = end(); draw(); }, n: () => jump(1), p: () => jump(-1),
  };
  function keys(event, vertical_) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = shown.indexOf(selected), page = Math.max(1, Math.floor($("list").clientHeight / rowHigh()) - 1);
    const to_ = (place) => show(shown[Math.max(0, Math.min(shown.length - 1, place))], false);
    const moves = { ArrowRight: () => to_(at + 1), ArrowLeft: () => to_(Math.max(0, at - 1)), Home: () => to_(0), End: () => to_(shown.length - 1) };
    if (vertical_) Object.assign(moves, { ArrowDown: moves.ArrowRight, ArrowUp: moves.ArrowLeft, PageDown: () => to_(at + page), PageUp: () => to_(at - page) });
    const call = moves[event.key] || KEYS[event.key];
    if (call && shown.length) { event.preventDefault(); call(); }
  }

  // -- the list ------------------------------------------------------------------------

  const rowHigh = () => window.matchMedia("(max-width: 720px)").matches ? 48 : 30;

  function filters() {
    const s = now, options = [];
    FILTERS.forEach(([label, test], at) => {
      let n = 0;
      for (let i = 0; i < s.n; i++) if (test(s.kinds[i], s.outcomes[i], s.isEdit[i], i in s.agents)) n++;
      if (n || !at) options.push(element("option", { value: String(at) }, at ? `${label} (${count(n)})` : label));
    });
    $("filter").replaceChildren(...options); $("find").value = "";
  }

  function list(fresh) {
    const s = now, test = FILTERS[Number($("filter").value) || 0][1], wanted = $("find").value.trim().toLowerCase();
    const hits = wanted ? s.texts.map((each) => each.toLowerCase().includes(wanted)) : null;
    shown = [];
    for (let i = 0; i < s.n; i++) if (test(s.kinds[i], s.outcomes[i], s.isEdit[i], i in s.agents) && (!hits || hits[s.labels[i]] || (s.details[i] || "").toLowerCase().includes(wanted))) shown.push(i);
    $("count").textContent = shown.length === s.n ? many(s.n, "event") : `${count(shown.length)} of ${many(s.n, "event")}`;
    $("space").style.height = `${shown.length * rowHigh()}px`;
    $("list").classList.toggle("short", shown.length * rowHigh() < 420);
    if (fresh) { $("list").scrollTop = 0; details(); }
    rows();
  }

  function rows() { // only those that are seen are in the page
    const view = $("list"), high = rowHigh(), s = now;
    const first = Math.max(0, Math.floor(view.scrollTop / high) - 6), last = Math.min(shown.length, Math.ceil((view.scrollTop + (view.clientHeight || 560)) / high) + 6);
    const made = [];
    for (let at = first; at < last; at++) {
      const i = shown[at], k = s.kinds[i], o = s.outcomes[i];
      const sub = s.agents[i], out = o === "." ? "" : o === "x" || (o === "u" && s.details[i]) ? s.details[i] : o === "f" || o === "e" ? `${OUT[o]}${s.details[i] ? `: ${s.details[i]}` : ""}` : OUT[o];
      const each = element("div", { class: `row ${k}${i === selected ? " on" : ""}${sub ? " sub" : ""}`, id: `row-${i}`, role: "option", "aria-selected": String(i === selected), "aria-setsize": String(shown.length), "aria-posinset": String(at + 1), on: { click: () => show(i, false) } },
        element("span", { class: "n" }, s.indices[i] >= 0 ? count(s.indices[i]) : " "), element("span", { class: "t" }, s.timed ? clock(s.at[i]) : ""),
        element("span", { class: "who" }, sub && k !== "g" ? `${WHO[k]} (sub)` : WHO[k]), element("span", { class: "what" }, text(i)), element("span", { class: `out ${o === "." ? "" : o}` }, out),
        element("span", { class: "c" }, s.contextAt[i] ? tokens(s.contextAt[i]) : ""), element("span", { class: "d" }, s.priced && s.dollarsAt[i] > BIG ? dollars(s.dollarsAt[i]) : ""));
      each.style.top = `${at * high}px`;
      made.push(each);
    }
    $("space").replaceChildren(...made);
    if (selected >= 0 && $(`row-${selected}`)) view.setAttribute("aria-activedescendant", `row-${selected}`); else view.removeAttribute("aria-activedescendant");
  }

  function details() {
    const place = $("detail"), s = now, i = selected;
    place.replaceChildren();
    if (i < 0) { place.append("Choose an event to see all of it."); return; }
    const parts = [s.indices[i] >= 0 ? `event ${count(s.indices[i])}` : "", s.timed ? `${clock(s.at[i])} in` : "", s.agents[i] ? `subagent ${s.agents[i]}` : "", OUT[s.outcomes[i]], s.contextAt[i] ? `context ${count(s.contextAt[i])} tokens` : "", s.tokensAt[i] || s.dollarsAt[i] > BIG ? `so far ${spent(s, s.tokensAt[i], s.dollarsAt[i])}` : ""].filter(Boolean).join(" · ");
    place.append(element("code", {}, text(i)), s.details[i] ? element("code", {}, s.details[i]) : "", parts);
  }

  // -- begin ---------------------------------------------------------------------------

  $("made").textContent = `made ${about.made} by unspin ${about.version}`;
  $("foot").textContent = "One file, complete in itself: it loads nothing and sends nothing. It holds excerpts of messages, commands and errors; what looks like a secret is taken out.";
  $("by-event").addEventListener("click", () => axis(false)); $("by-time").addEventListener("click", () => axis(true));
  $("in").addEventListener("click", () => zoom(0.5)); $("out").addEventListener("click", () => zoom(2)); $("whole").addEventListener("click", () => { from = 0; to = end(); draw(); });
  $("before").addEventListener("click", () => jump(-1)); $("after").addEventListener("click", () => jump(1));
  canvas.addEventListener("keydown", (event) => keys(event, false)); $("list").addEventListener("keydown", (event) => keys(event, true));
  $("list").addEventListener("scroll", () => requestAnimationFrame(rows), { passive: true });
  $("filter").addEventListener("change", () => list(true)); $("find").addEventListener("input", () => list(true));
  pointer();
  let waiting = 0;
  window.addEventListener("resize", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(() => { draw(); list(false); }); });
  const again = () => { palette(); legend(); draw(); };
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  window.matchMedia("print").addEventListener("change", again);
  index();
  if (raw.length) open(0, false);
  document.documentElement.dataset.ready = "true";
})();
