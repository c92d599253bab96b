//! Attachments: downloaded with the bot's token, only from where Slack stores them.

use std::time::Duration;

use nod_contract::chat::DownloadError;
use reqwest::header::LOCATION;
use reqwest::redirect::Policy;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::download::read_limited;

/// How long one download can take in total.
const LIMIT: Duration = Duration::from_secs(30);
/// The maximum number of redirects, within Slack's own hosts.
const MAX_REDIRECTS: usize = 3;

/// Downloads files; the token is sent only to Slack's own hosts.
pub(super) struct FileDownloader {
    http: reqwest::Client,
    token: SecretString,
    home: Url,
}

impl FileDownloader {
    pub(super) fn new(api_url: &Url, token: SecretString) -> Result<Self, reqwest::Error> {
        let http = reqwest::Client::builder().redirect(Policy::none()).timeout(LIMIT).build()?;
        Ok(Self { http, token, home: api_url.clone() })
    }

    /// Downloads at most `most` bytes from a URL.
    pub(super) async fn fetch(&self, address: &str, most: usize) -> Result<Vec<u8>, DownloadError> {
        tokio::time::timeout(LIMIT, self.follow_and_read(address, most))
            .await
            .unwrap_or_else(|_| Err(DownloadError::NoResponse(format!("timeout of {} s", LIMIT.as_secs()))))
    }

    async fn follow_and_read(&self, address: &str, most: usize) -> Result<Vec<u8>, DownloadError> {
        let mut url = Url::parse(address).map_err(|_| DownloadError::Forbidden("no address".to_owned()))?;
        for _ in 0..=MAX_REDIRECTS {
            if !self.is_trusted_host(&url) {
                return Err(DownloadError::Forbidden("it isn't stored in Slack".to_owned()));
            }
            let request = self.http.get(url.clone()).bearer_auth(self.token.expose_secret());
            let answer =
                request.send().await.map_err(|_| DownloadError::NoResponse("no connection".to_owned()))?;
            let status = answer.status();
            if status.is_redirection() {
                let to = answer.headers().get(LOCATION).and_then(|to| to.to_str().ok());
                url = to
                    .and_then(|to| url.join(to).ok())
                    .ok_or_else(|| DownloadError::Forbidden("sent on to nowhere".to_owned()))?;
                continue;
            }
            return match status.as_u16() {
                200 => read_limited(answer, most).await,
                408 | 429 | 500.. => Err(DownloadError::NoResponse(format!("HTTP {status}"))),
                _ => Err(DownloadError::Forbidden(format!("HTTP {status}"))),
            };
        }
        Err(DownloadError::Forbidden("too many redirects".to_owned()))
    }

    /// Returns whether it is the configured host, or one below it (`files.slack.com`).
    fn is_trusted_host(&self, url: &Url) -> bool {
        let (Some(host), Some(home)) = (url.host_str(), self.home.host_str()) else { return false };
        let below = url.domain().is_some() && host.ends_with(&format!(".{home}"));
        url.scheme() == self.home.scheme()
            && url.port_or_known_default() == self.home.port_or_known_default()
            && (host == home || below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_goes_to_slack_alone() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let files = |home: &str| {
            let home = Url::parse(home).ok()?;
            FileDownloader::new(&home, SecretString::from("xoxb")).ok()
        };
        for (home, address, ours) in [
            ("https://slack.com/api/", "https://files.slack.com/files-pri/T1-F1/a.pdf", true),
            ("https://slack.com/api/", "https://slack.com/files/a.pdf", true),
            ("https://slack.com/api/", "http://files.slack.com/a.pdf", false),
            ("https://slack.com/api/", "https://files.slack.com:8443/a.pdf", false),
            ("https://slack.com/api/", "https://notslack.com/a.pdf", false),
            ("https://slack.com/api/", "https://slack.com.evil.test/a.pdf", false),
            ("https://slack.com/api/", "https://slack.com@evil.test/a.pdf", false),
            ("http://127.0.0.1:80/api", "http://127.0.0.1/a.pdf", true),
            ("http://127.0.0.1:80/api", "http://127.0.0.1:81/a.pdf", false),
        ] {
            let judged =
                files(home).zip(Url::parse(address).ok()).map(|(files, url)| files.is_trusted_host(&url));
            assert_eq!(judged, Some(ours), "{address}");
        }
    }
}
