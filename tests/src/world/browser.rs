//! The OAuth flow to a Google account, as people follow it in their browser.

use nod_sandbox::discord::Discord;

use super::{World, expect_started};
use crate::chat::FakeChat;

impl World {
    /// Connects the user's own Google account through the private link and the consent page.
    pub async fn connect_google(&mut self, user: &str) {
        let link = self.request_link(user).await;
        let page = self.consent_as(user, &link, &format!("{user}@acme.test"), None).await;
        assert!(page.contains("is connected") || page.contains("Connected"), "{page}");
        self.wait_until_idle().await;
        self.read_new(&format!("dm:{user}"));
    }

    /// Makes an email address of the user known: Slack reports it, on Discord it comes from the account that they
    /// connect.
    pub async fn make_mail_address_known(&mut self, user: &str) {
        if matches!(self.chat, FakeChat::Discord(_)) {
            self.connect_google(user).await;
        }
    }

    /// Sends `/nod connect google`, and returns the link in the answer.
    pub async fn request_link(&mut self, user: &str) -> String {
        self.run_command(user, "general", "connect google").await;
        let newest = self.chat.newest_ephemeral(user).unwrap_or_else(|| panic!("no answer to connect"));
        find_link(&newest).unwrap_or_else(|| panic!("no link in: {newest}"))
    }

    /// Follows a private link as this user to Google's consent page, and returns its URL.
    pub async fn follow_to_google(&self, user: &str, browser: &Browser, link: &str) -> String {
        self.try_follow_to_google(user, browser, link)
            .await
            .unwrap_or_else(|page| panic!("no way to Google: {page}"))
    }

    async fn try_follow_to_google(
        &self,
        user: &str,
        browser: &Browser,
        link: &str,
    ) -> Result<String, String> {
        let to = browser.submit_page(link).await;
        match &self.chat {
            FakeChat::Discord(discord) if to.starts_with(&discord.root_url()) => {
                browser.agree_at_discord(discord, &to, user).await
            }
            _ => Ok(to),
        }
    }

    /// Returns the link on the newest card in the user's DM channel.
    #[must_use]
    pub fn find_newest_link(&self, user: &str) -> String {
        let found = self.chat.find_newest_link(&format!("dm:{user}"));
        found.unwrap_or_else(|| panic!("no link for {user}:\n{}", self.chat.dump()))
    }

    /// Follows a private link as this user, signing in with the platform if it is required, and consents at Google as
    /// `account`. Returns the final page.
    pub async fn consent_as(&self, user: &str, link: &str, account: &str, scopes: Option<&[&str]>) -> String {
        let browser = Browser::new();
        let to = match self.try_follow_to_google(user, &browser, link).await {
            Ok(to) => to,
            Err(page) => return page,
        };
        let back = self.google.consent(&to, account, scopes).unwrap_or_else(|e| panic!("{e}"));
        browser.follow_callback(&back, &to).await
    }
}

/// Follows links like a browser, with its cookie.
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
    /// Creates a browser without a cookie.
    #[must_use]
    pub fn new() -> Self {
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build();
        Self { http: expect_started(http), cookie: std::sync::Mutex::default() }
    }

    /// Loads the page behind a link.
    pub async fn open_page(&self, link: &str) -> String {
        expect_started(expect_started(self.http.get(link).send().await).text().await)
    }

    /// Clicks the page's button, and returns the URL that it leads to.
    pub async fn submit_page(&self, link: &str) -> String {
        self.try_submit_page(link).await.unwrap_or_else(|page| panic!("no way to Google: {page}"))
    }

    /// The same; an error if the page leads to no other.
    ///
    /// # Errors
    /// Returns the page that explains why.
    pub async fn try_submit_page(&self, link: &str) -> Result<String, String> {
        let url = expect_started(url::Url::parse(link));
        let token: String =
            url.query_pairs().find(|(k, _)| k == "t").map(|(_, v)| v.into_owned()).unwrap_or_default();
        self.follow_response(self.http.post(link).form(&[("t", token)])).await
    }

    /// Returns the redirect's target and keeps the cookie, or the page as an error.
    async fn follow_response(&self, request: reqwest::RequestBuilder) -> Result<String, String> {
        let response = expect_started(request.send().await);
        let header =
            |name: &str| response.headers().get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
        let cookie = header("set-cookie").unwrap_or_default();
        let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        let location = header("location");
        *self.cookie.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = cookie;
        match location {
            Some(location) => Ok(location),
            None => Err(expect_started(response.text().await)),
        }
    }

    /// Signs in with Discord as this user, and returns the URL that follows.
    ///
    /// # Errors
    /// Returns the page if it leads to no other.
    pub async fn agree_at_discord(
        &self,
        discord: &Discord,
        authorize_url: &str,
        user: &str,
    ) -> Result<String, String> {
        let who = discord.read(|world| expect_started(world.user_id(user)));
        let agreed = expect_started(self.http.get(format!("{authorize_url}&as={who}")).send().await);
        let back = agreed.headers().get("location").and_then(|v| v.to_str().ok()).map(str::to_owned);
        let back = back.unwrap_or_else(|| panic!("Discord refused the sign-in: {}", agreed.status()));
        self.follow_response(
            self.http.get(back).header("cookie", self.cookie()).header("referer", authorize_url),
        )
        .await
    }

    fn cookie(&self) -> String {
        self.cookie.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Follows the redirect back from Google.
    pub async fn follow_callback(&self, location: &str, from: &str) -> String {
        let sent =
            self.http.get(location).header("cookie", self.cookie()).header("referer", from).send().await;
        expect_started(expect_started(sent).text().await)
    }
}

/// Returns the text of a page, one line for each element.
#[must_use]
pub fn page_text(page: &str) -> String {
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

/// Returns the first URL in a text that is a link to connect.
#[must_use]
pub fn find_link(text: &str) -> Option<String> {
    let at = text.find("/oauth/")?;
    let begin = text[..at].rfind("http")?;
    let end =
        text[begin..].find(|c: char| c.is_whitespace() || ")>]|\"".contains(c)).unwrap_or(text.len() - begin);
    Some(text[begin..begin + end].to_owned())
}
