// Links to Gmail and to Slack lead to those that are played here, also when they are opened in another tab.

const MAIL = "#gmail/";
const MESSAGE = "#slack/";

// The page's own address of what a link leads to; undefined for a link that leads elsewhere.
export function played(url) {
  if (url.hostname === "mail.google.com") {
    const account = url.searchParams.get("authuser") ?? "";
    const [folder, id] = [url.hash.slice(1).split(/[/?]/)[0], url.hash.split(/[/=]/).slice(1).pop() ?? ""];
    return `${MAIL}${[account, folder, id].map(encodeURIComponent).join("/")}`;
  }
  const message = url.hostname.endsWith(".slack.com") && url.pathname.match(/^\/archives\/(\w+)\/p(\d+)(\d{6})$/);
  return message ? `${MESSAGE}${message[1]}/${message[2]}.${message[3]}` : undefined;
}

// What the page's address asks for, once: the next press on the same link asks again.
export function askedMail() {
  const parts = asked(MAIL);
  return parts && { account: parts[0], folder: parts[1], id: parts[2] };
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
