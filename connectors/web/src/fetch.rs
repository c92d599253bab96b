//! Reads an address, with each redirect judged like the address itself.

use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use nod_contract::web::{WebError, WebFetcher, WebPage};
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Response};
use tokio::time::timeout;
use url::{Host, Url};

use crate::addresses::is_public;
use crate::resolver::{PrivateNetworkError, PublicResolver};

const MAX_REDIRECTS: usize = 5;
/// How long it can take until the last byte of a page, redirects and all: others wait meanwhile.
const TIMEOUT: Duration = Duration::from_secs(15);
const USER_AGENT: &str = concat!("Nod/", env!("CARGO_PKG_VERSION"));

/// A scheme, a host and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(url::Origin);

impl std::str::FromStr for Origin {
    type Err = String;

    fn from_str(written: &str) -> Result<Self, Self::Err> {
        let url = Url::parse(written).ok().filter(|url| {
            matches!(url.scheme(), "http" | "https") && url.path() == "/" && url.query().is_none()
        });
        url.map(|url| Self(url.origin())).ok_or_else(|| "write it as https://wiki.example.com".to_owned())
    }
}

/// Reads public addresses, and those of some origins in the own network.
pub struct Fetcher {
    public: Client,
    private: Client,
    private_origins: Vec<Origin>,
    timeout: Duration,
}

impl Fetcher {
    /// Creates it; `private_origins` can be read although they are not public.
    ///
    /// # Errors
    /// If TLS cannot be set up.
    pub fn new(private_origins: Vec<Origin>) -> Result<Self, String> {
        let builder = || Client::builder().no_proxy().redirect(Policy::none()).user_agent(USER_AGENT);
        let error = |error: reqwest::Error| error.to_string();
        Ok(Self {
            public: builder().dns_resolver(Arc::new(PublicResolver)).build().map_err(error)?,
            private: builder().build().map_err(error)?,
            private_origins,
            timeout: TIMEOUT,
        })
    }

    fn is_private_origin(&self, url: &Url) -> bool {
        self.private_origins.iter().any(|origin| origin.0 == url.origin())
    }

    fn may_request(&self, url: &Url) -> bool {
        self.is_private_origin(url) || may_connect(url)
    }

    /// Asks one address. No redirect is followed.
    async fn request(&self, url: &Url) -> Result<Response, WebError> {
        if !self.may_request(url) {
            return Err(WebError::PrivateNetwork);
        }
        let client = if self.is_private_origin(url) { &self.private } else { &self.public };
        client.get(url.clone()).send().await.map_err(into_web_error)
    }

    /// Reads an address, and those to which it redirects.
    async fn follow(&self, address: &str, max_bytes: usize) -> Result<WebPage, WebError> {
        let mut url = parse(address)?;
        for _ in 0..=MAX_REDIRECTS {
            let answer = self.request(&url).await?;
            let status = answer.status();
            if status.is_redirection() {
                let location = answer.headers().get(LOCATION).and_then(|location| location.to_str().ok());
                let next = location.and_then(|location| url.join(location).ok());
                url = parse(next.ok_or(WebError::Refused(status.as_u16()))?.as_str())?;
                continue;
            }
            if status.is_server_error() || status.as_u16() == 429 {
                return Err(WebError::Unavailable(format!("status {status}")));
            }
            if !status.is_success() {
                return Err(WebError::Refused(status.as_u16()));
            }
            let media_type = answer.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
            let media_type = media_type.unwrap_or_default().to_owned();
            return Ok(WebPage { bytes: read_limited(answer, max_bytes).await?, media_type });
        }
        Err(WebError::TooManyRedirects)
    }
}

#[async_trait]
impl WebFetcher for Fetcher {
    fn normalise(&self, address: &str) -> Result<String, WebError> {
        let url = parse(strip_link_marks(address))?;
        // Said at once, and again at every connection.
        if !self.may_request(&url) {
            return Err(WebError::PrivateNetwork);
        }
        Ok(url.into())
    }

    async fn fetch(&self, address: &str, max_bytes: usize) -> Result<WebPage, WebError> {
        let late = |_| WebError::Unavailable(format!("no whole answer within {:?}", self.timeout));
        timeout(self.timeout, self.follow(address, max_bytes)).await.map_err(late)?
    }
}

/// Strips the marks of a link: Slack writes <https://acme.test|acme.test>, and `|` only there.
fn strip_link_marks(written: &str) -> &str {
    let written = written.trim();
    let Some(link) = written.strip_prefix('<') else { return written };
    let link = link.strip_suffix('>').unwrap_or(link);
    link.split_once('|').map_or(link, |(address, _)| address)
}

/// Parses an address. What is behind `#` is a place in the page.
fn parse(address: &str) -> Result<Url, WebError> {
    let mut url = Url::parse(address).map_err(|_| WebError::NotAnAddress)?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
    if !is_web || !url.username().is_empty() || url.password().is_some() {
        return Err(WebError::NotAnAddress);
    }
    url.set_fragment(None);
    Ok(url)
}

/// Returns whether an address may be connected to, as far as it says so itself. Names are judged by the resolver.
fn may_connect(url: &Url) -> bool {
    let is_usual_port = url.port().is_none_or(|port| matches!(port, 80 | 443));
    is_usual_port
        && match url.host() {
            Some(Host::Ipv4(address)) => is_public(IpAddr::V4(address)),
            Some(Host::Ipv6(address)) => is_public(IpAddr::V6(address)),
            Some(Host::Domain(name)) => {
                let name = name.trim_end_matches('.');
                name != "localhost" && !name.ends_with(".localhost")
            }
            None => false,
        }
}

