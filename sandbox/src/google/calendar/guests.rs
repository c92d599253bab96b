//! Guests: who is invited, who answers, who gets mail, and rooms, which answer by themselves.

use jiff::{SignedDuration, Timestamp};

use super::entry::{Entry, StoredAttendee};
use super::middleware::ApiRequest;
use super::model::{Invitation, InvitationKind, clock};
use super::rejection;
use super::store::Calendars;
use crate::google::response::Rejection;

/// How far ahead a room checks before it accepts a series.
const AHEAD: SignedDuration = SignedDuration::from_hours(24 * 366);

/// Who gets mail from Google (`sendUpdates`).
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Tells {
    All,
    /// Guests without a calendar here.
    ExternalOnly,
    Nobody,
}

impl Tells {
    pub fn read(ask: &ApiRequest<'_>) -> Result<Self, Rejection> {
        match ask.param("sendUpdates") {
            Some("all") => Ok(Self::All),
            Some("externalOnly") => Ok(Self::ExternalOnly),
            Some("none") | None => Ok(Self::Nobody),
            Some(_) => Err(rejection::invalid("Invalid value for: sendUpdates")),
        }
    }

    fn reaches(&self, all: &Calendars, email: &str) -> bool {
        match self {
            Self::All => all.owner(email).is_none_or(|owner| !owner.is_room),
            Self::ExternalOnly => all.owner(email).is_none(),
            Self::Nobody => false,
        }
    }
}

/// What a write changed.
#[derive(Debug)]
pub(super) struct Change {
    /// Title, description or other texts, or the Meet link.
    words: bool,
    /// The time.
    pub moved: bool,
    guests: bool,
    /// The writer's own fields.
    pub own: bool,
}

impl Change {
    pub fn between(old: &Entry, new: &Entry, me: &str) -> Self {
        let own = |entry: &Entry| entry.copies.get(me).map(|copy| copy.own.clone());
        Self {
            words: old.fields != new.fields || old.meet != new.meet,
            moved: old.span != new.span || old.recurrence != new.recurrence,
            guests: old.guests != new.guests,
            own: own(old) != own(new),
        }
    }

    /// Returns whether fields changed that only the organizer can change.
    pub fn is_shared(&self) -> bool {
        self.words || self.moved
    }

    pub fn is_any(&self) -> bool {
        self.is_shared() || self.guests
    }
}

impl Calendars {
    /// Returns the guest list requested by a person who can change it. A guest whose answer is not repeated is invited
    /// again.
    pub(super) fn validate_guests(
        &self,
        event: &Entry,
        me: &str,
        wanted: Vec<StoredAttendee>,
    ) -> Result<Vec<StoredAttendee>, Rejection> {
        wanted.into_iter().map(|guest| self.validate_guest(event, me, guest)).collect()
    }

    fn validate_guest(
        &self,
        event: &Entry,
        me: &str,
        mut guest: StoredAttendee,
    ) -> Result<StoredAttendee, Rejection> {
        let (before, owner) = (event.guest(&guest.email), self.owner(&guest.email));
        let usual = if guest.email == event.organizer { "accepted" } else { "needsAction" };
        let settled = before.map_or(usual, |before| before.response.as_str());
        let free = ["", "needsAction", settled].contains(&guest.response.as_str());
        if guest.email != me && !free {
            return Err(rejection::invalid(format!("The answer of {} is not yours to give", guest.email)));
        }
        if guest.response.is_empty() {
            guest.response = usual.to_owned();
        }
        if guest.email != me {
            guest.comment = before.and_then(|before| before.comment.clone());
        }
        guest.is_room = owner.is_some_and(|owner| owner.is_room);
        guest.name = guest.name.or_else(|| owner.map(|owner| owner.name.clone()));
        Ok(guest)
    }

