//! Validates requests against the vendors' own published specifications, if they are available.
//!
//! The caller passes the folder (`NOD_SPECS_DIR` in tests); without it nothing is validated here and only the rules
//! written in the fakes apply.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// A compiled schema file and the definitions inside it.
#[derive(Debug)]
pub struct Spec {
    document: Value,
    path: PathBuf,
}

impl Spec {
    /// Reads one `*.schema.json`.
    ///
    /// # Errors
    /// If the file cannot be read or is not JSON.
    pub fn read(dir: &Path, file: &str) -> std::io::Result<Self> {
        let path = dir.join(file);
        let document = serde_json::from_slice(&std::fs::read(&path)?)?;
        Ok(Self { document, path })
    }

    /// Reads OpenAPI's `nullable: true` as "or null", because JSON Schema ignores it.
    #[must_use]
    pub fn with_nullable(mut self) -> Self {
        convert_nullable(&mut self.document);
        self
    }

    /// Returns the whole document, for its `x-…` tables.
    #[must_use]
    pub fn document(&self) -> &Value {
        &self.document
    }

    /// Returns a validator for one definition, by its JSON pointer (`#/$defs/Name`).
    ///
    /// # Errors
    /// If the definition does not compile.
    pub fn validator(&self, pointer: &str) -> Result<jsonschema::Validator, String> {
        let mut schema = self.document.clone();
        if let Some(object) = schema.as_object_mut() {
            for structural in ["anyOf", "oneOf", "allOf", "type", "properties", "required"] {
                object.remove(structural);
            }
            object.insert("$ref".to_owned(), Value::String(pointer.to_owned()));
        }
        jsonschema::options()
            .should_validate_formats(true)
            .build(&schema)
            .map_err(|error| format!("{}{pointer}: {error}", self.path.display()))
    }
}

fn convert_nullable(schema: &mut Value) {
    match schema {
        Value::Array(all) => all.iter_mut().for_each(convert_nullable),
        Value::Object(object) => {
            object.values_mut().for_each(convert_nullable);
            if object.get("nullable") == Some(&Value::Bool(true)) {
                object.remove("nullable");
                let inner = std::mem::take(object);
                object.insert("anyOf".to_owned(), serde_json::json!([inner, {"type": "null"}]));
            }
        }
        _ => {}
    }
}

/// Returns every violation of `validator` in `value`, as sentences.
#[must_use]
pub fn violations(validator: &jsonschema::Validator, value: &Value) -> Vec<String> {
    validator.iter_errors(value).map(|e| format!("{}: {e}", e.instance_path())).collect()
}
