//! Conditions: which the fake knows, and whether a point meets them.

use std::collections::HashMap;

use qdrant_client::qdrant::condition::ConditionOneOf;
use qdrant_client::qdrant::r#match::MatchValue;
use qdrant_client::qdrant::{Condition, FieldCondition, Filter, Match, Value};
use tonic::Status;

use super::refusal::{Refusal, no_story_may, not_here, require_known};
use super::state::{Collection, IndexKind, integers, strings};

/// A filter that was checked.
pub(super) struct CheckedFilter {
    must: Vec<Test>,
    must_not: Vec<Test>,
}

struct Test {
    field: String,
    values: Values,
}

enum Values {
    Keywords(Vec<String>),
    Integer(i64),
}

/// Checks a filter. Each must be limited to one tenant, and strict mode wants an index for each field.
pub(super) fn check(collection: &Collection, filter: Option<&Filter>) -> Result<CheckedFilter, Refusal> {
    let filter = filter.cloned().unwrap_or_default();
    let known = Filter { must: filter.must.clone(), must_not: filter.must_not.clone(), ..Filter::default() };
    require_known(&filter, &known, "filters with `should`")?;
    let read = |conditions: &[Condition]| -> Result<Vec<Test>, Refusal> {
        conditions.iter().map(|condition| read_condition(collection, condition)).collect()
    };
    let checked = CheckedFilter { must: read(&filter.must)?, must_not: read(&filter.must_not)? };
    let Some(tenant) = collection.tenant_field() else {
        return Err(no_story_may("a request before there is the index of tenants"));
    };
    let is_one_tenant = |test: &Test| {
        test.field == tenant && matches!(&test.values, Values::Keywords(keywords) if keywords.len() == 1)
    };
    if !checked.must.iter().any(is_one_tenant) {
        return Err(no_story_may(format!("a request that is not limited to one {tenant}")));
    }
    Ok(checked)
}

fn read_condition(collection: &Collection, condition: &Condition) -> Result<Test, Refusal> {
    let Some(ConditionOneOf::Field(condition)) = &condition.condition_one_of else {
        return Err(not_here("conditions on other things than fields"));
    };
    let known = FieldCondition {
        key: condition.key.clone(),
        r#match: condition.r#match.clone(),
        ..FieldCondition::default()
    };
    require_known(condition, &known, "conditions other than equality")?;
    let values = match &condition.r#match {
        Some(Match { match_value: Some(MatchValue::Keyword(keyword)) }) => {
            Values::Keywords(vec![keyword.clone()])
        }
        Some(Match { match_value: Some(MatchValue::Keywords(keywords)) }) if !keywords.strings.is_empty() => {
            Values::Keywords(keywords.strings.clone())
        }
        Some(Match { match_value: Some(MatchValue::Integer(number)) }) => Values::Integer(*number),
        _ => return Err(not_here("conditions other than those on words and whole numbers")),
    };
    let kind = collection.indexes.get(&condition.key).map(|index| index.kind);
    let wanted = match values {
        Values::Keywords(_) => IndexKind::Keyword,
        Values::Integer(_) => IndexKind::Integer,
    };
    if kind != Some(wanted) {
        let key = &condition.key;
        return Err(Status::invalid_argument(format!(
            "Bad request: Index required but not found for \"{key}\" of one of the following types: [{wanted:?}]"
        ))
        .into());
    }
    Ok(Test { field: condition.key.clone(), values })
}

impl CheckedFilter {
    pub(super) fn accepts(&self, payload: &HashMap<String, Value>) -> bool {
        let meets = |test: &Test| payload.get(&test.field).is_some_and(|value| test.accepts(value));
        self.must.iter().all(meets) && !self.must_not.iter().any(meets)
    }
}

impl Test {
    fn accepts(&self, value: &Value) -> bool {
        match &self.values {
            Values::Keywords(wanted) => {
                strings(value).unwrap_or_default().iter().any(|text| wanted.iter().any(|w| w == text))
            }
            Values::Integer(wanted) => integers(value).unwrap_or_default().contains(wanted),
        }
    }
}
