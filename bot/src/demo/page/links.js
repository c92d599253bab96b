// Links to Gmail, to Calendar and to Slack lead to those that are played here, also when they are opened in another tab.

const MAIL = "#gmail/";
const EVENT = "#calendar/";
const MESSAGE = "#slack/";

// The page's own address of what a link leads to; undefined for a link that leads elsewhere.
export function played(url) {
  if (url.hostname === "mail.google.com") {
    const account = url.searchParams.get("authuser") ?? "";
    const [folder, id] = [url.hash.slice(1).split(/[/?]/)[0], url.hash.split(/[/=]/).slice(1).pop() ?? ""];
    return `${MAIL}${[account, folder, id].map(encodeURIComponent).join("/")}`;
  }
  if (url.hostname === "www.google.com" && url.pathname === "/calendar/event") {
    return `${EVENT}${eventIn(url).map(encodeURIComponent).join("/")}`;
  }
  const message = url.hostname.endsWith(".slack.com") && url.pathname.match(/^\/archives\/(\w+)\/p(\d+)(\d{6})$/);
  return message ? `${MESSAGE}${message[1]}/${message[2]}.${message[3]}` : undefined;
}

// Whose calendar, and which event: `eid` is both in base64.
function eventIn(url) {
  try {
    const [id, account = ""] = atob(url.searchParams.get("eid") ?? "").split(" ");
    return [account, id];
  } catch {
    // Somebody wrote the link by hand.
    return ["", ""];
  }
}

// What the page's address asks for, once: the next press on the same link asks again.
export function askedMail() {
  const parts = asked(MAIL);
  return parts && { account: parts[0], folder: parts[1], id: parts[2] };
}

export function askedEvent() {
  const parts = asked(EVENT);
  return parts && { account: parts[0], id: parts[1] };
}

export function askedMessage() {
  const parts = asked(MESSAGE);
  return parts && { channel: parts[0], ts: parts[1] };
}

function asked(kind) {
  if (!location.hash.startsWith(kind)) return undefined;
  const parts = location.hash.slice(kind.length).split("/");
  history.replaceState(null, "", location.pathname);
  try {
    return parts.map(decodeURIComponent);
  } catch {
    // Somebody wrote the address by hand.
    return undefined;
  }
}
