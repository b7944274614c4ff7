const root = element.firstElementChild;
let view = null;          // the last full message
let busy = false;         // a message is on its way to the store
let pending = null;       // {text, key}: sent, not confirmed
let tries = 0;            // how often it was sent again unasked
let partial = "";
let heard = Date.now();   // when the server last said something
let watch_timer = null, clock_timer = null, channel = null;
const ui = {};

const make = (tag, attrs = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children) if (child !== null && child !== undefined) node.append(child);   // strings become text nodes
  return node;
};
const words = (key, slots = {}) => (view.texts[key] || key).replace(/\{(\w+)\}/g, (_, name) => slots[name] ?? "");
const draft_key = () => "sf_draft_" + view.id;
const pending_key = () => "sf_pending_" + view.id;   // survives a reload: sent again, it keeps its key and cannot double
const store = (key, value) => { try { value === null ? localStorage.removeItem(key) : localStorage.setItem(key, value); } catch (_) { /* private window */ } };
const stored = key => { try { return localStorage.getItem(key); } catch (_) { return null; } };
const random_key = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), b => b.toString(16).padStart(2, "0")).join("");
const send_event = (name, data) => { props.value = { ...data, id: view.id }; trigger(name); };
const near_end = () => ui.scroll.scrollHeight - ui.scroll.scrollTop - ui.scroll.clientHeight < 120;
const to_end = () => { ui.scroll.scrollTop = ui.scroll.scrollHeight; };
const time_of = iso => { const d = new Date(iso); return isNaN(d) ? "" : d.toLocaleTimeString(view.lang, { hour: "2-digit", minute: "2-digit" }); };

const build = () => {
  ui.phase = make("span", { class: "phase", role: "status" });
  ui.round = make("span", { class: "round" });
  ui.clock = make("span", { class: "clock", "aria-label": words("elapsed") });
  ui.script = make("button", { class: "sf-button small only-narrow", type: "button", onclick: () => document.body.classList.toggle("sf-side-open") }, words("script"));
  ui.finish = make("button", { class: "sf-button small", type: "button", id: "finish", onclick: () => ask_finish(true) }, words("finish"));
  ui.hint_button = make("button", { class: "sf-button quiet small", type: "button", id: "hint", title: words("hint_help"), onclick: () => send_event("expand", { t: "hint" }) }, words("hint_button"));
  ui.advice = make("div", { class: "advice", hidden: true, role: "status" });
  ui.meter = make("i");
  ui.head = make("div", { class: "head" }, make("div", { class: "facts" }, ui.round, ui.clock, ui.phase), make("div", { class: "sf-actions" }, ui.script, ui.hint_button, ui.finish));
  ui.confirm = make("div", { class: "confirm", hidden: true, role: "alertdialog", "aria-label": words("finish") },
    make("span", {}, words("finish_sure")),
    make("button", { class: "sf-button small primary", type: "button", id: "finish-yes", onclick: () => { ask_finish(false); send_event("stop", { t: "finish" }); } }, words("finish_yes")),
    make("button", { class: "sf-button small", type: "button", onclick: () => ask_finish(false) }, words("finish_no")));
  ui.turns = make("ol", { class: "turns", role: "log", "aria-live": "polite", "aria-label": words("log") });
  ui.partial = make("div", { class: "turn customer partial", hidden: true, "aria-live": "off" }, make("div", { class: "who" }, words("customer")), ui.partial_text = make("div", { class: "bubble" }));
  ui.notice = make("div", { class: "notice", role: "alert", hidden: true });
  ui.scroll = make("div", { class: "scroll", tabindex: "0", "aria-label": words("log") }, ui.turns, ui.partial, ui.notice);
  ui.box = make("textarea", { id: "message", rows: "1", maxlength: String(view.max_characters), placeholder: words("placeholder"), "aria-label": words("message"), autocomplete: "off",
    oninput: () => { grow(); store(draft_key(), ui.box.value || null); paint_controls(); }, onkeydown: on_key });
  ui.send = make("button", { class: "sf-button primary", type: "submit", id: "send" }, words("send"));
  ui.form = make("form", { class: "composer", onsubmit: e => { e.preventDefault(); send(); } }, ui.box, ui.send);
  ui.hint = make("p", { class: "hint small" }, words("hint"));
  root.replaceChildren(ui.head, make("div", { class: "sf-meter", "aria-hidden": "true" }, ui.meter), ui.confirm, ui.advice, ui.scroll, ui.form, ui.hint);
  const unconfirmed = recall_pending();
  const draft = (unconfirmed && unconfirmed.text) || stored(draft_key()) || view.draft;
  if (draft && !view.over) { ui.box.value = draft; grow(); }
  if (window.BroadcastChannel) {
    channel = new BroadcastChannel("sf-" + view.id);
    channel.onmessage = () => { if (!busy) send_event("tick", { t: "sync" }); };
  }
};

