//! The way to somebody's Google account, as they go it in their browser.

use nod_sandbox::discord::Discord;

use super::{World, started};
use crate::chat::Chat;

impl World {
    /// Connects somebody's own Google account, by the private link and the consent page.
    pub async fn connects(&mut self, user: &str) {
        let link = self.asks_for_link(user).await;
        let page = self.consents_as(user, &link, &format!("{user}@acme.test"), None).await;
        assert!(page.contains("is connected") || page.contains("Connected"), "{page}");
        self.settles().await;
        self.reads(&format!("dm:{user}"));
    }

    /// Nod knows an address of somebody: Slack tells it, on Discord it is the account that they have connected.
    pub async fn can_be_written_to(&mut self, user: &str) {
        if matches!(self.chat, Chat::Discord(_)) {
            self.connects(user).await;
        }
    }

    /// `/nod connect google`, and the link in the answer.
    pub async fn asks_for_link(&mut self, user: &str) -> String {
        self.commands(user, "general", "connect google").await;
        let newest = self.chat.newest_whisper(user).unwrap_or_else(|| panic!("no answer to connect"));
        link_in(&newest).unwrap_or_else(|| panic!("no link in: {newest}"))
    }

    /// Follows a private link as that person to Google's consent page; its address.
    pub async fn leads_to_google(&self, user: &str, browser: &Browser, link: &str) -> String {
        self.way_to_google(user, browser, link)
            .await
            .unwrap_or_else(|page| panic!("no way to Google: {page}"))
    }

    async fn way_to_google(&self, user: &str, browser: &Browser, link: &str) -> Result<String, String> {
        let to = browser.begins(link).await;
        match &self.chat {
            Chat::Discord(discord) if to.starts_with(&discord.root_url()) => {
                browser.signs_in(discord, &to, user).await
            }
            _ => Ok(to),
        }
    }

    /// The link on the newest card in a person's direct line.
    #[must_use]
    pub fn newest_link_for(&self, user: &str) -> String {
        let found = self.chat.newest_link(&format!("dm:{user}"));
        found.unwrap_or_else(|| panic!("no link for {user}:\n{}", self.chat.everything()))
    }

    /// Follows a private link as that person: where the way leads by the platform's own sign-in, they sign in there.
    /// Consents at Google as `account`; the page at the end.
    pub async fn consents_as(
        &self,
        user: &str,
        link: &str,
        account: &str,
        scopes: Option<&[&str]>,
    ) -> String {
        let browser = Browser::new();
        let to = match self.way_to_google(user, &browser, link).await {
            Ok(to) => to,
            Err(page) => return page,
        };
        let back = self.google.consent(&to, account, scopes).unwrap_or_else(|e| panic!("{e}"));
        browser.returns(&back, &to).await
    }
}

/// Follows links as a browser does, with its cookie.
pub struct Browser {
    http: reqwest::Client,
    cookie: std::sync::Mutex<String>,
}

impl Default for Browser {
    fn default() -> Self {
        Self::new()
    }
}

impl Browser {
    /// With no cookie yet.
    #[must_use]
    pub fn new() -> Self {
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build();
        Self { http: started(http), cookie: std::sync::Mutex::default() }
    }

    /// Looks at the page behind a link.
    pub async fn looks(&self, link: &str) -> String {
        started(started(self.http.get(link).send().await).text().await)
    }

    /// Presses the page's button; returns where it leads.
    pub async fn begins(&self, link: &str) -> String {
        self.tries(link).await.unwrap_or_else(|page| panic!("no way to Google: {page}"))
    }

    /// The same; the page where it leads nowhere.
    ///
    /// # Errors
    /// The page that says why.
    pub async fn tries(&self, link: &str) -> Result<String, String> {
        let url = started(url::Url::parse(link));
        let token: String =
            url.query_pairs().find(|(k, _)| k == "t").map(|(_, v)| v.into_owned()).unwrap_or_default();
        self.arrives(self.http.post(link).form(&[("t", token)])).await
    }

    /// Where the answer leads on to, keeping its cookie; else its page.
    async fn arrives(&self, request: reqwest::RequestBuilder) -> Result<String, String> {
        let response = started(request.send().await);
        let header =
            |name: &str| response.headers().get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
        let cookie = header("set-cookie").unwrap_or_default();
        let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        let location = header("location");
        *self.cookie.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = cookie;
        match location {
            Some(location) => Ok(location),
            None => Err(started(response.text().await)),
        }
    }

    /// Signs in with Discord as somebody; where that leads.
    ///
    /// # Errors
    /// The page where it leads nowhere.
    pub async fn signs_in(&self, discord: &Discord, to: &str, user: &str) -> Result<String, String> {
        let who = discord.read(|world| started(world.user_id(user)));
        let agreed = started(self.http.get(format!("{to}&as={who}")).send().await);
        let back = agreed.headers().get("location").and_then(|v| v.to_str().ok()).map(str::to_owned);
        let back = back.unwrap_or_else(|| panic!("Discord refused the sign-in: {}", agreed.status()));
        self.arrives(self.http.get(back).header("cookie", self.cookie()).header("referer", to)).await
    }

    fn cookie(&self) -> String {
        self.cookie.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Comes back from Google.
    pub async fn returns(&self, location: &str, from: &str) -> String {
        let sent =
            self.http.get(location).header("cookie", self.cookie()).header("referer", from).send().await;
        started(started(sent).text().await)
    }
}

/// The words of a page, a line each.
#[must_use]
pub fn words_of(page: &str) -> String {
    let main = page.split("<main>").nth(1).and_then(|rest| rest.split("</main>").next()).unwrap_or(page);
    let mut words = String::new();
    for piece in main.split('<') {
        let text = piece.split_once('>').map_or(piece, |(_, text)| text);
        words.push_str(text.trim_matches('\n'));
        words.push('\n');
    }
    let unescaped =
        words.replace("&#39;", "'").replace("&#34;", "\"").replace("&lt;", "<").replace("&gt;", ">");
    unescaped
        .replace("&amp;", "&")
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

/// The first web address in a text that is a link to connect.
#[must_use]
pub fn link_in(text: &str) -> Option<String> {
    let at = text.find("/oauth/")?;
    let begin = text[..at].rfind("http")?;
    let end =
        text[begin..].find(|c: char| c.is_whitespace() || ")>]|\"".contains(c)).unwrap_or(text.len() - begin);
    Some(text[begin..begin + end].to_owned())
}
