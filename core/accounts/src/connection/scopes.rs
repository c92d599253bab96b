//! What a provider can allow Nod to do, one scope each, and in a person's words.
//!
//! The names are the provider's own and mean nothing here: its connector hands in what there is, and the core keeps and
//! compares. Only the connector sends them anywhere.

use super::Accounts;
use nod_contract::provider::Provider;

/// All that a provider can allow, as its connector knows it.
#[derive(Debug)]
pub struct Scopes {
    /// What somebody is asked for who connects without saying what for: the fewest that serve the usual requests.
    pub usual: &'static [&'static str],
    /// What links asked for before that was written down.
    pub once: &'static [&'static str],
    /// All that the tools know to use, in the order in which it is told.
    pub known: &'static [Known],
}

/// One of them.
#[derive(Debug)]
pub struct Known {
    /// The provider's name for it.
    pub scope: &'static str,
    /// The wider ones that the provider takes wherever it takes this one.
    pub wider: &'static [&'static str],
    /// Whose door it opens: "your calendar".
    pub place: &'static str,
    /// What Nod may then do.
    pub words: &'static str,
    /// The words of the page on which a person reads it before they agree.
    pub explained: &'static str,
}

/// Of a provider whose connector this program was not given.
static NONE: Scopes = Scopes { usual: &[], once: &[], known: &[] };

impl Accounts {
    /// What this provider can allow.
    #[must_use]
    pub fn scopes(&self, provider: Provider) -> &'static Scopes {
        self.grantors.iter().find(|one| one.provider() == provider).map_or(&NONE, |one| one.scopes())
    }
}

/// What somebody is asked for who connects without saying what for.
#[must_use]
pub fn usual(core: &Accounts, provider: Provider) -> Vec<String> {
    core.scopes(provider).usual()
}

impl Scopes {
    pub(super) fn usual(&self) -> Vec<String> {
        owned(self.usual)
    }

    /// Whether what was granted allows this.
    #[must_use]
    pub fn allows(&self, granted: &[String], scope: &str) -> bool {
        let wider = self.known.iter().find(|known| known.scope == scope).map_or(&[][..], |known| known.wider);
        granted.iter().any(|one| one == scope || wider.contains(&one.as_str()))
    }

    /// Which of these are not allowed.
    #[must_use]
    pub fn missing<S: AsRef<str>>(&self, granted: &[String], wanted: &[S]) -> Vec<String> {
        let wanted = wanted.iter().map(AsRef::as_ref);
        wanted.filter(|scope| !self.allows(granted, scope)).map(str::to_owned).collect()
    }

    /// What of it the tools can use: nothing where somebody left every box empty.
    #[must_use]
    pub fn known(&self, granted: &[String]) -> Vec<String> {
        let usable = self.known.iter().map(|known| known.scope).filter(|scope| self.allows(granted, scope));
        usable.map(str::to_owned).collect()
    }

    /// What the consent behind a link asks for.
    pub(super) fn asked(&self, scopes: Vec<String>) -> Vec<String> {
        if scopes.is_empty() { owned(self.once) } else { scopes }
    }

    /// These and those, each once.
    #[must_use]
    pub fn with(&self, scopes: Vec<String>, more: Vec<String>) -> Vec<String> {
        more.into_iter().fold(scopes, |mut scopes, one| {
            if !self.allows(&scopes, &one) {
                scopes.push(one);
            }
            scopes
        })
    }

    /// Whether a consent is better than what is there: one that brings what was asked for is, and so is one that takes
    /// nothing away.
    #[must_use]
    pub fn better(&self, held: &[String], granted: &[String], asked: &[String]) -> bool {
        self.missing(granted, asked).is_empty() || self.missing(granted, &self.known(held)).is_empty()
    }

    /// "read your mail and work with your calendar"
    #[must_use]
    pub fn all_of(&self, scopes: &[String]) -> String {
        joined(&self.each(scopes, |known| known.words), "and").unwrap_or_else(|| "do that".to_owned())
    }

    /// "read your mail or work with your calendar"
    #[must_use]
    pub fn any_of(&self, scopes: &[String]) -> String {
        joined(&self.each(scopes, |known| known.words), "or").unwrap_or_else(|| "do that".to_owned())
    }

    /// What a person reads before they agree, a line each.
    #[must_use]
    pub fn explained(&self, scopes: &[String]) -> Vec<&'static str> {
        self.each(scopes, |known| known.explained)
    }

    /// Whose doors they open: "your mail", "your mail and your calendar".
    #[must_use]
    pub fn place(&self, scopes: &[String]) -> String {
        let mut places = self.each(scopes, |known| known.place);
        places.dedup();
        joined(&places, "and").unwrap_or_else(|| "your account".to_owned())
    }

    fn each(&self, scopes: &[String], of: fn(&Known) -> &'static str) -> Vec<&'static str> {
        self.known.iter().filter(|known| scopes.iter().any(|one| one == known.scope)).map(of).collect()
    }
}

fn owned(scopes: &[&str]) -> Vec<String> {
    scopes.iter().map(|&scope| scope.to_owned()).collect()
}

/// "this, that and those"; none of nothing.
fn joined(all: &[&str], with: &str) -> Option<String> {
    match all {
        [] => None,
        [one] => Some((*one).to_owned()),
        [all @ .., last] => Some(format!("{} {with} {last}", all.join(", "))),
    }
}
