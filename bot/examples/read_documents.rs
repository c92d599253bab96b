//! Reads documents, as `nod parse` does. For tests of this crate: what runs them is no `nod`, and cargo builds examples
//! before it runs tests.

fn main() -> std::process::ExitCode {
    nod_reading::main()
}
