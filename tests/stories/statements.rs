//! Every statement of the program is run with the ids of organisation 1: by organisation 1, to see that it finds
//! something, and by organisation 2, which must get what it would get without the rows of 1, and must not change them.
//! The statements are those that the compiler stores in `.sqlx`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use nod_tests::TestDatabase;
use serde_json::{Map, Value};
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Column, Connection, Executor, PgConnection, Row, ValueRef};

/// The exceptions, as in the sibling of [`crate::tenants`] in `core/inbox/tests`: the dispatcher works for every
/// organisation. All organisations share the sequence of job numbers, so the result of `enqueue` is never the same, and
/// the texts that prompts have in common, which are the program's.
const FOR_ALL: [&str; 4] = ["claim_jobs(", "claim_due_jobs(", "select enqueue(", "insert into prompt_texts"];
/// Each timestamp that a statement gets: the row's own, or one long before or long after it.
const TIMES: [Option<&str>; 3] = [None, Some("2020-03-06 09:30Z"), Some("2036-03-06 09:30Z")];
const OWN: &str = "00000000-0000-0000-0000-000000000001";
const OTHER: &str = "00000000-0000-0000-0000-000000000002";
/// Columns with the number of a new job or a new lease, which are never the same.
const DRAWN: [&str; 2] = ["job", "lease_id"];
/// The number of statements that find nothing even for organisation 1. It only decreases.
const UNTRIED: usize = 13;

/// The number of statements that assert a lease.
const WITH_LEASE: usize = 10;

/// The functions that write, and the columns that their first parameters are compared with.
const WRITING_FUNCTIONS: [(&str, &[&str]); 3] = [
    ("complete_job", &["tenant_id", "id", "lease_id", "job"]),
    ("end_job", &["tenant_id", "id", "lease_id", "job"]),
    ("enqueue_once", &["tenant_id", "id"]),
];

/// They show rows of tables.
const VIEWS: [&str; 3] = ["conversation_locations", "jobs", "run_steps"];

struct Statement {
    query: String,
    /// The type of each parameter and, if it is compared with or written to a column, its table and column.
    parameters: Vec<(String, Option<(String, String)>)>,
}

/// The columns of each table.
type Schema = BTreeMap<String, BTreeSet<String>>;
/// A row's index, a timestamp, and the statements that prepare the rows.
type Variant<'a> = (usize, Option<&'a str>, &'a [String]);
/// The rows of each table.
type Rows = BTreeMap<String, Vec<Map<String, Value>>>;

fn statements(schema: &Schema) -> Vec<Statement> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../.sqlx");
    let mut statements: Vec<Statement> = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| {
            let kept: Value =
                serde_json::from_str(&std::fs::read_to_string(file.unwrap().path()).unwrap()).unwrap();
            let types = kept["describe"]["parameters"]["Left"].as_array().unwrap();
            let types: Vec<&str> = types.iter().map(|name| name.as_str().unwrap()).collect();
            statement(kept["query"].as_str().unwrap(), &types, schema)
        })
        .filter(|statement| !FOR_ALL.iter().any(|one| statement.query.contains(one)))
        .collect();
    statements.sort_by(|a, b| a.query.cmp(&b.query));
    statements
}

fn statement(query: &str, types: &[&str], schema: &Schema) -> Statement {
    let lines = query.lines().filter(|line| !line.trim_start().starts_with("--"));
    let query = lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
    let words = tokenize(&query);
    let names = names(&words, schema);
    let column = |number: usize| column(&words, &format!("${number}"), &names, schema);
    let parameters = types.iter().enumerate().map(|(at, name)| ((*name).to_owned(), column(at + 1)));
    Statement { parameters: parameters.collect(), query }
}

