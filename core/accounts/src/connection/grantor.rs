//! A provider as its connector describes it. The list of possible providers is
//! [`Provider`](nod_contract::provider::Provider), a name.

use async_trait::async_trait;
use secrecy::SecretString;

use super::scopes::Scopes;
use nod_contract::provider::Provider;

/// A provider that grants access: what it can allow, and how that is revoked.
#[async_trait]
pub trait Grantor: Send + Sync {
    /// The provider.
    fn provider(&self) -> Provider;
    /// What it can allow.
    fn scopes(&self) -> &'static Scopes;
    /// Revokes the grant behind a token; a grant that has already ended is no error.
    async fn revoke(&self, token: &SecretString) -> Result<(), RevokeError>;
}

/// The provider did not answer.
#[derive(Debug, Clone, thiserror::Error)]
#[error("revocation failed: {0}")]
pub struct RevokeError(pub String);
