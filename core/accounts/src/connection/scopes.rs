//! What Google can allow Nod to do, one scope each, and in a person's words.
//!
//! The names are Google's own and mean nothing to the rest of the core, which keeps them and compares them here. Only
//! the connector sends them anywhere.

/// Search and read mail.
pub const READONLY: &str = "https://www.googleapis.com/auth/gmail.readonly";
/// Write drafts, and send them.
pub const COMPOSE: &str = "https://www.googleapis.com/auth/gmail.compose";
/// Label, archive and star mail; reading and writing it too.
pub const MODIFY: &str = "https://www.googleapis.com/auth/gmail.modify";
/// See and change the events of calendars.
pub const EVENTS: &str = "https://www.googleapis.com/auth/calendar.events";
/// See when somebody is busy.
pub const FREEBUSY: &str = "https://www.googleapis.com/auth/calendar.freebusy";

/// What somebody is asked for who connects without saying what for: the fewest that serve the usual requests.
pub const USUAL: [&str; 4] = [READONLY, COMPOSE, EVENTS, FREEBUSY];
/// What links asked for before that was written down.
const ONCE: [&str; 2] = [READONLY, COMPOSE];

/// All that the tools know to use, in the order in which it is told: each with what Nod may then do, and the words of
/// the page on which a person reads it before they agree.
const KNOWN: [(&str, &str, &str); 5] = [
    (READONLY, "read your mail", "Search and read the mail of this account, when you ask for it."),
    (
        COMPOSE,
        "write mail for you",
        "Write drafts, and send a mail after you have approved that very mail in chat.",
    ),
    (MODIFY, "organise your mail", "Label, archive and star mail, when you ask for it."),
    (
        EVENTS,
        "work with your calendar",
        "See the events of this account's calendars, and change them; what reaches others only after you have approved \
         it in chat.",
    ),
    (FREEBUSY, "see when people are busy", "See when you, and people who share that with you, are busy."),
];

const MAIL: &str = "https://mail.google.com/";
const CALENDAR: &str = "https://www.googleapis.com/auth/calendar";
const CALENDAR_READONLY: &str = "https://www.googleapis.com/auth/calendar.readonly";
const CALENDAR_BUSY: &str = "https://www.googleapis.com/auth/calendar.events.freebusy";

/// The wider scopes that Google takes wherever it takes this one.
fn wider(scope: &str) -> &'static [&'static str] {
    match scope {
        READONLY | COMPOSE => &[MODIFY, MAIL],
        MODIFY => &[MAIL],
        EVENTS => &[CALENDAR],
        FREEBUSY => &[CALENDAR_BUSY, CALENDAR_READONLY, CALENDAR],
        _ => &[],
    }
}

/// Whether what was granted allows this.
#[must_use]
pub fn allows(granted: &[String], scope: &str) -> bool {
    granted.iter().any(|one| one == scope || wider(scope).contains(&one.as_str()))
}

/// Which of these are not allowed.
#[must_use]
pub fn missing<S: AsRef<str>>(granted: &[String], wanted: &[S]) -> Vec<String> {
    let wanted = wanted.iter().map(AsRef::as_ref);
    wanted.filter(|scope| !allows(granted, scope)).map(str::to_owned).collect()
}

/// What of it the tools can use: nothing where somebody left every box empty.
#[must_use]
pub fn known(granted: &[String]) -> Vec<String> {
    let usable = KNOWN.iter().map(|(scope, ..)| *scope).filter(|scope| allows(granted, scope));
    usable.map(str::to_owned).collect()
}

/// What the consent behind a link asks for.
pub fn asked(scopes: Vec<String>) -> Vec<String> {
    if scopes.is_empty() { ONCE.map(str::to_owned).to_vec() } else { scopes }
}

/// These and those, each once.
pub fn with(mut scopes: Vec<String>, more: Vec<String>) -> Vec<String> {
    let more: Vec<_> = more.into_iter().filter(|scope| !allows(&scopes, scope)).collect();
    scopes.extend(more);
    scopes
}

/// Whether a consent is better than what is there: one that brings what was asked for is, and so is one that takes
/// nothing away.
pub fn better(held: &[String], granted: &[String], asked: &[String]) -> bool {
    missing(granted, asked).is_empty() || missing(granted, &known(held)).is_empty()
}

