//! Permanently restricts the reader process before it reads a byte. If a system cannot enforce a restriction, the
//! process goes on without it and reports that: it tries each forbidden action itself.

use std::hint::black_box;
use std::io::ErrorKind;

use nix::sys::resource::{Resource, UsageWho, getrusage, setrlimit};
use nod_contract::wire::{Hello, VERSION};

/// The memory limit in bytes; together with the pages of the program it is about 256 MB.
const MAX_MEMORY_BYTES: usize = 240 * 1024 * 1024;
/// CPU time for everything that the process reads, in seconds.
const MAX_CPU_SECONDS: u64 = 120;

/// Gives up everything that reading does not need.
pub(crate) fn confine() -> Hello {
    // If the system refuses a call here, the checks below show it.
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    #[cfg(target_os = "linux")]
    linux::confine();
    let _ = setrlimit(Resource::RLIMIT_CPU, MAX_CPU_SECONDS, MAX_CPU_SECONDS);
    Hello {
        version: VERSION.to_owned(),
        memory: is_refused_memory(),
        files: is_refused(std::fs::File::open("/").map(drop)),
        network: is_refused(std::net::UdpSocket::bind("127.0.0.1:0").map(drop)),
    }
}

/// Allows one more document CPU time of half the given seconds. After that, SIGXCPU ends the process.
pub(crate) fn allow(seconds: u64) {
    let used = getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| {
        let (user, system) = (usage.user_time(), usage.system_time());
        u64::try_from(user.tv_sec() + system.tv_sec() + 1).unwrap_or_default()
    });
    let soft = (used + seconds.div_ceil(2).clamp(1, MAX_CPU_SECONDS)).min(MAX_CPU_SECONDS);
    let _ = setrlimit(Resource::RLIMIT_CPU, soft, MAX_CPU_SECONDS);
}

fn is_refused_memory() -> bool {
    let mut taken = Vec::<u8>::new();
    let refused = taken.try_reserve_exact(MAX_MEMORY_BYTES).is_err();
    black_box(&taken);
    refused
}

fn is_refused(tried: std::io::Result<()>) -> bool {
    tried.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
}

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::BTreeMap;
    use std::error::Error;

    use landlock::{ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};
    use nix::libc;
    use nix::sys::prctl::set_pdeathsig;
    use nix::sys::resource::{Resource, setrlimit};
    use nix::sys::signal::Signal;
    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
        SeccompRule, apply_filter,
    };

    use super::MAX_MEMORY_BYTES;

    /// Standard input, output and error.
    const MAX_OPEN_FILES: u64 = 3;

    /// The order matters: Landlock needs its own file descriptor, and no step here is possible after the last filter.
    pub(super) fn confine() {
        // An idle process ends when its input does; this also ends a busy one when the parent dies.
        let _ = set_pdeathsig(Signal::SIGKILL);
        let _ = setrlimit(Resource::RLIMIT_DATA, MAX_MEMORY_BYTES as u64, MAX_MEMORY_BYTES as u64);
        let _ = keep_from_files_and_network();
        let _ = setrlimit(Resource::RLIMIT_NOFILE, MAX_OPEN_FILES, MAX_OPEN_FILES);
        let _ = keep_from_system_calls();
    }

    fn keep_from_files_and_network() -> Result<(), Box<dyn Error>> {
        let abi = ABI::V6;
        Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(abi))?
            .handle_access(AccessNet::from_all(abi))?
            .scope(Scope::from_all(abi))?
            .create()?
            .restrict_self()?;
        Ok(())
    }

    /// System calls that are not listed fail with EPERM.
    fn keep_from_system_calls() -> Result<(), Box<dyn Error>> {
        const FREE: [libc::c_long; 24] = [
            libc::SYS_read,
            libc::SYS_write,
            libc::SYS_writev,
            libc::SYS_close,
            libc::SYS_mmap,
            libc::SYS_munmap,
            libc::SYS_mremap,
            libc::SYS_brk,
            libc::SYS_madvise,
            libc::SYS_mprotect,
            libc::SYS_futex,
            libc::SYS_exit,
            libc::SYS_exit_group,
            libc::SYS_rt_sigaction,
            libc::SYS_rt_sigprocmask,
            libc::SYS_rt_sigreturn,
            libc::SYS_sigaltstack,
            libc::SYS_gettid,
            libc::SYS_getpid,
            libc::SYS_tgkill,
            libc::SYS_getrandom,
            libc::SYS_clock_gettime,
            libc::SYS_getrusage,
            libc::SYS_restart_syscall,
        ];
        let mut rules: BTreeMap<i64, Vec<SeccompRule>> =
            FREE.iter().map(|call| (*call, Vec::new())).collect();
        // CPU time is set again for each document. Only pid 0, the process itself, is allowed: a limit for another
        // process of the same user could end that process.
        let itself = SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, 0)?;
        let its_time =
            SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, Resource::RLIMIT_CPU as u64)?;
        rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![itself, its_time])?]);
        let denied = SeccompAction::Errno(u32::try_from(libc::EPERM)?);
        let filter =
            SeccompFilter::new(rules, denied, SeccompAction::Allow, std::env::consts::ARCH.try_into()?)?;
        let program: BpfProgram = filter.try_into()?;
        apply_filter(&program)?;
        Ok(())
    }

    #[cfg(test)]
    mod tests {
        use nix::sys::resource::getrlimit;
        use nix::unistd::getpid;
        use rustix::process::{Pid, Rlimit, prlimit};

        use super::*;

        /// The filter applies only to the thread that sets it.
        #[test]
        fn prlimit_with_a_pid_is_refused() {
            let kept = std::thread::spawn(|| {
                let (soft, hard) = getrlimit(Resource::RLIMIT_CPU).unwrap();
                let named = || {
                    let limit = Rlimit { current: Some(soft), maximum: Some(hard) };
                    prlimit(Pid::from_raw(getpid().as_raw()), rustix::process::Resource::Cpu, limit).map(drop)
                };
                named().unwrap();
                keep_from_system_calls().unwrap();
                setrlimit(Resource::RLIMIT_CPU, soft, hard).unwrap();
                assert_eq!(named(), Err(rustix::io::Errno::PERM));
            });
            kept.join().unwrap();
        }
    }
}
