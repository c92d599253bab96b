//! Statistics of durations, and what the kernel reports about a process.

use std::fmt;
use std::time::Duration;

/// A duration, displayed for people.
pub struct DisplayDuration(pub Duration);

impl fmt::Display for DisplayDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} ms", self.0.as_secs_f64() * 1000.0)
    }
}

/// Returns the quantile of the durations (0.5: the median).
pub fn quantile(times: &[Duration], part: f64) -> DisplayDuration {
    let mut sorted = times.to_vec();
    sorted.sort();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    let at = ((sorted.len() as f64 * part).ceil() as usize).clamp(1, sorted.len().max(1)) - 1;
    DisplayDuration(sorted.get(at).copied().unwrap_or_default())
}

/// A sample of a process's resources.
pub struct ProcessStats {
    /// User and system time so far.
    pub cpu: Duration,
    /// Resident memory in KiB.
    pub resident: u64,
    /// Peak resident memory in KiB.
    pub peak: u64,
}

impl ProcessStats {
    /// Samples the process with this id.
    pub fn load(id: u32) -> Self {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap();
        // The name can contain anything, including spaces; it ends with the last bracket.
        let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let kib = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim_matches(|c: char| !c.is_ascii_digit()).parse().unwrap()
        };
        // Linux counts in hundredths of a second on every machine that matters.
        Self { cpu: Duration::from_millis(ticks * 10), resident: kib("VmRSS:"), peak: kib("VmHWM:") }
    }
}
