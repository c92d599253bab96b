//! What a provider is here, as its connector hands it in. (Which ones there can be is
//! [`Provider`](nod_contract::provider::Provider), a name.)

use async_trait::async_trait;
use secrecy::SecretString;

use super::scopes::Scopes;
use nod_contract::provider::Provider;

/// Whoever grants: what it can allow, and how that is taken back.
#[async_trait]
pub trait Grantor: Send + Sync {
    /// Whose grants.
    fn provider(&self) -> Provider;
    /// What it can allow.
    fn scopes(&self) -> &'static Scopes;
    /// Ends the grant behind a token; one that has ended already is no error.
    async fn revoke(&self, token: &SecretString) -> Result<(), Unreached>;
}

/// The provider did not answer.
#[derive(Debug, Clone, thiserror::Error)]
#[error("it could not be given back: {0}")]
pub struct Unreached(pub String);
