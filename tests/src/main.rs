//! `nod`, built together with the tests.

fn main() -> std::process::ExitCode {
    nod_bot::main()
}
