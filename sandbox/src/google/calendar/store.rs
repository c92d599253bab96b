//! Calendars: their owners, their events, and the mails sent about them.
//!
//! Ids and ETags are counted up, so that a test gets the same ones each time. Nothing is ever deleted: a cancelled
//! event keeps its id.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::entry::{CalendarCopy, Entry};
use super::model::Invitation;
use super::moment::zone;
use crate::google::Account;

/// A person or a room with a calendar here.
#[derive(Debug, Clone)]
pub(super) struct Owner {
    pub email: String,
    pub name: String,
    pub zone: String,
    /// A room answers invitations by itself.
    pub is_room: bool,
    /// People of the same domain see each other's busy times.
    pub domain: String,
}

impl Owner {
    pub fn zone(&self) -> TimeZone {
        zone(&self.zone).unwrap_or(TimeZone::UTC)
    }
}

/// All calendars.
#[derive(Debug, Default)]
pub(in crate::google) struct Calendars {
    owners: BTreeMap<String, Owner>,
    pub(super) entries: Vec<Entry>,
    pub(super) notices: Vec<Invitation>,
    /// Pairs of a calendar's owner and a reader with whom it is shared.
    pub(super) shares: BTreeSet<(String, String)>,
    counter: u64,
}

impl Calendars {
    pub fn new(accounts: &[Account]) -> Self {
        let mut all = Self::default();
        for account in accounts {
            all.add(account);
        }
        all
    }

    pub fn add(&mut self, account: &Account) {
        let domain = account.email.rsplit_once('@').map_or("", |(_, domain)| domain);
        self.open(Owner {
            email: account.email.clone(),
            name: account.name.clone(),
            zone: account.time_zone.clone(),
            is_room: false,
            domain: domain.to_owned(),
        });
    }

    pub(super) fn open(&mut self, owner: Owner) {
        self.owners.entry(owner.email.clone()).or_insert(owner);
    }

    pub(super) fn owner(&self, email: &str) -> Option<&Owner> {
        self.owners.get(&email.to_lowercase())
    }

    pub(super) fn owner_mut(&mut self, email: &str) -> Option<&mut Owner> {
        self.owners.get_mut(&email.to_lowercase())
    }

    pub(super) fn is_shared(&self, owner: &str, reader: &str) -> bool {
        owner == reader || self.shares.contains(&(owner.to_owned(), reader.to_owned()))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.counter += 1;
        self.counter
    }

    /// Returns an id in Google's format.
    pub(super) fn next_id(&mut self) -> String {
        format!("sandbox{:019}", self.next())
    }

    pub(super) fn list_in_calendar<'a>(&'a self, calendar: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.entries.iter().filter(move |entry| entry.copies.contains_key(calendar))
    }

    /// Finds an entry of a calendar by its id; an unchanged instance is computed from its series.
    pub(super) fn find(&self, calendar: &str, id: &str) -> Option<Entry> {
        let stored = |id: &str| self.list_in_calendar(calendar).find(|entry| entry.id == id);
        if let Some(entry) = stored(id) {
            return Some(entry.clone());
        }
        let (series, key) = id.rsplit_once('_')?;
        let series = stored(series)?;
        Some(series.instance(series.rule()?.instance(&series.span, key)?))
    }

    /// Finds an entry for writing: an instance becomes an exception of its series.
    pub(super) fn find_mut(&mut self, calendar: &str, id: &str) -> Option<&mut Entry> {
        let found = self.find(calendar, id)?;
        let is_it = |entry: &Entry| entry.id == id && entry.copies.contains_key(calendar);
        let at = self.entries.iter().position(is_it).unwrap_or(self.entries.len());
        if at == self.entries.len() {
            self.entries.push(found);
        }
        self.entries.get_mut(at)
    }

    /// Returns the unchanged instances of a series that begin before `until`.
    pub(super) fn instances(&self, series: &Entry, until: Timestamp) -> Vec<Entry> {
        let Some(rule) = series.rule() else { return Vec::new() };
        let changed: BTreeSet<String> = self.exceptions(series).map(|entry| entry.id.clone()).collect();
        let all = rule.instances(&series.span, until).into_iter().map(|span| series.instance(span));
        all.filter(|entry| !changed.contains(&entry.id)).collect()
    }

    pub(super) fn exceptions<'a>(&'a self, series: &'a Entry) -> impl Iterator<Item = &'a Entry> {
        self.entries.iter().filter(|entry| entry.is_instance_of(series))
    }

    /// Adds an event to the calendars of its organizer and guests here, and removes it from those of people who are no
    /// longer invited.
    pub(super) fn distribute(&self, entry: &mut Entry) {
        let usual: Map<String, Value> = entry
            .copies
            .get(&entry.organizer)
            .and_then(|copy| copy.own.get_key_value("transparency"))
            .map(|(name, value)| (name.clone(), value.clone()))
            .into_iter()
            .collect();
        let mut concerned: Vec<&str> = entry.guests.iter().map(|guest| guest.email.as_str()).collect();
        concerned.push(&entry.organizer);
        for (email, copy) in &mut entry.copies {
            // A person who removed it gets it back only by a new invitation.
            copy.is_removed |= !concerned.contains(&email.as_str());
        }
        for email in concerned {
            if self.owner(email).is_some() {
                let fresh = || CalendarCopy { own: usual.clone(), ..CalendarCopy::default() };
                entry.copies.entry(email.to_owned()).or_insert_with(fresh);
            }
        }
    }
}
