// What can be chosen just now, above the box: by mouse, or by arrows and Enter or Tab.

import { el } from "../dom.js";

export function suggestions() {
  const node = el("ul", { class: "suggestions", role: "listbox", hidden: true });
  let entries = [];
  let at = 0;
  let choose = () => {};

  const hide = () => {
    entries = [];
    node.hidden = true;
  };
  const taken = (entry) => {
    hide();
    choose(entry);
  };
  const mark = () => [...node.children].forEach((item, n) => item.setAttribute("aria-selected", String(n === at)));

  // `all` have a `name`, perhaps an `about`.
  function show(all, chosen) {
    [entries, at, choose] = [all, 0, chosen];
    node.hidden = !all.length;
    const item = (entry) => {
      // Not the click: by then the input has lost the focus.
      const down = (event) => {
        event.preventDefault();
        taken(entry);
      };
      return el("li", { role: "option", onmousedown: down }, el("strong", {}, entry.name), entry.about ? el("span", {}, entry.about) : null);
    };
    node.replaceChildren(...all.map(item));
    mark();
  }

  // Whether the key was for the list.
  function key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!entries.length || !(step || ["Enter", "Tab", "Escape"].includes(event.key))) return false;
    event.preventDefault();
    if (step) at = (at + step + entries.length) % entries.length;
    else if (event.key === "Escape") hide();
    else taken(entries[at]);
    mark();
    node.children[at]?.scrollIntoView({ block: "nearest" });
    return true;
  }

  return { node, show, hide, key };
}