const grow = () => { ui.box.style.height = "auto"; ui.box.style.height = Math.min(ui.box.scrollHeight + 2, 190) + "px"; };
const ask_finish = open => { ui.confirm.hidden = !open; if (open) ui.confirm.querySelector("button").focus(); else ui.finish.focus(); };

const on_key = e => {
  // Enter that confirms an input-method candidate must not send: composing, or key code 229 in browsers that end composition first.
  if (e.key !== "Enter" || e.shiftKey || e.ctrlKey || e.altKey || e.isComposing || e.keyCode === 229) return;
  e.preventDefault();
  if (!e.repeat) send();
};

const may_send = () => view && !view.over && view.phase === "salesperson" && !busy;
const send = () => {
  const text = ui.box.value.trim();
  if (!text || !may_send()) return;
  const earlier = recall_pending();
  pending = earlier && earlier.text === text ? earlier : { text, key: random_key(), at: Date.now() };
  store(pending_key(), JSON.stringify(pending)); store(draft_key(), null);
  tries = 0;
  ui.box.value = ""; grow();
  submit_pending();
};
const recall_pending = () => {
  let found = null;
  try { found = JSON.parse(stored(pending_key())); } catch (_) { /* not ours */ }
  if (!found || typeof found.text !== "string" || typeof found.key !== "string") return null;
  if (!view.turns.some(turn => turn.key === found.key)) return found;
  store(pending_key(), null);
  return null;
};
// Gradio draws the page anew when it has found a lost server again: what was on its way a moment ago goes on.
const send_unconfirmed = () => {
  const found = recall_pending();
  if (!found || !may_send() || !(Date.now() - found.at < 180000)) return;
  pending = found; ui.box.value = ""; grow();
  submit_pending();
};
const submit_pending = () => {
  busy = true; heard = Date.now(); say_notice("");
  paint(); to_end();
  send_event("submit", { t: "send", ...pending });
};

const say_notice = (text, ...buttons) => { ui.notice.hidden = !text; ui.notice.replaceChildren(...(text ? [make("span", {}, text), ...buttons] : [])); if (text) to_end(); };
const restore = () => { if (pending && !ui.box.value) { ui.box.value = pending.text; grow(); store(draft_key(), pending.text); } pending = null; };

const turn_node = turn => {
  const mine = turn.role === "salesperson";
  const node = make("li", { class: "turn " + turn.role + (turn.waiting ? " waiting" : ""), "data-index": turn.i },
    make("div", { class: "who" }, mine ? words("you") : words("customer"), turn.at ? make("time", { datetime: turn.at }, " · " + time_of(turn.at)) : null,
      ...(turn.flags || []).map(flag => make("span", { class: "sf-tag warn" }, flag))),
    make("div", { class: "bubble" }, turn.text));
  if (mine && view.may_branch && turn.i !== undefined && !turn.waiting)
    node.append(make("div", { class: "tools" }, make("button", { class: "sf-button quiet small branch", type: "button", title: words("branch_help"), onclick: e => { e.currentTarget.disabled = true; send_event("select", { t: "branch", index: turn.i }); } }, words("branch"))));
  return node;
};

const paint = () => {
  const stay = near_end();
  const turns = view.turns.slice();
  const confirmed = pending && turns.some(turn => turn.key === pending.key);
  if (confirmed) { pending = null; store(draft_key(), null); store(pending_key(), null); if (channel) channel.postMessage("turn"); }
  if (pending && busy) turns.push({ role: "salesperson", text: pending.text, waiting: true });
  const nodes = [];
  let session = 1;
  for (const turn of turns) {
    if (turn.session && turn.session !== session) { session = turn.session; nodes.push(make("li", { class: "session" }, words("session", { n: session }))); }
    nodes.push(turn_node(turn));
  }
  if (!turns.length && view.phase === "salesperson") nodes.push(make("li", { class: "start" }, words("start_hint")));
  // Replace only what is new, so that a screen reader hears one turn and not the whole dialogue.
  const same = (a, b) => a.dataset.index === b.dataset.index && a.className === b.className && a.textContent === b.textContent;
  let keep = 0;
  while (keep < nodes.length && keep < ui.turns.children.length && same(ui.turns.children[keep], nodes[keep])) keep++;
  while (ui.turns.children.length > keep) ui.turns.lastElementChild.remove();
  ui.turns.append(...nodes.slice(keep));
  paint_partial(); paint_controls();
  if (stay) to_end();
};

