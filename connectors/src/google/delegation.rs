//! A Google Workspace service account that can act as people of its domain: the only module that uses yup-oauth2.
//!
//! Known problems of that library, contained here. It caches tokens by scope only, so each call has its own
//! authenticator, which caches nothing; [`super::lent`] caches tokens, keyed by person too. It has no time limit, so
//! there is one around it. It logs keys and tokens, so its log is always off, whatever level is configured. It uses the
//! URL that it posts to as the audience that it signs, and panics if the URL is invalid. Its flow for refresh tokens
//! always calls one fixed URL and does not return the granted scopes, so [`super::oauth`] does that instead.

use std::time::Duration;

use chrono::TimeDelta;
use hyper_util::client::legacy::Client;
use nod_contract::clock::{Clock, SystemClock};
use secrecy::SecretString;
use tokio::time::timeout;
use url::Url;
use yup_oauth2::client::CustomHyperClientBuilder;
use yup_oauth2::error::{AuthErrorCode, Error};
use yup_oauth2::{ServiceAccountAuthenticator, ServiceAccountKey};

use super::http::{self, Connector};

const TIMEOUT: Duration = Duration::from_secs(10);
/// The lifetime of a token if Google does not return one.
const DEFAULT_TOKEN_LIFETIME: TimeDelta = TimeDelta::seconds(3600);

/// The service account's key, parsed and checked.
#[derive(Clone)]
pub struct ServiceKey {
    key: ServiceAccountKey,
    client_id: String,
}

impl std::fmt::Debug for ServiceKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ServiceKey({}, …)", self.key.client_email)
    }
}

/// Why a text is not a service account's key; never contains any part of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServiceKeyError {
    /// It is something else.
    #[error("this isn't a service account's JSON key as the Google Cloud console gives it out")]
    InvalidKey,
    /// It lacks this field.
    #[error("its {0} is missing or can't be read")]
    MissingField(&'static str),
}

impl ServiceKey {
    /// Parses the JSON from the Google Cloud console. Tokens are requested at `token_url` if given, otherwise at the
    /// key's own URL.
    ///
    /// # Errors
    /// The problem with the key.
    pub fn read(json: &str, token_url: Option<&Url>) -> Result<Self, ServiceKeyError> {
        let mut key: ServiceAccountKey =
            serde_json::from_str(json).map_err(|_| ServiceKeyError::InvalidKey)?;
        if key.key_type.as_deref() != Some("service_account") {
            return Err(ServiceKeyError::InvalidKey);
        }
        if !key.client_email.contains('@') {
            return Err(ServiceKeyError::MissingField("client_email"));
        }
        let client_id = key.client_id.clone().filter(|id| !id.is_empty());
        let client_id = client_id.ok_or(ServiceKeyError::MissingField("client_id"))?;
        signs(&key.private_key)?;
        let asked = match token_url {
            Some(url) => url.clone(),
            None => Url::parse(&key.token_uri).map_err(|_| ServiceKeyError::MissingField("token_uri"))?,
        };
        if !matches!(asked.scheme(), "https" | "http") || asked.as_str().parse::<hyper::Uri>().is_err() {
            return Err(ServiceKeyError::MissingField("token_uri"));
        }
        key.token_uri = asked.into();
        Ok(Self { key, client_id })
    }

    /// Returns the client id, which an admin of the domain authorises.
    #[must_use]
    pub fn client_id(&self) -> &str {
        &self.client_id
    }

    /// Returns the service account's email address.
    #[must_use]
    pub fn email(&self) -> &str {
        &self.key.client_email
    }
}

/// Checks that the key can sign, so that a bad key is found at startup and not when a person waits.
fn signs(pem: &str) -> Result<(), ServiceKeyError> {
    use rustls::pki_types::PrivateKeyDer;
    use rustls::pki_types::pem::PemObject;
    let unread = || ServiceKeyError::MissingField("private_key");
    let key = PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| unread())?;
    rustls::crypto::ring::sign::RsaSigningKey::new(&key).map(drop).map_err(|_| unread())
}

/// A token to act as a person.
#[derive(Debug, Clone)]
pub struct IssuedToken {
    /// The access token.
    pub access: SecretString,
    /// Its remaining lifetime.
    pub lifetime: TimeDelta,
}

