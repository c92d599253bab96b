//! What a point carries beside its vectors: only what it is looked up by.

use nod_contract::vector_store::Reader;
use uuid::Uuid;

pub const TENANT: &str = "tenant";
pub const READER: &str = "reader";
pub const DOCUMENT: &str = "document";
/// Document and generation in one, because Qdrant counts by one field.
pub const VERSION: &str = "version";
pub const TERMS: &str = "terms";
/// 1 if it has vectors, else 0: Qdrant counts by fields alone.
pub const EMBEDDED: &str = "embedded";

pub fn reader_key(reader: &Reader) -> String {
    match reader {
        Reader::Everyone => "everyone".to_owned(),
        Reader::Channel(channel) => format!("channel:{channel}"),
        Reader::Person(person) => format!("person:{person}"),
    }
}

pub fn version_key(document: Uuid, generation: i32) -> String {
    format!("{document}:{generation}")
}

pub fn parse_version(key: &str) -> Option<(Uuid, i32)> {
    let (document, generation) = key.split_once(':')?;
    Some((document.parse().ok()?, generation.parse().ok()?))
}
