//! What a provider can allow Nod to do, one scope each, with descriptions for people.
//!
//! The scope names are the provider's and have no meaning here: its connector hands them in, the core stores and
//! compares them, and only the connector sends them to the provider.

use super::Accounts;
use nod_contract::provider::Provider;

/// Everything that a provider can allow, as its connector knows it.
#[derive(Debug)]
pub struct Scopes {
    /// What a person is asked for who connects without saying what for: the fewest scopes for the usual requests.
    pub usual: &'static [&'static str],
    /// What links asked for before their scopes were stored.
    pub once: &'static [&'static str],
    /// All scopes that the tools can use, in the order in which they are described.
    pub known: &'static [Known],
}

/// A scope that the tools can use.
#[derive(Debug)]
pub struct Known {
    /// The provider's name for it.
    pub scope: &'static str,
    /// The wider scopes that the provider accepts instead of this one.
    pub wider: &'static [&'static str],
    /// What it gives access to: "your calendar".
    pub place: &'static str,
    /// What Nod can do with it.
    pub words: &'static str,
    /// The text that a person reads on the page before they agree.
    pub explained: &'static str,
}

/// For a provider without a connector in this program.
static NONE: Scopes = Scopes { usual: &[], once: &[], known: &[] };

impl Accounts {
    /// Returns what this provider can allow.
    #[must_use]
    pub fn scopes(&self, provider: Provider) -> &'static Scopes {
        self.grantors.iter().find(|one| one.provider() == provider).map_or(&NONE, |one| one.scopes())
    }
}

/// Returns what a person is asked for who connects without saying what for.
#[must_use]
pub fn usual(core: &Accounts, provider: Provider) -> Vec<String> {
    core.scopes(provider).usual()
}

impl Scopes {
    pub(super) fn usual(&self) -> Vec<String> {
        owned(self.usual)
    }

    /// Returns whether the granted scopes allow this one.
    #[must_use]
    pub fn is_allowed(&self, granted: &[String], scope: &str) -> bool {
        let wider = self.known.iter().find(|known| known.scope == scope).map_or(&[][..], |known| known.wider);
        granted.iter().any(|one| one == scope || wider.contains(&one.as_str()))
    }

    /// Returns which of these are not allowed.
    #[must_use]
    pub fn missing_scopes<S: AsRef<str>>(&self, granted: &[String], wanted: &[S]) -> Vec<String> {
        let wanted = wanted.iter().map(AsRef::as_ref);
        wanted.filter(|scope| !self.is_allowed(granted, scope)).map(str::to_owned).collect()
    }

    /// Returns what the tools can use of the granted scopes; nothing if the person left every box empty.
    #[must_use]
    pub fn usable_scopes(&self, granted: &[String]) -> Vec<String> {
        let usable =
            self.known.iter().map(|known| known.scope).filter(|scope| self.is_allowed(granted, scope));
        usable.map(str::to_owned).collect()
    }

    /// Returns what the consent behind a link asks for.
    pub(super) fn or_legacy_scopes(&self, scopes: Vec<String>) -> Vec<String> {
        if scopes.is_empty() { owned(self.once) } else { scopes }
    }

    /// Combines both lists without duplicates.
    #[must_use]
    pub fn union(&self, scopes: Vec<String>, more: Vec<String>) -> Vec<String> {
        more.into_iter().fold(scopes, |mut scopes, one| {
            if !self.is_allowed(&scopes, &one) {
                scopes.push(one);
            }
            scopes
        })
    }

    /// Returns whether a consent is better than the existing grant: it contains what was asked for, or takes nothing
    /// away.
    #[must_use]
    pub fn is_improvement(&self, held: &[String], granted: &[String], asked: &[String]) -> bool {
        self.missing_scopes(granted, asked).is_empty()
            || self.missing_scopes(granted, &self.usable_scopes(held)).is_empty()
    }

    /// "read your mail and work with your calendar"
    #[must_use]
    pub fn describe_all(&self, scopes: &[String]) -> String {
        join_descriptions(&self.each(scopes, |known| known.words), "and")
            .unwrap_or_else(|| "do that".to_owned())
    }

    /// "read your mail or work with your calendar"
    #[must_use]
    pub fn describe_any(&self, scopes: &[String]) -> String {
        join_descriptions(&self.each(scopes, |known| known.words), "or")
            .unwrap_or_else(|| "do that".to_owned())
    }

    /// Returns what a person reads before they agree, one line per scope.
    #[must_use]
    pub fn consent_lines(&self, scopes: &[String]) -> Vec<&'static str> {
        self.each(scopes, |known| known.explained)
    }

    /// Returns what the scopes give access to: "your mail", "your mail and your calendar".
    #[must_use]
    pub fn place(&self, scopes: &[String]) -> String {
        let mut places = self.each(scopes, |known| known.place);
        places.dedup();
        join_descriptions(&places, "and").unwrap_or_else(|| "your account".to_owned())
    }

    fn each(&self, scopes: &[String], of: fn(&Known) -> &'static str) -> Vec<&'static str> {
        self.known.iter().filter(|known| scopes.iter().any(|one| one == known.scope)).map(of).collect()
    }
}

fn owned(scopes: &[&str]) -> Vec<String> {
    scopes.iter().map(|&scope| scope.to_owned()).collect()
}

/// "this, that and those"; `None` for an empty list.
fn join_descriptions(all: &[&str], with: &str) -> Option<String> {
    match all {
        [] => None,
        [one] => Some((*one).to_owned()),
        [all @ .., last] => Some(format!("{} {with} {last}", all.join(", "))),
    }
}
