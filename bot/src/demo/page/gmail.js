// Links to Gmail lead to the Gmail that is played here, also when they are opened in another tab.

const HASH = "#gmail/";

// The page's own address of what a link to Gmail leads to; undefined for any other link.
export function played(url) {
  if (url.hostname !== "mail.google.com") return undefined;
  const account = url.searchParams.get("authuser") ?? "";
  const [folder, id] = [url.hash.slice(1).split(/[/?]/)[0], url.hash.split(/[/=]/).slice(1).pop() ?? ""];
  return `${HASH}${[account, folder, id].map(encodeURIComponent).join("/")}`;
}

// What the page's address asks for, once: the next press on the same link asks again.
export function asked() {
  if (!location.hash.startsWith(HASH)) return undefined;
  const [account, folder, id] = location.hash.slice(HASH.length).split("/").map(decodeURIComponent);
  history.replaceState(null, "", location.pathname);
  return { account, folder, id };
}
