const root = element.firstElementChild;
let board = null;
const ui = {};
const make = (tag, attrs = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") node.className = value;
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children) if (child !== null && child !== undefined) node.append(child);
  return node;
};
const words = (key, slots = {}) => (board.texts[key] || key).replace(/\{(\w+)\}/g, (_, name) => slots[name] ?? "");
const here = location.pathname.replace(/\/?$/, "/");
const address = (page, slots) => here + page + "?" + new URLSearchParams(slots).toString();
const filters = { q: "", language: "", domain: "", category: "" };

const read_address = () => { const given = new URLSearchParams(location.search); for (const name of Object.keys(filters)) filters[name] = given.get(name) || ""; if (!filters.language) filters.language = board.language; };
const write_address = () => {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(filters)) if (value && !(name === "language" && value === board.language)) given.set(name, value);
  const query = given.toString();
  history.replaceState(null, "", location.pathname + (query ? "?" + query : ""));
};

const field = (name, label, control) => { control.id = "filter-" + name; return make("div", { class: "field " + name }, make("label", { for: control.id }, label), control); };
const choice = (name, label, options) => {
  const select = make("select", { class: "sf-field", onchange: () => { filters[name] = select.value; if (name !== "category") filters.category = name === "language" ? filters.category : ""; refresh(); } });
  ui[name] = select; fill(name, options);
  return field(name, label, select);
};
const fill = (name, options) => { ui[name].replaceChildren(...options.map(([value, text]) => make("option", { value, selected: filters[name] === value }, text))); };
const categories = () => {
  const seen = new Map();
  for (const card of board.cards) if (card.language === filters.language && (!filters.domain || card.domain === filters.domain)) seen.set(card.category, card.category_name);
  if (filters.category && !seen.has(filters.category)) filters.category = "";
  return [["", words("all")], ...seen];
};

const build = () => {
  read_address();
  ui.search = make("input", { type: "search", class: "sf-field", placeholder: words("search_hint"), autocomplete: "off", oninput: () => { filters.q = ui.search.value; refresh(); } });
  ui.search.value = filters.q;
  const bar = make("div", { class: "filters", role: "search" },
    field("q", words("search"), ui.search),
    choice("language", words("dialogue_language"), board.languages),
    choice("domain", words("domain"), [["", words("all")], ...board.domains]),
    choice("category", words("category"), categories()));
  ui.count = make("p", { class: "count small", role: "status" });
  ui.grid = make("ul", { class: "grid" });
  root.replaceChildren(...[assigned(), bar, ui.count, ui.grid].filter(Boolean));
  refresh();
};

const assigned = () => {
  if (!board.assigned) return null;
  const given = board.assigned, action = given.go_on ? ["talk", { d: given.go_on }, "assigned_go_on"] : given.next ? ["brief", { a: given.next }, "assigned_next"] : null;
  return make("section", { class: "assigned", "aria-label": words("assigned") },
    make("div", {}, make("h2", {}, words("assigned")), make("p", {}, words("assigned_lead", given)), make("div", { class: "sf-meter" }, make("i", { style: `width:${100 * given.done / given.total}%` })), make("p", { class: "small" }, words("assigned_progress", given))),
    action ? make("a", { class: "sf-button primary", href: address(action[0], action[1]) }, words(action[2])) : make("p", {}, words("assigned_done")));
};

const card_node = card => {
  const to = tier => address("brief", { base: card.base, language: card.language, tier });
  return make("li", { class: "card" },
    make("div", { class: "top" }, make("span", { class: "sf-tag" }, card.category_name), card.items > 1 ? make("span", { class: "sf-tag" }, words("items", { n: card.items })) : null, card.sold ? make("span", { class: "sf-tag good" }, words("sold", { n: card.sold })) : null),
    make("h3", {}, card.title),
    make("p", { class: "note" }, card.note),
    make("div", { class: "tiers", role: "group", "aria-label": words("tiers") + " " + card.title },
      ...board.tiers.map(([tier, label]) => make("a", { href: to(tier), class: "tier " + tier }, label)),
      make("a", { href: to("surprise"), class: "tier surprise", title: words("surprise_help") }, words("surprise"))));
};

const refresh = () => {
  write_address();
  fill("category", categories());
  const wanted = filters.q.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const fits = card => card.language === filters.language && (!filters.domain || card.domain === filters.domain) && (!filters.category || card.category === filters.category) && wanted.every(word => card.search.includes(word));
  const found = board.cards.filter(fits);
  ui.count.textContent = words("count", { n: found.length });
  ui.grid.replaceChildren(...(found.length ? found.map(card_node) : [make("li", { class: "sf-empty" }, make("p", {}, words("none")), make("button", { class: "sf-button", type: "button", onclick: () => { filters.q = filters.domain = filters.category = ""; ui.search.value = ""; ui.domain.value = ""; refresh(); ui.search.focus(); } }, words("clear")))]));
};

const receive = () => { if (props.value && props.value.cards) { board = props.value; for (const card of board.cards) card.search = [card.title, card.category_name, card.note, card.base, ...card.names].join(" ").toLowerCase(); build(); } };
receive();
watch("value", receive);
