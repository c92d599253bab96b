//! Grants: what a person agreed to, and the codes and tokens that came of it.

use std::collections::{BTreeSet, HashMap};

use chrono::{DateTime, Duration, Utc};

/// How long an access token lives.
const TOKEN_LIVES_SECONDS: i64 = 3599;

/// What a person agreed to, and the keys that came of it.
#[derive(Debug, Default)]
pub(super) struct Grants {
    pub codes: HashMap<String, Code>,
    pub all: Vec<Grant>,
    access: HashMap<String, Access>,
    /// How long the next access token lives, where that is not as long as usual.
    pub next_lives: Option<i64>,
    /// Each refresh gives another refresh token, and the one before is over.
    pub rotating: bool,
}

#[derive(Debug)]
pub(super) struct Code {
    pub grant: usize,
    pub redirect_uri: String,
    pub challenge: String,
    pub made: DateTime<Utc>,
    pub refreshable: bool,
    pub used: bool,
}

#[derive(Debug)]
pub(super) struct Grant {
    pub email: String,
    pub scopes: BTreeSet<String>,
    pub refresh: Option<String>,
    pub revoked: bool,
    /// In "Testing", grants end by themselves.
    pub ends: Option<DateTime<Utc>>,
}

#[derive(Debug)]
struct Access {
    grant: usize,
    until: DateTime<Utc>,
}

impl Grants {
    pub fn add(&mut self, email: &str, scopes: BTreeSet<String>) -> usize {
        self.all.push(Grant { email: email.to_owned(), scopes, refresh: None, revoked: false, ends: None });
        self.all.len() - 1
    }

    /// Whose token this is and what it may do, if it is alive.
    pub fn bearer(&self, token: &str, now: DateTime<Utc>) -> Option<&Grant> {
        let access = self.access.get(token).filter(|access| now < access.until)?;
        self.all.get(access.grant).filter(|grant| !grant.revoked)
    }

    /// The same for a token that may be dead: for the record of calls.
    pub fn owner(&self, token: &str) -> Option<String> {
        self.all.get(self.access.get(token)?.grant).map(|grant| grant.email.clone())
    }

    pub fn has_refresh(&self, email: &str) -> bool {
        self.all.iter().any(|grant| grant.email == email && !grant.revoked && grant.refresh.is_some())
    }

    /// An access token, and how many seconds it lives.
    pub fn issue(&mut self, grant: usize, now: DateTime<Utc>) -> (String, i64) {
        let token = format!("ya29.{}", random());
        let lives = self.next_lives.take().unwrap_or(TOKEN_LIVES_SECONDS);
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

    /// Every token that was ever handed out and is not forgotten.
    pub fn secrets(&self) -> Vec<String> {
        let refresh = self.all.iter().filter_map(|grant| grant.refresh.clone());
        self.access.keys().cloned().chain(refresh).collect()
    }

    /// Revokes the grant behind an access or a refresh token; false when it is dead or unknown.
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
