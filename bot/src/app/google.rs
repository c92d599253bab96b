//! Google, as configured: the sign-in, the delegated accounts and the tools.

use std::sync::Arc;

use nod_accounts::connection::{
    Connections, DelegatedAccess, DelegatedAccountResolver, OrganisationAccountUsers,
};
use nod_connectors::google::{
    Accounts, CalendarEndpoint, DelegatedTokenProvider, DomainDelegation, GoogleOAuth, GoogleSettings,
    OrganisationAccount,
};
use nod_contract::tool::Tool;
use nod_people::attachment::AttachmentStore;
use nod_people::people::colleagues::Colleagues;
use nod_people::reading::Reader;
use sqlx::PgPool;
use url::Url;

use crate::config::{self, Config};

/// Returns `None` if no OAuth client is configured.
pub(crate) fn oauth(config: &Config, url: &Url) -> anyhow::Result<Option<GoogleOAuth>> {
    let google = &config.google;
    let (Some(client_id), Some(client_secret)) = (&google.client_id, &google.client_secret) else {
        tracing::warn!(
            "google.client_id and google.client_secret aren't set, so no one can connect email or calendar"
        );
        return Ok(None);
    };
    Ok(Some(GoogleOAuth::new(&GoogleSettings {
        client_id: client_id.clone(),
        client_secret: client_secret.clone(),
        auth_url: google.auth_url.clone(),
        token_url: google.token_url.clone(),
        revoke_url: google.revoke_url.clone(),
        gmail_url: google.gmail_url.clone(),
        redirect_url: url.join("oauth/google/callback")?,
    })?))
}

/// Returns who has access to which delegated accounts.
pub(crate) fn lending(google: &config::Google) -> Arc<DelegatedAccess> {
    let domains = google.delegation.as_ref().map_or(&[][..], |delegation| &delegation.domains);
    let borrowers =
        google.system.as_ref().map_or(OrganisationAccountUsers::Nobody, |system| system.people.clone());
    Arc::new(DelegatedAccess::new(domains, borrowers))
}

/// Returns all accounts: people's own and the delegated ones.
pub(super) fn accounts(
    google: &config::Google,
    oauth: &GoogleOAuth,
    pool: &PgPool,
    connections: Connections,
    lending: Arc<DelegatedAccess>,
    shelf: AttachmentStore,
    reading: Arc<dyn Reader>,
) -> Arc<Accounts> {
    let delegation =
        google.delegation.as_ref().map(|delegation| DomainDelegation::new(delegation.key.clone()));
    let system = google.system.as_ref();
    let system = system.map(|system| OrganisationAccount::new(oauth.clone(), system.refresh_token.clone()));
    let lent =
        DelegatedTokenProvider::new(DelegatedAccountResolver::new(pool.clone(), lending), delegation, system);
    let calendar = CalendarEndpoint::new(&google.calendar_url);
    Accounts::new(connections, lent, oauth.clone(), calendar, shelf, reading)
}

pub(super) fn tools(google: &config::Google, accounts: &Arc<Accounts>, pool: &PgPool) -> Vec<Tool> {
    nod_connectors::google::tools(accounts, &google.rooms.clone().into(), &Colleagues::new(pool.clone()))
}
