//! What Postgres needs: the proportional set of its first process and of that one's children.

use std::fs;

/// Returns the memory of a server in KiB, from one of its backends, if it runs on this machine.
pub fn of_server(backend: u32) -> Option<u64> {
    let first = parent_of(backend)?;
    let processes =
        fs::read_dir("/proc").ok()?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let of_server = processes.filter(|id| *id == first || parent_of(*id) == Some(first));
    Some(of_server.filter_map(proportional_set).sum())
}

fn parent_of(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

fn proportional_set(process: u32) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}