/// Splits a statement into names, parameters, strings and operators.
fn tokenize(query: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut rest = query;
    while let Some(first) = rest.chars().next() {
        let inside = |c: char| c.is_alphanumeric() || "_.$:\"!".contains(c);
        let length = match first {
            '\'' => rest[1..].find('\'').map_or(rest.len(), |at| at + 2),
            c if inside(c) => rest.find(|c| !inside(c)).unwrap_or(rest.len()),
            '<' | '>' => rest.find(|c| !"<>=".contains(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let word = rest[..length].split("::").next().unwrap_or_default();
        if !word.trim().is_empty() {
            words.push(word.to_owned());
        }
        rest = &rest[length..];
    }
    words
}

/// Returns the tables that a statement names, with their aliases.
fn names(words: &[String], schema: &Schema) -> Vec<(String, String)> {
    let mut names = Vec::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        let before = ["from", "join", "into", "update", ","].contains(&words[at - 1].as_str());
        if before && schema.contains_key(word) {
            let next = words.get(at + 1).map_or("", String::as_str);
            let next = if next == "as" { words.get(at + 2).map_or("", String::as_str) } else { next };
            names.push((next.to_owned(), word.clone()));
            names.push((word.clone(), word.clone()));
        }
    }
    names
}

/// Returns the table and column that a word names.
fn find_column(word: &str, names: &[(String, String)], schema: &Schema) -> Option<(String, String)> {
    let (alias, column) = word.split_once('.').unwrap_or(("", word));
    let mut tables = names.iter().filter(|(name, _)| alias.is_empty() || name == alias);
    let table = tables.find(|(_, table)| schema[table].contains(column))?;
    Some((table.1.clone(), column.to_owned()))
}

/// Returns the column that a parameter is compared with or written to.
fn column(
    words: &[String],
    parameter: &str,
    names: &[(String, String)],
    schema: &Schema,
) -> Option<(String, String)> {
    let spots = words.iter().enumerate().filter(|(_, word)| *word == parameter).map(|(at, _)| at);
    spots.into_iter().find_map(|at| {
        let between = |word: &&String| {
            let passed = [
                "(", ")", "coalesce", "any", "is", "not", "distinct", "from", "in", "greatest", "like",
                "lower", "trim",
            ];
            passed.contains(&word.as_str()) || word.chars().all(|c| "<>=".contains(c))
        };
        let before = words[..at]
            .iter()
            .rev()
            .find(|word| !between(word))
            .and_then(|word| find_column(word, names, schema));
        let compared = words.get(at + 1).is_some_and(|word| word.chars().all(|c| "<>=,".contains(c)));
        let after = words.get(at + 2).filter(|_| compared).and_then(|word| find_column(word, names, schema));
        before.or_else(|| find_insert_column(words, at)).or(after).or_else(|| find_argument_column(words, at))
    })
}

/// Returns the column of the parameter at `at`, in a call `function($1, $2)`.
fn find_argument_column(words: &[String], at: usize) -> Option<(String, String)> {
    let called = |(name, columns): &(&str, &'static [&'static str])| {
        Some((words.iter().position(|word| word == name)?, *columns))
    };
    let (call, columns) = WRITING_FUNCTIONS.iter().find_map(called)?;
    let column = columns.get(at.checked_sub(call + 2)? / 2)?;
    Some(("lanes".to_owned(), (*column).to_owned()))
}

/// Returns the column that the expression around `at` is written to, by its position in an insert's list.
fn find_insert_column(words: &[String], at: usize) -> Option<(String, String)> {
    let into = words[..at].iter().rposition(|word| word == "into")?;
    let table = words.get(into + 1)?;
    let listed = into + 3;
    let closed = listed + words[listed..].iter().position(|word| word == ")")?;
    let columns: Vec<&String> = words[listed..closed].iter().filter(|word| *word != ",").collect();
    let start = closed + 1 + usize::from(words.get(closed + 1)? == "values");
    let (mut depth, mut place) = (0_usize, 0_usize);
    for word in words.get(start..at)? {
        match word.as_str() {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            "from" if words[closed + 1] == "select" && depth == 0 => return None,
            "," if depth == usize::from(words[closed + 1] == "values") => place += 1,
            _ => {}
        }
    }
    Some((table.clone(), (*columns.get(place)?).clone()))
}

/// Fills in the parameters: from the `row`th row of each table, or with any value of the type.
fn fill_parameters(
    statement: &Statement,
    tenant: &str,
    rows: &Rows,
    row: usize,
    when: Option<&str>,
) -> String {
    let mut query = statement.query.clone();
    for (at, (kind, column)) in statement.parameters.iter().enumerate().rev() {
        let of_row = column.as_ref().and_then(|(table, column)| {
            let rows = rows.get(table).filter(|rows| !rows.is_empty())?;
            rows[row % rows.len()].get(column).filter(|value| !value.is_null())
        });
        let is_tenant = at == 0 && kind == "Uuid" || column.as_ref().is_some_and(|(_, c)| c == "tenant_id");
        let value = match (is_tenant, kind.as_str(), when, of_row) {
            (true, ..) => Value::from(tenant),
            (_, "Timestamptz", Some(when), _) => Value::from(when),
            (_, "Int8", Some(_), _) => Value::from(0),
            (.., Some(value)) => value.clone(),
            (_, "Timestamptz", ..) => Value::from("2026-03-06 09:31Z"),
            (_, "Uuid" | "UuidArray", ..) => Value::from("00000000-0000-0000-0000-0000000000ff"),
            (_, "Bool", ..) => Value::from(true),
            (_, "Jsonb", ..) if is_list(&query, at + 1) => Value::Array(Vec::new()),
            (_, "Jsonb", ..) => Value::Object(Map::new()),
            _ => Value::from(1),
        };
        query = query.replace(&format!("${}", at + 1), &literal(kind, &value));
    }
    query
}

/// Returns whether a parameter of a job's commit is a list of rows.
fn is_list(query: &str, parameter: usize) -> bool {
    let read = format!("jsonb_to_recordset(${parameter})");
    query.contains("send_messages(") || query.contains("held as (") && query.contains(&read)
}

fn literal(kind: &str, value: &Value) -> String {
    let text =
        |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned).replace('\'', "''");
    match (kind.strip_suffix("Array"), value) {
        (Some(of), Value::Array(list)) => {
            let list: Vec<String> = list.iter().map(|one| format!("'{}'", text(one))).collect();
            format!("array[{}]::{of}[]", list.join(","))
        }
        (Some(of), one) => format!("array['{}']::{of}[]", text(one)),
        (None, Value::Array(list)) if kind != "Jsonb" => {
            format!("'{}'::{kind}", list.first().map(text).unwrap_or_default())
        }
        (None, value) if kind == "Jsonb" => format!("'{}'::{kind}", value.to_string().replace('\'', "''")),
        (None, value) => format!("'{}'::{kind}", text(value)),
    }
}

