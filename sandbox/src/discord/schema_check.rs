//! Validates requests against the vendor's own specification, with one compiled schema per operation.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::Value;

use crate::spec::Spec;

use super::rejection::Broken;

type Validator = Option<Arc<jsonschema::Validator>>;

/// The specification and the schemas compiled so far.
pub(super) struct SchemaValidator {
    spec: Spec,
    compiled: Mutex<HashMap<String, Validator>>,
}

impl SchemaValidator {
    /// Reads the file below `specs_dir`; once per process, because compiling is slow.
    pub(super) fn read(specs_dir: &Path) -> std::io::Result<Arc<Self>> {
        static READ: OnceLock<Mutex<HashMap<PathBuf, Arc<SchemaValidator>>>> = OnceLock::new();
        let read = READ.get_or_init(Mutex::default);
        let mut read = read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(judge) = read.get(specs_dir) {
            return Ok(judge.clone());
        }
        let spec = Spec::read(&specs_dir.join("discord"), "discord.requests.strict.schema.json")?;
        let judge = Arc::new(Self { spec, compiled: Mutex::default() });
        read.insert(specs_dir.to_owned(), judge.clone());
        Ok(judge)
    }

    /// Returns the violations of the specification in this body.
    pub(super) fn find_violations(&self, operation: &str, body: &Value) -> Vec<Broken> {
        let Some(validator) = self.validator(operation) else { return vec![] };
        let all = validator.iter_errors(body);
        all.map(|e| (e.instance_path().to_string(), e.to_string())).collect()
    }

    fn validator(&self, operation: &str) -> Validator {
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = compiled.get(operation) {
            return found.clone();
        }
        let judged = self.spec.document()["x-operations"][operation].get("body").is_some();
        let pointer = judged.then(|| format!("#/x-operations/{operation}/body"));
        let validator = pointer.and_then(|pointer| match self.spec.validator(&pointer) {
            Ok(validator) => Some(Arc::new(validator)),
            Err(error) => {
                tracing::error!(%operation, %error, "specification does not compile");
                None
            }
        });
        compiled.insert(operation.to_owned(), validator.clone());
        validator
    }
}
