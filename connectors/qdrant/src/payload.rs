//! What a point carries beside its vectors: only what it is looked up by.

use nod_contract::ids::{ChannelId, PersonId};
use nod_contract::vector_store::{PointGroup, Reader};

pub const TENANT: &str = "tenant";
pub const READER: &str = "reader";
pub const DOCUMENT: &str = "document";
pub const GENERATION: &str = "generation";
/// What a point is counted by, in one, because Qdrant counts by one field.
pub const GROUP: &str = "group";
pub const TERMS: &str = "terms";
/// 1 if it has vectors, else 0: Qdrant counts by fields alone.
pub const EMBEDDED: &str = "embedded";

/// Each has an index.
pub const FIELDS: [&str; 7] = [TENANT, READER, DOCUMENT, GENERATION, GROUP, TERMS, EMBEDDED];

pub fn reader_key(reader: &Reader) -> String {
    match reader {
        Reader::Everyone => "everyone".to_owned(),
        Reader::Channel(channel) => format!("channel:{channel}"),
        Reader::Person(person) => format!("person:{person}"),
    }
}

fn parse_reader(key: &str) -> Option<Reader> {
    match key.split_once(':') {
        None => (key == "everyone").then_some(Reader::Everyone),
        Some(("channel", id)) => Some(Reader::Channel(ChannelId(id.parse().ok()?))),
        Some(("person", id)) => Some(Reader::Person(PersonId(id.parse().ok()?))),
        Some(_) => None,
    }
}

pub fn group_key(group: &PointGroup) -> String {
    let PointGroup { document, generation, reader, is_embedded } = group;
    format!("{document}:{generation}:{}:{}", i64::from(*is_embedded), reader_key(reader))
}

pub fn parse_group(key: &str) -> Option<PointGroup> {
    let mut parts = key.splitn(4, ':');
    Some(PointGroup {
        document: parts.next()?.parse().ok()?,
        generation: parts.next()?.parse().ok()?,
        is_embedded: parts.next()? == "1",
        reader: parse_reader(parts.next()?)?,
    })
}
