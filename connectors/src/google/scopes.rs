//! What Google can allow Nod to do: the scopes, and their descriptions for people.

use nod_accounts::connection::scopes::{Known, Scopes};

/// Search and read mail.
pub const READONLY: &str = "https://www.googleapis.com/auth/gmail.readonly";
/// Write drafts, and send them.
pub const COMPOSE: &str = "https://www.googleapis.com/auth/gmail.compose";
/// Label, archive and star mail; reading and writing it too.
pub const MODIFY: &str = "https://www.googleapis.com/auth/gmail.modify";
/// See and change the events of calendars.
pub const EVENTS: &str = "https://www.googleapis.com/auth/calendar.events";
/// See when people are busy.
pub const FREEBUSY: &str = "https://www.googleapis.com/auth/calendar.freebusy";

/// The scopes requested from somebody who has connected nothing yet: one consent for all that Nod does, with as few boxes
/// as possible. What they untick is requested again only when it is needed.
pub const USUAL: [&str; 3] = [MODIFY, EVENTS, FREEBUSY];
/// Every scope by its own name: an administrator who lends accounts has to list each.
pub const ALL: [&str; 5] = [READONLY, COMPOSE, MODIFY, EVENTS, FREEBUSY];

const MAIL: &str = "https://mail.google.com/";
const CALENDAR: &str = "https://www.googleapis.com/auth/calendar";
const CALENDAR_READONLY: &str = "https://www.googleapis.com/auth/calendar.readonly";
const CALENDAR_BUSY: &str = "https://www.googleapis.com/auth/calendar.events.freebusy";

/// All scopes, for the core.
pub static GOOGLE: Scopes = Scopes {
    usual: &USUAL,
    once: &[READONLY, COMPOSE],
    known: &[
        Known {
            scope: READONLY,
            wider: &[MODIFY, MAIL],
            place: "your Gmail",
            words: "read your email",
            explained: "Search and read this account's email when you ask.",
        },
        Known {
            scope: COMPOSE,
            wider: &[MODIFY, MAIL],
            place: "your Gmail",
            words: "write email for you",
            explained: "Write drafts, and send an email once you've approved that exact email in chat.",
        },
        Known {
            scope: MODIFY,
            wider: &[MAIL],
            place: "your Gmail",
            words: "organise your email",
            explained: "Search, read, label and archive this account's email when you ask, and send an email once \
                you've approved that exact email in chat.",
        },
        Known {
            scope: EVENTS,
            wider: &[CALENDAR],
            place: "your calendar",
            words: "work with your calendar",
            explained: "See and change this account's calendar. Anything that reaches other people waits \
                until you've approved it in chat.",
        },
        Known {
            scope: FREEBUSY,
            wider: &[CALENDAR_BUSY, CALENDAR_READONLY, CALENDAR],
            place: "your calendar",
            words: "see when people are busy",
            explained: "See when you're busy, and when people who share that with you are.",
        },
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(scopes: &[&str]) -> Vec<String> {
        scopes.iter().map(|&scope| scope.to_owned()).collect()
    }

    #[test]
    fn broader_scopes_include_narrower_ones_only() {
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
            assert_eq!(GOOGLE.usable_scopes(&owned(granted)), owned(allowed), "{granted:?}");
        }
        assert_eq!(GOOGLE.missing_scopes(&owned(&[MODIFY]), &ALL), owned(&[EVENTS, FREEBUSY]));
        assert!(GOOGLE.missing_scopes(&owned(&USUAL), &ALL).is_empty());
    }

    #[test]
    fn consent_without_gain_never_narrows_a_grant() {
        let held = owned(&[READONLY, COMPOSE]);
        let asked = owned(&[EVENTS]);
        assert!(GOOGLE.is_improvement(&held, &owned(&[READONLY, COMPOSE, EVENTS]), &asked));
        assert!(GOOGLE.is_improvement(&held, &owned(&[MODIFY]), &asked), "nothing is lost");
        assert!(GOOGLE.is_improvement(&held, &owned(&[EVENTS]), &asked), "it brings what was asked for");
        assert!(!GOOGLE.is_improvement(&held, &owned(&[READONLY]), &asked));
    }

    #[test]
    fn granted_scopes_read_as_a_sentence() {
        assert_eq!(GOOGLE.describe_all(&owned(&[READONLY])), "read your email");
        assert_eq!(
            GOOGLE.describe_all(&owned(&[EVENTS, COMPOSE, READONLY])),
            "read your email, write email for you and work with your calendar"
        );
        assert_eq!(
            GOOGLE.describe_any(&owned(&[EVENTS, READONLY])),
            "read your email or work with your calendar"
        );
        assert_eq!(GOOGLE.describe_any(&[]), "do that");
        assert_eq!(GOOGLE.place(&owned(&[MODIFY])), "your Gmail");
        assert_eq!(GOOGLE.place(&owned(&[EVENTS, FREEBUSY])), "your calendar");
        assert_eq!(GOOGLE.place(&owned(&USUAL)), "your Gmail and your calendar");
        assert_eq!(GOOGLE.union(owned(&[EVENTS]), owned(&[EVENTS, READONLY])), owned(&[EVENTS, READONLY]));
    }
}
