//! The contract with the web: an address in, what stands there out. What stands there is written by outsiders.

use async_trait::async_trait;

/// What an address gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebPage {
    pub bytes: Vec<u8>,
    /// As the server says; empty if it does not.
    pub media_type: String,
}

/// Why an address gave nothing. Each text is the end of a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WebError {
    #[error("that is no web address")]
    NotAnAddress,
    /// It, or a redirect of it, is not public.
    #[error("that address is not one of the public web")]
    PrivateNetwork,
    #[error("it is larger than I read")]
    TooLarge,
    /// With the status of the answer.
    #[error("the address answered with status {0}")]
    Refused(u16),
    #[error("the address redirects in circles")]
    TooManyRedirects,
    /// A retry might succeed.
    #[error("the address did not answer")]
    Unavailable(String),
}

/// Reads addresses of the web.
#[async_trait]
pub trait WebFetcher: Send + Sync {
    /// Returns the address in one form, if it is one that can be read.
    ///
    /// # Errors
    /// If it is none.
    fn normalise(&self, address: &str) -> Result<String, WebError>;

    /// Reads at most so many bytes of an address.
    ///
    /// # Errors
    /// If it gives nothing.
    async fn fetch(&self, address: &str, max_bytes: usize) -> Result<WebPage, WebError>;
}
