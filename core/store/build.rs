//! Rebuilds when a migration is added: `sqlx::migrate!` tracks the files that it saw, but not their folder.

fn main() {
    println!("cargo:rerun-if-changed=../../migrations");
}
