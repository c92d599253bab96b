// A list of messages that is read at its end.

export const atEnd = (list) => list.scrollHeight - list.scrollTop - list.clientHeight < 40;

export function toEnd(list) {
  list.scrollTop = list.scrollHeight;
  if (list.watched) return;
  // Who read the end goes on reading it when the room for it changes.
  let end = true;
  list.addEventListener("scroll", () => (end = atEnd(list)));
  list.watched = new ResizeObserver(() => end && (list.scrollTop = list.scrollHeight));
  list.watched.observe(list);
}

export function into(node, block = "nearest") {
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  node.scrollIntoView({ block, behavior: calm ? "auto" : "smooth" });
}

// Brings one message of a list into view and marks it for a moment.
export function pointIn(list, id) {
  const node = list.querySelector(`[data-ts="${CSS.escape(id)}"]`);
  if (!node) return;
  node.scrollIntoView({ block: "center" });
  node.classList.add("pointed");
  setTimeout(() => node.classList.remove("pointed"), 2500);
  // A tall card's button may be below: it is what the visitor came for.
  const button = node.querySelector("button.primary, a.primary");
  button?.scrollIntoView({ block: "nearest" });
  button?.focus({ preventScroll: true });
}
