//! What each step did, with its time and tokens: one record per node, tool call and model call.

use std::sync::{Mutex, PoisonError};

use nod_store::steps::StepRecord;

/// Collects the records of a step until its commit.
#[derive(Debug, Default)]
pub struct Records(Mutex<Vec<StepRecord>>);

impl Records {
    pub fn push(&self, record: StepRecord) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(record);
    }

    pub fn take(&self) -> Vec<StepRecord> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
