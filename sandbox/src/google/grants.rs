//! Grants: the scopes that a person granted, and the codes and tokens issued for them.

use std::collections::{BTreeSet, HashMap};

use chrono::{DateTime, Duration, Utc};

/// The lifetime of an access token.
const TOKEN_LIVES_SECONDS: i64 = 3599;

/// All grants, with their codes and tokens.
#[derive(Debug, Default)]
pub(super) struct Grants {
    pub codes: HashMap<String, Code>,
    pub all: Vec<Grant>,
    access: HashMap<String, Access>,
    /// The lifetime of the next access token, if it is not the usual one.
    pub next_token_lifetime: Option<i64>,
    /// Each refresh returns a new refresh token, and the previous one becomes invalid.
    pub rotates_refresh_tokens: bool,
}

#[derive(Debug)]
pub(super) struct Code {
    pub grant: usize,
    pub redirect_uri: String,
    pub challenge: String,
    pub created_at: DateTime<Utc>,
    pub refreshable: bool,
    pub used: bool,
}

#[derive(Debug)]
pub(super) struct Grant {
    pub email: String,
    pub scopes: BTreeSet<String>,
    pub refresh: Option<String>,
    pub revoked: bool,
    /// When the grant expires by itself, as in "Testing".
    pub expires_at: Option<DateTime<Utc>>,
}

#[derive(Debug)]
struct Access {
    grant: usize,
    until: DateTime<Utc>,
}

impl Grants {
    pub fn add(&mut self, email: &str, scopes: BTreeSet<String>) -> usize {
        self.all.push(Grant {
            email: email.to_owned(),
            scopes,
            refresh: None,
            revoked: false,
            expires_at: None,
        });
        self.all.len() - 1
    }

    /// Returns the token's grant, if the token is valid.
    pub fn bearer(&self, token: &str, now: DateTime<Utc>) -> Option<&Grant> {
        let access = self.access.get(token).filter(|access| now < access.until)?;
        self.all.get(access.grant).filter(|grant| !grant.revoked)
    }

    /// Returns the account of a token that may be invalid, for the record of calls.
    pub fn owner(&self, token: &str) -> Option<String> {
        self.all.get(self.access.get(token)?.grant).map(|grant| grant.email.clone())
    }

    pub fn has_refresh(&self, email: &str) -> bool {
        self.all.iter().any(|grant| grant.email == email && !grant.revoked && grant.refresh.is_some())
    }

    /// Issues an access token; returns it with its lifetime in seconds.
    pub fn issue(&mut self, grant: usize, now: DateTime<Utc>) -> (String, i64) {
        let token = format!("ya29.{}", random());
        let lives = self.next_token_lifetime.take().unwrap_or(TOKEN_LIVES_SECONDS);
        self.access.insert(token.clone(), Access { grant, until: now + Duration::seconds(lives) });
        (token, lives)
    }

    pub fn make_refreshable(&mut self, grant: usize) -> Option<String> {
        let token = format!("1//{}", random());
        self.all.get_mut(grant)?.refresh = Some(token.clone());
        Some(token)
    }

    pub fn revoke_all(&mut self, email: &str) {
        for grant in self.all.iter_mut().filter(|grant| grant.email.eq_ignore_ascii_case(email)) {
            grant.revoked = true;
        }
    }

    pub fn widen_all(&mut self, email: &str, scope: &str) {
        for grant in self.all.iter_mut().filter(|grant| grant.email.eq_ignore_ascii_case(email)) {
            grant.scopes.insert(scope.to_owned());
        }
    }

    pub fn expire_all(&mut self, email: &str) {
        let Self { all, access, .. } = self;
        access.retain(|_, a| all.get(a.grant).is_some_and(|g| !g.email.eq_ignore_ascii_case(email)));
    }

    /// Returns every token that was issued and is still stored.
    pub fn secrets(&self) -> Vec<String> {
        let refresh = self.all.iter().filter_map(|grant| grant.refresh.clone());
        self.access.keys().cloned().chain(refresh).collect()
    }

    /// Revokes the grant of an access or a refresh token; returns false if the token is invalid or unknown.
    pub fn revoke(&mut self, token: &str) -> bool {
        let by_access = self.access.get(token).map(|access| access.grant);
        let found = by_access.or_else(|| self.all.iter().position(|g| g.refresh.as_deref() == Some(token)));
        match found.and_then(|at| self.all.get_mut(at)) {
            Some(grant) if !grant.revoked => {
                grant.revoked = true;
                true
            }
            _ => false,
        }
    }
}

pub(super) fn random() -> String {
    hex::encode(rand::random::<[u8; 24]>())
}
