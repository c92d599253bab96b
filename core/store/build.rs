//! A new migration is seen: the macro that takes them in tracks the files that it saw, not their folder.

fn main() {
    println!("cargo:rerun-if-changed=../../migrations");
}
