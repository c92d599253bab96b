//! Attachments: downloaded only from where Discord stores them.

use std::time::Duration;

use nod_contract::chat::DownloadError;
use reqwest::redirect::Policy;
use url::Url;

use crate::download::read_limited;

/// How long one download can take in total.
const LIMIT: Duration = Duration::from_secs(30);
/// Discord's file hosts; their URLs are signed, so no token is needed.
const HOSTS: [&str; 2] = ["cdn.discordapp.com", "media.discordapp.net"];

pub(super) struct FileDownloader {
    http: reqwest::Client,
    home: Url,
}

impl FileDownloader {
    /// # Errors
    /// If the HTTP client cannot be created.
    pub(super) fn new(api_url: &Url) -> reqwest::Result<Self> {
        let http = reqwest::Client::builder().redirect(Policy::none()).timeout(LIMIT).build()?;
        Ok(Self { http, home: api_url.clone() })
    }

    /// Downloads at most `most` bytes from a URL.
    pub(super) async fn fetch(&self, address: &str, most: usize) -> Result<Vec<u8>, DownloadError> {
        let url = Url::parse(address).ok().filter(|url| self.is_trusted_host(url));
        let url = url.ok_or_else(|| DownloadError::Forbidden("it isn't stored on Discord".to_owned()))?;
        let answer = self
            .http
            .get(url)
            .send()
            .await
            .map_err(|_| DownloadError::NoResponse("no connection".to_owned()))?;
        match answer.status().as_u16() {
            200 => read_limited(answer, most).await,
            status @ (408 | 429 | 500..) => Err(DownloadError::NoResponse(format!("HTTP {status}"))),
            status => Err(DownloadError::Forbidden(format!("HTTP {status}"))),
        }
    }

    /// Returns whether the host is Discord's or that of the configured API URL.
    fn is_trusted_host(&self, url: &Url) -> bool {
        let theirs = url.scheme() == "https" && url.host_str().is_some_and(|host| HOSTS.contains(&host));
        let standard = url.port().is_none();
        theirs && standard || url.origin() == self.home.origin()
    }
}
