//! A Google Workspace service account that may act as people of its domain: the one place that uses yup-oauth2.
//!
//! What is known of that library, and contained here. It keeps tokens by scope alone, so each call has an authenticator
//! of its own, which keeps nothing; [`super::lent`] keeps them, by person too. It has no time limit, so there is one
//! around it. It writes keys and tokens into its log, which is off whatever an operator asks for. It takes the
//! address that it posts to for the audience that it signs, and panics where that is none. Its other way, a refresh
//! token, always asks one fixed address and does not say what was granted, so that goes through [`super::oauth`].

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

const WITHIN: Duration = Duration::from_secs(10);
/// Where Google does not say how long a token lasts.
const USUAL_LIFE: TimeDelta = TimeDelta::seconds(3600);

/// The service account's key, read and looked at.
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

/// Why a text is no service account's key; never with anything of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyProblem {
    /// Something else altogether.
    #[error("it is not the JSON key of a service account, as the Google Cloud console gives it out")]
    NotAKey,
    /// It lacks this.
    #[error("its {0} is missing or cannot be read")]
    Lacks(&'static str),
}

impl ServiceKey {
    /// From the JSON that the Google Cloud console gives out; asked at `token_url` instead of the key's own address
    /// where there is one.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(json: &str, token_url: Option<&Url>) -> Result<Self, KeyProblem> {
        let mut key: ServiceAccountKey = serde_json::from_str(json).map_err(|_| KeyProblem::NotAKey)?;
        if key.key_type.as_deref() != Some("service_account") {
            return Err(KeyProblem::NotAKey);
        }
        if !key.client_email.contains('@') {
            return Err(KeyProblem::Lacks("client_email"));
        }
        let client_id = key.client_id.clone().filter(|id| !id.is_empty());
        let client_id = client_id.ok_or(KeyProblem::Lacks("client_id"))?;
        signs(&key.private_key)?;
        let asked = match token_url {
            Some(url) => url.clone(),
            None => Url::parse(&key.token_uri).map_err(|_| KeyProblem::Lacks("token_uri"))?,
        };
        if !matches!(asked.scheme(), "https" | "http") || asked.as_str().parse::<hyper::Uri>().is_err() {
            return Err(KeyProblem::Lacks("token_uri"));
        }
        key.token_uri = asked.into();
        Ok(Self { key, client_id })
    }

    /// What an admin of the domain allows, by number.
    #[must_use]
    pub fn client_id(&self) -> &str {
        &self.client_id
    }

    /// The service account's own address.
    #[must_use]
    pub fn email(&self) -> &str {
        &self.key.client_email
    }
}

/// The key must be one that can sign: found out at the start, and not when somebody waits.
fn signs(pem: &str) -> Result<(), KeyProblem> {
    use rustls::pki_types::PrivateKeyDer;
    use rustls::pki_types::pem::PemObject;
    let unread = || KeyProblem::Lacks("private_key");
    let key = PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| unread())?;
    rustls::crypto::ring::sign::RsaSigningKey::new(&key).map(drop).map_err(|_| unread())
}

/// A token to act as somebody.
#[derive(Debug, Clone)]
pub struct Issued {
    /// The access token.
    pub access: SecretString,
    /// How long it lasts from now on.
    pub lives: TimeDelta,
}

/// Why there is none, sorted by who can mend it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Undelegated {
    /// An admin of the domain has not allowed it.
    #[error(
        "Google does not let this Nod act as {subject} for that ({code}). An admin of Google Workspace can allow it: in \
         the Admin console under Security, API controls, Domain-wide delegation, client {client} needs the scopes {scopes}"
    )]
    NotAllowed { code: String, subject: String, client: String, scopes: String },
    /// There is no such account, or it is suspended.
    #[error(
        "Google knows no account {subject} in this organisation, or it is suspended ({code}). An admin of Google \
         Workspace can look after it"
    )]
    NoAccount { code: String, subject: String },
    /// The key is not taken any more, or the machine's clock is off.
    #[error(
        "Google does not take the key of this Nod's service account ({code}). Whoever runs Nod has to look at \
         google.delegation.key_file, and at the machine's clock"
    )]
    Key { code: String },
    /// No answer, or a broken one: time will mend it.
    #[error("Google did not answer: {0}")]
    Silent(&'static str),
}

/// Acts as people of a domain.
#[derive(Debug, Clone)]
pub struct Delegation {
    key: ServiceKey,
    client: Client<Connector, String>,
}

impl Delegation {
    /// With this key; connects nothing yet.
    #[must_use]
    pub fn new(key: ServiceKey) -> Self {
        Self { key, client: http::client() }
    }

    /// A token that lets Nod do no more than these scopes as `subject`. Over after ten seconds.
    ///
    /// # Errors
    /// Why there is none.
    pub async fn token(&self, subject: &str, scopes: &[String]) -> Result<Issued, Undelegated> {
        let asked = async {
            let client = CustomHyperClientBuilder::from(self.client.clone());
            let key = self.key.key.clone();
            let built = ServiceAccountAuthenticator::with_client(key, client).subject(subject).build().await;
            built?.token(scopes).await
        };
        let token = match timeout(WITHIN, asked).await {
            Ok(Ok(token)) => token,
            Ok(Err(error)) => return Err(self.sorted(&error, subject, scopes)),
            Err(_) => return Err(Undelegated::Silent("nothing came for 10 s")),
        };
        let access = token.token().filter(|token| !token.is_empty());
        let access = access.ok_or(Undelegated::Silent("its answer was not the expected one"))?;
        // The library has added it to the machine's time.
        let ends = token.expiration_time().map(|at| at.unix_timestamp() - SystemClock.now().timestamp());
        let lives = ends.and_then(TimeDelta::try_seconds).unwrap_or(USUAL_LIFE);
        Ok(Issued { access: SecretString::from(access), lives })
    }

    /// Texts of the library may quote whole answers; only Google's error code is kept.
    fn sorted(&self, error: &Error, subject: &str, scopes: &[String]) -> Undelegated {
        let Error::AuthError(error) = error else {
            return Undelegated::Silent(match error {
                Error::HttpClientError(_) | Error::HttpError(_) => "no connection",
                _ => "its answer could not be read",
            });
        };
        let code = error.error.as_str().chars().filter(|c| c.is_ascii_alphanumeric() || *c == '_').take(40);
        let code: String = code.collect();
        // By its words alone Google tells a key that it does not take from a person whom it does not know.
        let said = error.error_description.as_deref().unwrap_or_default();
        let of_the_person = said.contains("email or User ID") || said.contains("not a valid email");
        match &error.error {
            AuthErrorCode::UnauthorizedClient | AuthErrorCode::AccessDenied | AuthErrorCode::InvalidScope => {
                let (client, scopes) = (self.key.client_id.clone(), scopes.join(", "));
                Undelegated::NotAllowed { code, subject: subject.to_owned(), client, scopes }
            }
            AuthErrorCode::InvalidGrant if of_the_person => {
                Undelegated::NoAccount { code, subject: subject.to_owned() }
            }
            AuthErrorCode::Other(other)
                if matches!(
                    other.as_str(),
                    "internal_failure" | "server_error" | "temporarily_unavailable" | "rate_limit_exceeded"
                ) =>
            {
                Undelegated::Silent("it is not available")
            }
            _ => Undelegated::Key { code },
        }
    }
}