/// "read your mail and work with your calendar"
#[must_use]
pub fn all_of(scopes: &[String]) -> String {
    joined(scopes, "and")
}

/// "read your mail or work with your calendar"
#[must_use]
pub fn any_of(scopes: &[String]) -> String {
    joined(scopes, "or")
}

fn joined(scopes: &[String], with: &str) -> String {
    let has = |scope: &&(&str, &str, &str)| scopes.iter().any(|one| one == scope.0);
    let known: Vec<_> = KNOWN.iter().filter(has).map(|(_, words, _)| *words).collect();
    match known.as_slice() {
        [] => "do that".to_owned(),
        [one] => (*one).to_owned(),
        [all @ .., last] => format!("{} {with} {last}", all.join(", ")),
    }
}

/// What a person reads before they agree, a line each.
#[must_use]
pub fn explained(scopes: &[String]) -> Vec<&'static str> {
    KNOWN.iter().filter(|(scope, ..)| scopes.iter().any(|one| one == scope)).map(|known| known.2).collect()
}

/// Whose doors they open: "your Gmail", "your calendar".
pub fn place(scopes: &[String]) -> &'static str {
    let (mail, calendar): (Vec<_>, Vec<_>) = scopes.iter().partition(|scope| scope.contains("mail"));
    match (mail.is_empty(), calendar.is_empty()) {
        (true, true) => "your account",
        (false, true) => "your Gmail",
        (true, false) => "your calendar",
        (false, false) => "your Gmail and your calendar",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(scopes: &[&str]) -> Vec<String> {
        scopes.iter().map(|&scope| scope.to_owned()).collect()
    }

    #[test]
    fn wider_scopes_allow_what_narrower_ones_do_and_never_the_other_way() {
        for (granted, allowed) in [
            (&[][..], &[][..]),
            (&["openid", "https://www.googleapis.com/auth/userinfo.email"], &[]),
            (&[READONLY], &[READONLY]),
            (&[COMPOSE], &[COMPOSE]),
            (&[MODIFY], &[READONLY, COMPOSE, MODIFY]),
            (&[MAIL], &[READONLY, COMPOSE, MODIFY]),
            (&[EVENTS], &[EVENTS]),
            (&[FREEBUSY], &[FREEBUSY]),
            (&[CALENDAR_BUSY], &[FREEBUSY]),
            (&[CALENDAR_READONLY], &[FREEBUSY]),
            (&[CALENDAR], &[EVENTS, FREEBUSY]),
            (&["https://www.googleapis.com/auth/gmail.metadata"], &[]),
            (&["https://www.googleapis.com/auth/gmail.readonly.more"], &[]),
            (&[READONLY, EVENTS], &[READONLY, EVENTS]),
        ] {
            assert_eq!(known(&owned(granted)), owned(allowed), "{granted:?}");
        }
        assert_eq!(missing(&owned(&[MODIFY]), &USUAL), owned(&[EVENTS, FREEBUSY]));
    }

    #[test]
    fn a_consent_never_narrows_what_was_there_for_nothing() {
        let held = owned(&[READONLY, COMPOSE]);
        let asked = owned(&[EVENTS]);
        assert!(better(&held, &owned(&[READONLY, COMPOSE, EVENTS]), &asked));
        assert!(better(&held, &owned(&[MODIFY]), &asked), "nothing is lost");
        assert!(better(&held, &owned(&[EVENTS]), &asked), "it brings what was asked for");
        assert!(!better(&held, &owned(&[READONLY]), &asked));
    }

    #[test]
    fn what_is_allowed_reads_as_a_sentence() {
        assert_eq!(all_of(&owned(&[READONLY])), "read your mail");
        assert_eq!(
            all_of(&owned(&[EVENTS, COMPOSE, READONLY])),
            "read your mail, write mail for you and work with your calendar"
        );
        assert_eq!(any_of(&owned(&[EVENTS, READONLY])), "read your mail or work with your calendar");
        assert_eq!(any_of(&[]), "do that");
        assert_eq!(place(&owned(&[MODIFY])), "your Gmail");
        assert_eq!(place(&owned(&[EVENTS, FREEBUSY])), "your calendar");
        assert_eq!(place(&owned(&USUAL)), "your Gmail and your calendar");
        assert_eq!(with(owned(&[EVENTS]), owned(&[EVENTS, READONLY])), owned(&[EVENTS, READONLY]));
    }
}