const paint_partial = () => {
  const typing = view.phase === "answering";
  ui.partial.hidden = !typing;
  if (!typing) return;
  if (partial) { ui.partial_text.classList.remove("dots"); ui.partial_text.textContent = partial; }
  else if (!ui.partial_text.classList.contains("dots")) { ui.partial_text.classList.add("dots"); ui.partial_text.replaceChildren(make("span"), make("span"), make("span")); }
};

const paint_controls = () => {
  document.body.classList.toggle("sf-over", view.over);
  ui.form.hidden = ui.hint.hidden = view.over;
  ui.finish.hidden = view.over || view.turns.length === 0;
  ui.hint_button.hidden = view.over || !view.may_hint || view.phase !== "salesperson";
  if (ui.hint_button.hidden) ui.advice.hidden = true;
  ui.send.disabled = !may_send() || !ui.box.value.trim();
  ui.round.textContent = words("round", { n: Math.min(view.rounds + (view.phase === "salesperson" ? 1 : 0) || 1, view.max_rounds), total: view.max_rounds });
  ui.meter.style.width = (100 * view.rounds / view.max_rounds) + "%";
  const phase = busy ? "sending" : view.phase;
  ui.phase.textContent = view.over ? view.ended : words("phase_" + phase);
  ui.phase.className = "phase " + phase;
  if (view.phase === "failed" || view.phase === "interrupted")
    say_notice(view.failure || words("interrupted"), make("button", { class: "sf-button small primary", type: "button", id: "retry", onclick: e => { e.currentTarget.disabled = true; heard = Date.now(); send_event("retry", { t: "retry" }); } }, words("retry")));
};

const tell_time = () => {
  if (!view || !root.isConnected) { clearInterval(clock_timer); return; }
  const end = view.ended_at ? new Date(view.ended_at) : new Date();
  const seconds = Math.max(0, Math.round((end - new Date(view.started_at)) / 1000));
  const h = Math.floor(seconds / 3600), m = Math.floor(seconds / 60) % 60, s = seconds % 60;
  ui.clock.textContent = (h ? h + ":" + String(m).padStart(2, "0") : m) + ":" + String(s).padStart(2, "0");
};

// A lost connection or a restarted server: ask how things stand; a message that was not confirmed is offered again with its key.
const watch_over = () => {
  if (!root.isConnected) { clearInterval(watch_timer); return; }
  if (!view || view.over) return;
  const silent = Date.now() - heard;
  if (busy && silent > 12000) {
    busy = false;
    const again = make("button", { class: "sf-button small primary", type: "button", id: "send-again", onclick: () => submit_pending() }, words("send_again"));
    paint(); say_notice(words("unconfirmed"), again);
  } else if (view.phase === "answering" && silent > 12000) { heard = Date.now(); send_event("tick", { t: "sync" }); }
};

const receive = () => {
  const message = props.value;
  if (!message || !["full", "partial", "notice", "hint"].includes(message.t)) return;
  heard = Date.now();
  if (message.t === "partial") { if (view) { const stay = near_end(); partial = message.text; view.phase = "answering"; paint_partial(); if (stay) to_end(); } return; }
  if (message.t === "hint") { if (view) { ui.advice.textContent = message.text; ui.advice.hidden = false; } return; }
  if (message.t === "notice") {
    busy = false; restore(); if (view) { paint(); say_notice(message.text); ui.box.focus(); }
    return;
  }
  const first = view === null || view.id !== message.id;
  view = message; partial = message.partial || "";
  if (first) { build(); pending = null; }
  busy = false;
  say_notice("");
  paint(); tell_time();
  if (first) { send_unconfirmed(); to_end(); if (!view.over && matchMedia("(min-width: 821px)").matches) ui.box.focus(); }
  else if (pending && may_send() && tries < 3) { tries++; submit_pending(); }   // it was on its way when the connection was lost
  else if (pending) { restore(); paint(); }
};

clock_timer = setInterval(tell_time, 1000);
watch_timer = setInterval(watch_over, 2000);
const wake = () => { if (view && !view.over && !busy && root.isConnected && document.visibilityState === "visible" && Date.now() - heard > 5000) { heard = Date.now(); send_event("tick", { t: "sync" }); } };
document.addEventListener("visibilitychange", wake);
window.addEventListener("online", wake);
receive();
watch("value", receive);
