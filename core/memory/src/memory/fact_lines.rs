//! Facts as flat lines. `tests/tokens` measures what they save compared with JSON.

/// Formats facts as the model reads them, one per line: no braces, no quotes, no field names.
pub fn fact_lines<'a>(facts: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    facts.map(|(name, value)| format!("- {name}: {value}")).collect()
}
