//! No query crosses a tenant: every statement that names a tenant's table names the tenant too.
//!
//! Reads the queries that sqlx stores in `.sqlx`, so that none can be forgotten.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

/// Tables whose rows belong to no tenant.
const OF_NOBODY: [&str; 2] = ["tenants", "prompt_texts"];

/// The dispatcher works for every tenant of the database: it claims any lane that is due, and each claim carries its
/// tenant.
const FOR_ALL: [&str; 2] = [
    "select tenant_id, lane_id, lease_id, id, payload, attempts, next_due_at from claim_jobs(",
    "select tenant_id, lane_id, lease_id, id, payload, attempts, next_due_at from claim_due_jobs(",
];

fn statements() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.sqlx");
    let files = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let read = |file: std::fs::DirEntry| {
        let kept: Value = serde_json::from_str(&std::fs::read_to_string(file.path()).unwrap()).unwrap();
        kept["query"].as_str().unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    files.map(|file| read(file.unwrap())).collect()
}

/// Returns the tables whose rows belong to a tenant, according to the migrations.
fn tables() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let mut tables = BTreeSet::new();
    for file in files {
        let migration = std::fs::read_to_string(&file).unwrap();
        // A comment may contain a semicolon.
        let lines: Vec<&str> =
            migration.lines().filter(|line| !line.trim_start().starts_with("--")).collect();
        for statement in lines.join("\n").split(';') {
            let words: Vec<&str> = statement.split_whitespace().collect();
            match words[..] {
                ["create", "table", name, ..] | ["create", "unlogged", "table", name, ..] => {
                    let of_a_tenant = words.contains(&"tenant_id");
                    assert_ne!(of_a_tenant, OF_NOBODY.contains(&name), "{name}");
                    tables.extend(of_a_tenant.then(|| name.to_owned()));
                }
                ["drop", "table", name] => assert!(tables.remove(name), "{name}"),
                ["alter", "table", name, "rename", "to", new] => {
                    assert!(tables.remove(name), "{name}");
                    tables.insert(new.to_owned());
                }
                _ => {}
            }
        }
    }
    tables
}

/// Returns the tables that a statement names, each with its alias there.
fn named_tables(statement: &str, tables: &BTreeSet<String>) -> Vec<(String, String)> {
    let words: Vec<&str> = statement.split([' ', '(', ')', ',']).filter(|word| !word.is_empty()).collect();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| words.get(at)).copied().unwrap_or_default();
        if !tables.contains(*word) || !["from", "join", "into", "update"].contains(&before) {
            continue;
        }
        let next = words.get(at + 1).copied().unwrap_or_default();
        let keywords =
            ["where", "set", "on", "tenant_id", "join", "left", "order", "values", "for", "for", "limit"];
        let alias = if next.is_empty() || keywords.contains(&next) { word } else { &next };
        found.push(((*word).to_owned(), (*alias).to_owned()));
    }
    found
}

/// Returns whether a table's rows are limited to one tenant: the statement inserts `tenant_id`, compares it with its
/// own parameter, or joins the table by it to one that is limited.
fn scoped(statement: &str, table: &str, alias: &str) -> bool {
    let written = statement.contains(&format!("insert into {table} (tenant_id"));
    let compared = |name: &str| {
        let column = format!("{name}tenant_id = ");
        let spots = statement.match_indices(&column);
        spots.map(|(at, _)| &statement[at + column.len()..]).any(|rest| {
            rest.starts_with("$1")
                || rest.split([' ', ')', ',']).next().is_some_and(|w| w.ends_with(".tenant_id"))
        })
    };
    let joined = statement.contains(&format!("= {alias}.tenant_id"));
    written || joined || compared(&format!("{alias}.")) || (table == alias && compared(" "))
}

#[test]
fn every_statement_names_its_tenant() {
    let (all, known) = (statements(), tables());
    assert!(all.len() > 50, "only {} statements", all.len());
    let mut stray: Vec<String> = Vec::new();
    for statement in &all {
        if FOR_ALL.iter().any(|one| statement.starts_with(one)) {
            continue;
        }
        let tables = named_tables(statement, &known);
        // At least one table must be limited to the tenant parameter.
        let handed_in = statement.contains("tenant_id = $1") || statement.contains("(tenant_id");
        if !tables.is_empty() && !handed_in {
            stray.push(format!("no tenant at all: {statement}"));
        }
        for (table, alias) in tables {
            if !scoped(statement, &table, &alias) {
                stray.push(format!("{table} {alias}: {statement}"));
            }
        }
    }
    assert!(stray.is_empty(), "{}", stray.join("\n"));
}

#[test]
fn every_exception_is_one() {
    let all = statements();
    for known in FOR_ALL {
        assert!(all.iter().any(|statement| statement.starts_with(known)), "no statement begins: {known}");
    }
}

#[test]
fn a_statement_that_forgets_its_tenant_is_found() {
    for (statement, wanted) in [
        ("select 1 from people where id = $2", false),
        ("select 1 from people where tenant_id = $1 and id = $2", true),
        ("select 1 from people p where p.tenant_id = $1", true),
        ("select 1 from runs r join people p on p.id = r.person_id where r.tenant_id = $1", false),
        ("select 1 from runs r join people p on p.tenant_id = r.tenant_id where r.tenant_id = $1", true),
        ("insert into people (tenant_id, id) values ($1, $2)", true),
        ("insert into people (id) values ($2)", false),
        ("update people set name = $3 where id = $2", false),
        ("delete from people where tenant_id = $1 and id = $2", true),
    ] {
        let tables = named_tables(statement, &tables());
        assert!(!tables.is_empty(), "{statement}");
        let all = tables.iter().all(|(table, alias)| scoped(statement, table, alias));
        assert_eq!(all, wanted, "{statement}");
    }
}
