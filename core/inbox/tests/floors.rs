//! What cargo does not hold by itself: the modules of a crate are in no circle (as `crate::` tells it), siblings do not know
//! each other, and a permit is minted in one place.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The floors, the lowest first; a crate uses those before it.
const CRATES: [&str; 9] =
    ["contract", "when", "store", "people", "accounts", "requests", "memory", "agent", "inbox"];

fn core() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
    found
}

/// The code of a file: what stands in comments leads nowhere.
fn code(file: &Path) -> String {
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// The modules that stand behind each `crate::`, also behind one with braces.
fn named(code: &str) -> BTreeSet<String> {
    let word = |text: &str| {
        text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
    };
    let mut found = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let Some(inner) = rest.strip_prefix('{') else {
            found.insert(word(rest));
            continue;
        };
        let (mut depth, mut first) = (0, true);
        for (at, c) in inner.char_indices() {
            if first && depth == 0 {
                found.insert(word(&inner[at..]));
                first = false;
            }
            match c {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => first = true,
                _ => {}
            }
        }
    }
    found
}

/// Who knows whom among the top modules of a crate.
fn known(src: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in sources(src) {
        let top = file.strip_prefix(src).unwrap().components().next().unwrap();
        let top = top.as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned();
        known.entry(top).or_default().extend(named(&code(&file)));
    }
    known
}

/// A way from a module back to itself.
fn circle(known: &BTreeMap<String, BTreeSet<String>>, from: &str) -> Option<Vec<String>> {
    let mut ways = vec![vec![from.to_owned()]];
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop() {
        for next in known.get(way.last()?).into_iter().flatten() {
            if next == from && way.len() > 1 {
                return Some(way);
            }
            if next != from && known.contains_key(next) && seen.insert(next.clone()) {
                ways.push(way.iter().cloned().chain([next.clone()]).collect());
            }
        }
    }
    None
}

#[test]
fn no_two_modules_of_a_crate_are_in_a_circle() {
    let (mut modules, mut largest) = (0, 1);
    for part in CRATES {
        let known = known(&core().join(part).join("src"));
        modules += known.len();
        for module in known.keys().filter(|module| *module != "lib") {
            if let Some(circle) = circle(&known, module) {
                largest = largest.max(circle.len());
                println!("core/{part}: {}", circle.join(" → "));
            }
        }
    }
    println!("largest circle of {modules} modules: {largest}");
    assert!(largest == 1 && modules > 50);
}

#[test]
fn a_crate_uses_only_those_below_it() {
    let siblings = ["accounts", "requests", "memory"];
    let mut upward = Vec::new();
    for (at, part) in CRATES.iter().enumerate() {
        let manifest = std::fs::read_to_string(core().join(part).join("Cargo.toml")).unwrap();
        for (above, other) in CRATES.iter().enumerate() {
            let beside = siblings.contains(part) && siblings.contains(other);
            let uses = manifest.contains(&format!("\nnod-{other}.workspace"));
            if uses && (above >= at || beside) {
                upward.push(format!("core/{part} uses nod-{other}"));
            }
        }
    }
    println!("upward references: {}", upward.len());
    assert!(upward.is_empty(), "{upward:?}");
}

#[test]
fn a_permit_is_minted_in_one_place() {
    let all = CRATES.iter().flat_map(|part| sources(&core().join(part).join("src")));
    let minted: Vec<PathBuf> = all.filter(|file| code(file).contains("Permit::mint(")).collect();
    assert_eq!(minted, [core().join("requests/src/perform.rs")]);
}
