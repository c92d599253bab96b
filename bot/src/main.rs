//! The program `nod`.

fn main() -> std::process::ExitCode {
    nod_bot::main()
}