/// The result of a statement, how many rows it creates and how many existing rows it changes.
#[derive(PartialEq)]
struct Outcome {
    answer: String,
    made: usize,
    changed: usize,
}

impl Outcome {
    fn changes_something(&self) -> bool {
        self.made + self.changed > 0
    }
}

/// Runs a statement after the updates that it needs, and rolls both back.
async fn outcome(conn: &mut PgConnection, schema: &Schema, needs: &[String], query: &str) -> Outcome {
    conn.execute("begin").await.unwrap();
    for need in needs {
        conn.execute("savepoint tried").await.unwrap();
        // An update that the schema forbids is skipped.
        if conn.execute(AssertSqlSafe(need.clone())).await.is_err() {
            conn.execute("rollback to tried").await.unwrap();
        }
    }
    let writes = !query.starts_with("select")
        || WRITING_FUNCTIONS.iter().any(|(name, _)| query.contains(&format!(" {name}(")));
    let before = if writes { every_row(conn, schema).await } else { BTreeSet::new() };
    let answered = sqlx::raw_sql(AssertSqlSafe(query.to_owned())).fetch_all(&mut *conn).await;
    let outcome = match answered {
        Ok(found) => {
            let after = if writes { every_row(conn, schema).await } else { BTreeSet::new() };
            Outcome {
                answer: found.iter().map(format_row).collect::<Vec<_>>().join("\n"),
                made: after.difference(&before).count(),
                changed: before.difference(&after).count(),
            }
        }
        Err(sqlx::Error::Database(e)) => Outcome { answer: e.message().to_owned(), made: 0, changed: 0 },
        Err(e) => panic!("{query}: {e}"),
    };
    conn.execute("rollback").await.unwrap();
    outcome
}

async fn every_row(conn: &mut PgConnection, schema: &Schema) -> BTreeSet<String> {
    // A row's `ctid` changes with every update, even one that sets the same values.
    let of = |table: &String| format!("select '{table} ' || t.ctid || t::text from {table} t");
    let all = schema
        .keys()
        .filter(|table| !VIEWS.contains(&table.as_str()))
        .map(of)
        .collect::<Vec<_>>()
        .join(" union all ");
    sqlx::query_scalar(AssertSqlSafe(all)).fetch_all(conn).await.unwrap().into_iter().collect()
}