async fn read_limited(answer: Response, max_bytes: usize) -> Result<Vec<u8>, WebError> {
    if answer.content_length().is_some_and(|length| length > max_bytes as u64) {
        return Err(WebError::TooLarge);
    }
    let (mut bytes, mut stream) = (Vec::new(), answer.bytes_stream());
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(into_web_error)?;
        if bytes.len() + chunk.len() > max_bytes {
            return Err(WebError::TooLarge);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

fn into_web_error(error: reqwest::Error) -> WebError {
    let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
    while let Some(error) = cause {
        if error.is::<PrivateNetworkError>() {
            return WebError::PrivateNetwork;
        }
        cause = error.source();
    }
    WebError::Unavailable(error.without_url().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// Answers each connection with the next of these answers, and returns its origin.
    async fn serve(answers: &[&str]) -> String {
        serve_slowly(answers, Duration::ZERO).await
    }

    async fn serve_slowly(answers: &[&str], pause: Duration) -> String {
        let answers: Vec<String> = answers.iter().map(|answer| (*answer).to_owned()).collect();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            for answer in answers {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = [0; 4096];
                let _ = stream.read(&mut request).await;
                tokio::time::sleep(pause).await;
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        origin
    }

    async fn fetch(answers: &[&str]) -> Result<WebPage, WebError> {
        let origin = serve(answers).await;
        Fetcher::new(vec![origin.parse().unwrap()]).unwrap().fetch(&format!("{origin}/a#b"), 10).await
    }

    #[test]
    fn addresses_have_one_form() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let fetcher = Fetcher::new(Vec::new()).unwrap();
        for (written, expected) in [
            ("https://acme.test", Ok("https://acme.test/")),
            ("<https://acme.test/a|acme.test>", Ok("https://acme.test/a")),
            ("<https://acme.test/a>", Ok("https://acme.test/a")),
            ("https://acme.test/a|b?c=d|e", Ok("https://acme.test/a|b?c=d|e")),
            (" HTTP://ACME.test:80/a?b#c ", Ok("http://acme.test/a?b")),
            ("http://0x08080808/", Ok("http://8.8.8.8/")),
            ("http://0x7f.1/", Err(WebError::PrivateNetwork)),
            ("http://localhost./", Err(WebError::PrivateNetwork)),
            ("file:///etc/passwd", Err(WebError::NotAnAddress)),
            ("https://ana:secret@acme.test/", Err(WebError::NotAnAddress)),
            ("acme.test", Err(WebError::NotAnAddress)),
            ("", Err(WebError::NotAnAddress)),
        ] {
            assert_eq!(fetcher.normalise(written), expected.map(str::to_owned), "{written}");
        }
    }

    #[tokio::test]
    async fn private_addresses_are_not_read() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let fetcher = Fetcher::new(Vec::new()).unwrap();
        for address in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://[::1]/",
            "http://[::ffff:169.254.169.254]/",
            "http://localhost/",
            "http://acme.test:8080/",
        ] {
            assert_eq!(fetcher.fetch(address, 10).await, Err(WebError::PrivateNetwork), "{address}");
        }
    }

    #[tokio::test]
    async fn each_redirect_is_judged() {
        let to_private = "HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/keys\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        assert_eq!(fetch(&[to_private]).await, Err(WebError::PrivateNetwork));
        let to_file = "HTTP/1.1 302 Found\r\nlocation: file:///etc/passwd\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        assert_eq!(fetch(&[to_file]).await, Err(WebError::NotAnAddress));
        let on = "HTTP/1.1 301 Moved\r\nlocation: /b\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello";
        let found = WebPage { bytes: b"hello".to_vec(), media_type: "text/html".to_owned() };
        assert_eq!(fetch(&[on, page]).await, Ok(found));
        assert_eq!(fetch(&[on; 6]).await, Err(WebError::TooManyRedirects));
    }

    #[tokio::test]
    async fn an_address_has_one_time_for_all_its_redirects() {
        let pause = Duration::from_millis(100);
        let on = "HTTP/1.1 301 Moved\r\nlocation: /b\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        let origin = serve_slowly(&[on; 6], pause).await;
        let fetcher = Fetcher::new(vec![origin.parse().unwrap()]).unwrap();
        let read = Fetcher { timeout: pause * 3, ..fetcher }.fetch(&origin, 10).await;
        assert!(matches!(read, Err(WebError::Unavailable(_))), "{read:?}");
    }

    #[tokio::test]
    async fn what_is_no_page_is_said() {
        let long = "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n01234567890";
        assert_eq!(fetch(&[long]).await, Err(WebError::TooLarge));
        let announced = "HTTP/1.1 200 OK\r\ncontent-length: 11\r\nconnection: close\r\n\r\n";
        assert_eq!(fetch(&[announced]).await, Err(WebError::TooLarge));
        let missing = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        assert_eq!(fetch(&[missing]).await, Err(WebError::Refused(404)));
        let broken = "HTTP/1.1 503 Down\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        assert!(matches!(fetch(&[broken]).await, Err(WebError::Unavailable(_))));
        let cut = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\nconnection: close\r\n\r\nhel";
        assert!(matches!(fetch(&[cut]).await, Err(WebError::Unavailable(_))));
    }
}
