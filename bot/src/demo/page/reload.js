// Another start of the demo behind the same address knows nothing of what is shown here: the page begins anew
// with it, and says so.

const TOLD = "nod-demo-anew";
let start = null;

// Whether another start answered than the one that this page was read from; then the page goes. What it kept for
// the old one goes with it.
export function begunAnew(answered) {
  start ??= answered;
  if (!answered || answered === start) return false;
  sessionStorage.clear();
  sessionStorage.setItem(TOLD, "yes");
  location.reload();
  return true;
}

// Said once, by the page that came after.
export function wasBegunAnew() {
  const was = sessionStorage.getItem(TOLD) !== null;
  sessionStorage.removeItem(TOLD);
  return was;
}

// What the page kept of this start. A page that was closed, or restored by the browser, may have kept another's.
export function kept(name) {
  const all = JSON.parse(sessionStorage.getItem(name) ?? "{}");
  return all.start === start ? all.value : undefined;
}

export function keep(name, value) {
  sessionStorage.setItem(name, JSON.stringify({ start, value }));
}