/// Why there is no token, classified by who can fix it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DelegationError {
    /// An admin of the domain has not allowed it.
    #[error(
        "Google doesn't let me act as {subject} for that ({code}). A Google Workspace admin can allow it: in \
         the Admin console under Security, API controls, Domain-wide delegation, client {client} needs the \
         scopes {scopes}"
    )]
    ScopesNotAllowed { code: String, subject: String, client: String, scopes: String },
    /// There is no such account, or it is suspended.
    #[error(
        "Google doesn't know the account {subject} here, or it's suspended ({code}). A Google Workspace \
         admin can check"
    )]
    UnknownAccount { code: String, subject: String },
    /// The key is no longer accepted, or the machine's clock is wrong.
    #[error(
        "Google rejects the key of my service account ({code}). The person who runs Nod needs to check \
         google.delegation.key_file and the machine's clock"
    )]
    InvalidKey { code: String },
    /// No answer, or a broken one: a retry can help.
    #[error("Google didn't answer: {0}")]
    Unavailable(&'static str),
}

/// Acts as people of a domain.
#[derive(Debug, Clone)]
pub struct DomainDelegation {
    key: ServiceKey,
    client: Client<Connector, String>,
}

impl DomainDelegation {
    /// Creates it with this key, without connecting.
    #[must_use]
    pub fn new(key: ServiceKey) -> Self {
        Self { key, client: http::client() }
    }

    /// Requests a token for `subject`, limited to these scopes. Times out after ten seconds.
    ///
    /// # Errors
    /// Why there is no token.
    pub async fn fetch_token(
        &self,
        subject: &str,
        scopes: &[String],
    ) -> Result<IssuedToken, DelegationError> {
        let asked = async {
            let client = CustomHyperClientBuilder::from(self.client.clone());
            let key = self.key.key.clone();
            let built = ServiceAccountAuthenticator::with_client(key, client).subject(subject).build().await;
            built?.token(scopes).await
        };
        let token = match timeout(TIMEOUT, asked).await {
            Ok(Ok(token)) => token,
            Ok(Err(error)) => return Err(self.classify_error(&error, subject, scopes)),
            Err(_) => return Err(DelegationError::Unavailable("no answer for 10 s")),
        };
        let access = token.token().filter(|token| !token.is_empty());
        let access = access.ok_or(DelegationError::Unavailable("its answer was not the expected one"))?;
        // The library has added the lifetime to the machine's time.
        let ends = token.expiration_time().map(|at| at.unix_timestamp() - SystemClock.now().timestamp());
        let lives = ends.and_then(TimeDelta::try_seconds).unwrap_or(DEFAULT_TOKEN_LIFETIME);
        Ok(IssuedToken { access: SecretString::from(access), lifetime: lives })
    }

    /// Classifies an error. Messages of the library can quote whole answers, so only Google's error code is kept.
    fn classify_error(&self, error: &Error, subject: &str, scopes: &[String]) -> DelegationError {
        let Error::AuthError(error) = error else {
            return DelegationError::Unavailable(match error {
                Error::HttpClientError(_) | Error::HttpError(_) => "no connection",
                _ => "its answer could not be read",
            });
        };
        let code = error.error.as_str().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(40);
        let code: String = code.collect();
        // Only the description tells a key that Google rejects from a person it does not know.
        let said = error.error_description.as_deref().unwrap_or_default();
        let of_the_person = said.contains("email or User ID") || said.contains("not a valid email");
        match &error.error {
            AuthErrorCode::UnauthorizedClient | AuthErrorCode::AccessDenied | AuthErrorCode::InvalidScope => {
                let (client, scopes) = (self.key.client_id.clone(), scopes.join(", "));
                DelegationError::ScopesNotAllowed { code, subject: subject.to_owned(), client, scopes }
            }
            AuthErrorCode::InvalidGrant if of_the_person => {
                DelegationError::UnknownAccount { code, subject: subject.to_owned() }
            }
            AuthErrorCode::Other(other)
                if matches!(
                    other.as_str(),
                    "internal_failure" | "server_error" | "temporarily_unavailable" | "rate_limit_exceeded"
                ) =>
            {
                DelegationError::Unavailable("it is not available")
            }
            _ => DelegationError::InvalidKey { code },
        }
    }
}