/// Returns the updates after which a statement finds the samples' rows: they set the values that it compares its
/// columns with.
fn needs(statement: &Statement, schema: &Schema) -> Vec<String> {
    let words = tokenize(&statement.query);
    let names = names(&words, schema);
    let mut needs = BTreeMap::new();
    for (at, word) in words.iter().enumerate() {
        let Some((table, column)) = find_column(word, &names, schema) else { continue };
        let next = |by: usize| words.get(at + by).map_or("", String::as_str);
        let present = format!("coalesce({column}, '2026-03-06 09:30Z')");
        let value = match (next(1), next(2), next(3)) {
            ("=", literal, _) | ("in", "(", literal) if literal.starts_with('\'') => literal,
            ("is", "null", _) => "null",
            ("is", "not", "null") => &present,
            ("and" | "" | ")" | "order" | "limit", ..) if words[at - 1] == "not" => "false",
            ("and" | "" | ")" | "order" | "limit", ..) if words[at - 1] == "and" => "true",
            _ => continue,
        };
        // For an update the condition wins, which comes after what it sets.
        needs.insert((table.clone(), column.clone()), format!("update {table} set {column} = {value}"));
    }
    needs.into_values().collect()
}

fn format_row(row: &PgRow) -> String {
    let value = |at: usize| {
        let raw = row.try_get_raw(at).unwrap();
        if raw.is_null() { "null".to_owned() } else { raw.as_str().unwrap().to_owned() }
    };
    row.columns()
        .iter()
        .filter(|c| !DRAWN.contains(&c.name().trim_end_matches('!')))
        .map(|c| format!("{}: {}", c.name(), value(c.ordinal())))
        .collect::<Vec<_>>()
        .join(", ")
}

async fn tables(conn: &mut PgConnection) -> Schema {
    let columns: Vec<(String, String)> = sqlx::query_as(
        "select table_name::text, column_name::text from information_schema.columns
         where table_schema = 'public' and table_name in (
             select table_name from information_schema.columns where column_name = 'tenant_id')",
    )
    .fetch_all(conn)
    .await
    .unwrap();
    let mut schema = Schema::new();
    for (table, column) in columns {
        schema.entry(table).or_default().insert(column);
    }
    schema
}

/// Creates a database with the migrations' samples as the rows of organisation 1, or with only the two organisations.
async fn create_database(samples: bool) -> (TestDatabase, PgConnection) {
    let database = if samples { TestDatabase::with_samples().await } else { TestDatabase::new().await };
    let mut conn = PgConnection::connect(&database.url).await.unwrap();
    for tenant in [OWN, OTHER] {
        let name = format!(
            "insert into tenants values ('{tenant}', 'acme', '2026-03-06 09:30Z') on conflict do nothing"
        );
        conn.execute(AssertSqlSafe(name)).await.unwrap();
    }
    (database, conn)
}

/// A database with rows of organisation 1, the same one without them, and those rows.
struct Two {
    databases: [TestDatabase; 2],
    with: PgConnection,
    without: PgConnection,
    schema: Schema,
    rows: Rows,
}

impl Two {
    async fn new() -> Self {
        let (with_rows, mut with) = create_database(true).await;
        let (without_rows, without) = create_database(false).await;
        let schema = tables(&mut with).await;
        let mut rows = Rows::new();
        for table in schema.keys() {
            let all = format!("select to_jsonb(t) from {table} t");
            let all: Vec<Value> = sqlx::query_scalar(AssertSqlSafe(all)).fetch_all(&mut with).await.unwrap();
            rows.insert(table.clone(), all.into_iter().map(|row| row.as_object().unwrap().clone()).collect());
        }
        Self { databases: [with_rows, without_rows], with, without, schema, rows }
    }

    /// Returns whether the rows of organisation 1 make a difference to a tenant.
    async fn differs(&mut self, statement: &Statement, tenant: &str, variant: Variant<'_>) -> bool {
        let (row, when, needs) = variant;
        let query = fill_parameters(statement, tenant, &self.rows, row, when);
        let alone = outcome(&mut self.without, &self.schema, &[], &query).await;
        outcome(&mut self.with, &self.schema, needs, &query).await != alone
    }

    /// Runs a statement of organisation 1 with the ids of its rows.
    async fn outcome_with_rows(&mut self, statement: &Statement, row: usize, needs: &[String]) -> Outcome {
        let query = fill_parameters(statement, OWN, &self.rows, row, None);
        outcome(&mut self.with, &self.schema, needs, &query).await
    }

