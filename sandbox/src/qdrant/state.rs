//! What the fake holds.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use qdrant_client::qdrant::value::Kind;
use qdrant_client::qdrant::{CreateCollection, PayloadIndexParams, Value};
use tonic::{Response, Status};
use uuid::Uuid;

use super::refusal::Refusal;
use crate::fault::Faults;

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) api_key: Option<String>,
    pub(super) faults: Faults,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) version: String,
    pub(super) collections: BTreeMap<String, Collection>,
    pub(super) operations: Vec<String>,
    pub(super) violations: Vec<String>,
    pub(super) acknowledged_only: usize,
}

#[derive(Debug)]
pub(super) struct Collection {
    /// As it was asked for.
    pub(super) creation: CreateCollection,
    /// The dimension of each named vector; all are multivectors.
    pub(super) dense: BTreeMap<String, usize>,
    pub(super) sparse: BTreeSet<String>,
    pub(super) indexes: BTreeMap<String, Index>,
    pub(super) points: BTreeMap<Uuid, StoredPoint>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Index {
    pub(super) kind: IndexKind,
    pub(super) is_tenant: bool,
    /// As it was asked for.
    pub(super) params: Option<PayloadIndexParams>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IndexKind {
    Keyword,
    /// For equality.
    Integer,
}

#[derive(Debug, Default)]
pub(super) struct StoredPoint {
    pub(super) payload: HashMap<String, Value>,
    /// The vectors by name, each of length 1.
    pub(super) dense: BTreeMap<String, Vec<Vec<f32>>>,
    pub(super) sparse: BTreeMap<String, BTreeMap<u32, f32>>,
}

impl Shared {
    pub(super) fn new(api_key: Option<String>, version: &str) -> Self {
        let state = State { version: version.to_owned(), ..State::default() };
        Self { api_key, faults: Faults::default(), state: Mutex::new(state) }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries out a request, and records it if no story may ask for it.
    pub(super) fn answer<T>(
        &self,
        work: impl FnOnce(&mut State) -> Result<T, Refusal>,
    ) -> Result<Response<T>, Status> {
        let state = &mut *self.state();
        match work(state) {
            Ok(answer) => Ok(Response::new(answer)),
            Err(Refusal::Server(status)) => Err(status),
            Err(Refusal::Story(violation)) => {
                let status = Status::invalid_argument(format!("no story may do this: {violation}"));
                state.violations.push(violation);
                Err(status)
            }
        }
    }
}

impl State {
    pub(super) fn collection(&mut self, name: &str) -> Result<&mut Collection, Refusal> {
        let missing = || Status::not_found(format!("Not found: Collection `{name}` doesn't exist!"));
        self.collections.get_mut(name).ok_or_else(|| missing().into())
    }
}

impl Collection {
    /// Returns the field that tells tenants apart.
    pub(super) fn tenant_field(&self) -> Option<&str> {
        self.indexes.iter().find(|(_, index)| index.is_tenant).map(|(field, _)| field.as_str())
    }
}

/// Returns the strings of a field: itself, or its list.
pub(super) fn strings(value: &Value) -> Option<Vec<&str>> {
    match value.kind.as_ref()? {
        Kind::StringValue(text) => Some(vec![text]),
        Kind::ListValue(list) => {
            list.values.iter().map(Value::as_str).map(|s| s.map(String::as_str)).collect()
        }
        _ => None,
    }
}

/// Same, for whole numbers.
pub(super) fn integers(value: &Value) -> Option<Vec<i64>> {
    match value.kind.as_ref()? {
        Kind::IntegerValue(number) => Some(vec![*number]),
        Kind::ListValue(list) => list.values.iter().map(Value::as_integer).collect(),
        _ => None,
    }
}