    /// Returns the guest list after a guest's own answer, which is the only change that a guest can make to it. With
    /// `attendeesOmitted` the guest's own entry is enough; without, the others must be listed unchanged.
    pub(super) fn answered(
        &self,
        event: &Entry,
        me: &str,
        wanted: &[StoredAttendee],
        omitted: bool,
    ) -> Result<Vec<StoredAttendee>, Rejection> {
        let hidden = event.fields.get("guestsCanSeeOtherGuests") == Some(&serde_json::json!(false));
        let whole = wanted.len() == event.guests.len();
        let same = |guest: &&StoredAttendee| {
            event.guest(&guest.email).is_some_and(|before| {
                before.response == guest.response
                    && before.optional == guest.optional
                    && before.brings == guest.brings
                    && before.comment == guest.comment
            })
        };
        let others_stand = wanted.iter().filter(|guest| guest.email != me).all(|guest| same(&guest));
        let mine = wanted.iter().find(|guest| guest.email == me);
        let is_organizer = event.organizer == me && event.guest(me).is_none();
        if !others_stand || !(whole || omitted || hidden) || (mine.is_none() && !is_organizer) {
            return Err(rejection::not_the_organizer());
        }
        let mut all = event.guests.clone();
        for own in all.iter_mut().filter(|guest| guest.email == me) {
            let Some(mine) = mine else { continue };
            if mine.response.is_empty() {
                return Err(rejection::invalid("Invalid value for: responseStatus"));
            }
            own.response.clone_from(&mine.response);
            own.comment.clone_from(&mine.comment);
            own.brings = mine.brings;
        }
        Ok(all)
    }

    /// Sends the mails for a write. The writer gets none.
    pub(super) fn tell(&mut self, tells: &Tells, me: &str, old: Option<&Entry>, new: &Entry, now: Timestamp) {
        let letters: Vec<(String, InvitationKind)> = match old {
            None => new.guests.iter().map(|guest| (guest.email.clone(), InvitationKind::Invited)).collect(),
            Some(old) => news(old, new, me),
        };
        for (to, news) in letters {
            if to != me && tells.reaches(self, &to) {
                self.notices.push(Invitation {
                    to,
                    from: me.to_owned(),
                    event: new.id.clone(),
                    title: new.text("summary").to_owned(),
                    kind: news,
                    sequence: new.sequence,
                    at: clock(now),
                });
            }
        }
    }

    /// Invited rooms answer whether they are free.
    pub(super) fn rooms_answer(&mut self, calendar: &str, id: &str, now: Timestamp) {
        let Some(entry) = self.find(calendar, id).filter(|entry| !entry.cancelled) else { return };
        let asked = entry.guests.iter().filter(|guest| guest.is_room && guest.response == "needsAction");
        let answers: Vec<(String, &str)> = asked
            .map(|room| {
                let free = self.is_free(&room.email, &entry, now);
                (room.email.clone(), if free { "accepted" } else { "declined" })
            })
            .collect();
        if answers.is_empty() {
            return;
        }
        let number = self.next();
        let Some(entry) = self.find_mut(calendar, id) else { return };
        for (email, answer) in answers {
            for room in entry.guests.iter_mut().filter(|guest| guest.email == email) {
                room.response = answer.to_owned();
            }
        }
        entry.touch(number, now);
    }

    fn is_free(&self, room: &str, entry: &Entry, now: Timestamp) -> bool {
        let Some(zone) = self.owner(room).map(super::store::Owner::zone) else { return false };
        let until = now.checked_add(AHEAD).unwrap_or(Timestamp::MAX);
        let others = self.busy_entries(room, until);
        let spans = match entry.rule() {
            Some(rule) => rule.instances(&entry.span, until),
            None => vec![entry.span.clone()],
        };
        let taken = |span: &super::moment::Span| {
            let (from, to) = (span.start.at(&zone), span.end.at(&zone));
            others.iter().any(|one| one.uid != entry.uid && one.span.overlaps(Some(from), Some(to), &zone))
        };
        !spans.iter().any(taken)
    }
}

fn news(old: &Entry, new: &Entry, me: &str) -> Vec<(String, InvitationKind)> {
    if new.cancelled && !old.cancelled {
        return old.guests.iter().map(|guest| (guest.email.clone(), InvitationKind::Cancelled)).collect();
    }
    let mut letters = Vec::new();
    let shared = Change::between(old, new, me).is_shared();
    for guest in &new.guests {
        let before = old.guest(&guest.email);
        match before {
            None => letters.push((guest.email.clone(), InvitationKind::Invited)),
            Some(_) if shared => letters.push((guest.email.clone(), InvitationKind::Updated)),
            Some(before) if guest.email == me && before.response != guest.response => {
                letters.push((new.organizer.clone(), InvitationKind::Responded(guest.response.clone())));
            }
            Some(_) => {}
        }
    }
    let left = old.guests.iter().filter(|guest| new.guest(&guest.email).is_none());
    letters.extend(left.map(|guest| (guest.email.clone(), InvitationKind::Cancelled)));
    letters
}
