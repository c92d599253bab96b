//! Validates arguments against the vendor's own specification, with one compiled schema per method.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::{Map, Value};

use crate::spec::{Spec, violations};

type Validator = Option<Arc<jsonschema::Validator>>;

/// The specification and the schemas compiled so far.
pub(super) struct SchemaValidator {
    spec: Spec,
    compiled: Mutex<HashMap<String, Validator>>,
}

impl SchemaValidator {
    /// Reads `slack/slack.requests.schema.json` below `specs_dir`, once per process because compiling is slow.
    pub(super) fn read(specs_dir: &Path) -> std::io::Result<Arc<Self>> {
        static READ: OnceLock<Mutex<HashMap<PathBuf, Arc<SchemaValidator>>>> = OnceLock::new();
        let read = READ.get_or_init(Mutex::default);
        let mut read = read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(judge) = read.get(specs_dir) {
            return Ok(judge.clone());
        }
        let spec = Spec::read(&specs_dir.join("slack"), "slack.requests.schema.json")?;
        let judge = Arc::new(Self { spec, compiled: Mutex::default() });
        read.insert(specs_dir.to_owned(), judge.clone());
        Ok(judge)
    }

    /// Returns how these arguments violate the specification.
    pub(super) fn find_violations(&self, method: &str, args: &Map<String, Value>) -> Vec<String> {
        match self.validator(method) {
            Some(validator) => violations(&validator, &Value::Object(args.clone())),
            None => vec![],
        }
    }

    fn validator(&self, method: &str) -> Validator {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = compiled.get(method) {
            return found.clone();
        }
        let pointer = self.spec.document()["x-methods"][method]["request"].as_str();
        let validator = pointer.and_then(|pointer| match self.spec.validator(pointer) {
            Ok(validator) => Some(Arc::new(validator)),
            Err(error) => {
                tracing::error!(%method, %error, "specification does not compile");
                None
            }
        });
        compiled.insert(method.to_owned(), validator.clone());
        validator
    }
}