    /// Returns whether organisation 1 finds something, and whether organisation 2 finds something of 1.
    async fn try_statement(&mut self, statement: &Statement) -> (bool, bool) {
        let needs = needs(statement, &self.schema);
        for at in 0..9 {
            for needs in [&needs[..], &[]] {
                let variant = (at / 3, TIMES[at % 3], needs);
                let stray = self.differs(statement, OTHER, variant).await;
                if stray || self.differs(statement, OWN, variant).await {
                    return (true, stray);
                }
            }
        }
        (false, false)
    }

    async fn close(self) {
        self.with.close().await.unwrap();
        self.without.close().await.unwrap();
        for database in self.databases {
            database.drop_database().await;
        }
    }
}

#[tokio::test]
async fn no_statement_sees_or_changes_the_rows_of_another_organisation() {
    let mut two = Two::new().await;
    let (mut stray, mut untried) = (Vec::new(), Vec::new());
    let all = statements(&two.schema);
    for statement in &all {
        let (found, crosses) = two.try_statement(statement).await;
        stray.extend(crosses.then_some(statement.query.as_str()));
        untried.extend((!found).then_some(statement.query.as_str()));
    }
    #[allow(clippy::print_stdout)]
    {
        println!("{} statements, {} of them find nothing in the samples:", all.len(), untried.len());
        println!("{}", untried.join("\n"));
    }
    assert!(stray.is_empty(), "{}", stray.join("\n"));
    assert_eq!(untried.len(), UNTRIED, "see what is printed above");
    two.close().await;
}

/// Those that a job's commit begins or ends with. Without the lease they change nothing, or return no row, at which their
/// callers roll back. With it they change something: otherwise this would say nothing.
#[tokio::test]
async fn no_statement_that_asserts_a_lease_changes_anything_without_it() {
    let mut two = Two::new().await;
    let lease = "update lanes set lease_id = gen_random_uuid(), leased_until = now() + interval '1 hour'";
    two.with.execute(lease).await.unwrap();
    let lanes: Vec<Value> =
        sqlx::query_scalar("select to_jsonb(l) from lanes l").fetch_all(&mut two.with).await.unwrap();
    two.rows
        .insert("lanes".to_owned(), lanes.into_iter().map(|row| row.as_object().unwrap().clone()).collect());
    let is_lease = |(_, column): &(String, String)| column == "lease_id";
    let (mut fenced, mut unfenced, mut untried) = (0, Vec::new(), Vec::new());
    for statement in statements(&two.schema) {
        let Some(at) = statement.parameters.iter().position(|(_, of)| of.as_ref().is_some_and(is_lease))
        else {
            continue;
        };
        let mut lost = Statement { query: statement.query.clone(), parameters: statement.parameters.clone() };
        lost.parameters[at].1 = None;
        let needs = needs(&statement, &two.schema);
        let (mut is_tried, mut is_fenced) = (false, true);
        for (row, needs) in (0..9).flat_map(|row| [(row, &needs[..]), (row, &[])]) {
            let with = two.outcome_with_rows(&statement, row, needs).await;
            let without = two.outcome_with_rows(&lost, row, needs).await;
            let is_rolled_back = without.answer.is_empty() && !with.answer.is_empty();
            is_tried |= with.changes_something() || is_rolled_back;
            is_fenced &= is_rolled_back || !without.changes_something();
        }
        fenced += usize::from(is_tried && is_fenced);
        unfenced.extend((!is_fenced).then_some(statement.query.clone()));
        untried.extend((!is_tried).then_some(statement.query));
    }
    assert!(unfenced.is_empty(), "{}", unfenced.join("\n"));
    assert!(untried.is_empty(), "{}", untried.join("\n"));
    assert_eq!(fenced, WITH_LEASE);
    two.close().await;
}

#[tokio::test]
async fn a_statement_that_crosses_is_found() {
    let mut two = Two::new().await;
    for (query, wanted) in [
        ("select name from people where tenant_id = $1 and id = $2", false),
        ("select name from people where $1::uuid is not null and id = $2", true),
        ("update people set name = 'x' where tenant_id = $1 and id = $2", false),
        ("update people set name = 'x' where $1::uuid is not null and id = $2", true),
        ("delete from voters where tenant_id <> $1 and person_id = $2", true),
    ] {
        let statement = statement(query, &["Uuid", "Uuid"], &two.schema);
        assert_eq!(two.try_statement(&statement).await, (true, wanted), "{query}");
    }
    two.close().await;
}
