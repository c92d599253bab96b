//! Facts as flat lines. What they save against JSON is measured in `tests/tokens`.

/// Facts as the model reads them, a line each: no braces, no quotes, no field names.
pub fn flattened<'a>(facts: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    facts.map(|(name, value)| format!("- {name}: {value}")).collect()
}
