//! `nod`, built beside the tests.

fn main() -> std::process::ExitCode {
    nod_bot::main()
}
