//! Starts PostgreSQL's programs as a user they accept (never root), so that they end when Nod ends.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::unistd::{Gid, Pid, Uid, User};

/// The user that the server runs as, seen from the kernel. PostgreSQL refuses to run as root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OsIdentity {
    /// The current user.
    CurrentUser,
    /// Root outside and 65534 inside a user namespace of its own, so that root's folders stay readable.
    UserNamespace,
    /// An unprivileged user of this machine.
    OtherUser { uid: Uid, gid: Gid },
}

impl OsIdentity {
    /// Returns the owner of the server's files.
    pub(super) fn owner(self) -> Uid {
        match self {
            Self::CurrentUser => Uid::effective(),
            Self::UserNamespace => Uid::from_raw(0),
            Self::OtherUser { uid, .. } => uid,
        }
    }

    /// Returns an existing user to run as if root cannot create a namespace.
    pub(super) fn unprivileged() -> Option<Self> {
        let user = |name: &str| User::from_name(name).ok().flatten();
        let found = user("postgres").or_else(|| user("nobody"))?;
        Some(Self::OtherUser { uid: found.uid, gid: found.gid })
    }

    /// Returns whether the kernel allows this identity: containers often forbid namespaces.
    pub(super) fn is_usable(self, program: &Path) -> bool {
        let mut command = self.command(program);
        command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    }

    /// Builds a command that runs as this identity in its own process group (a Ctrl-C in the terminal is for Nod, which
    /// then stops the server gracefully). It receives SIGINT (its graceful stop) when the thread that starts it ends.
    pub(super) fn command(self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.stdin(Stdio::null()).process_group(0).current_dir("/").env("LC_ALL", "C");
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_postgres_setting(name)) {
            command.env_remove(name);
        }
        if let Self::OtherUser { uid, gid } = self {
            command.uid(uid.as_raw()).gid(gid.as_raw());
        }
        before_exec(&mut command, self);
        command
    }
}

/// `PGDATA`, `PGPORT` and the like are meant for other servers.
fn is_postgres_setting(name: &OsStr) -> bool {
    name.to_string_lossy().starts_with("PG")
}

#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn before_exec(command: &mut Command, identity: OsIdentity) {
    let parent = Pid::this();
    let group = Gid::effective();
    let map = format!("65534 {group} 1");
    let prepare = move || {
        if identity == OsIdentity::UserNamespace {
            linux::enter_namespace(&map)?;
        }
        linux::set_parent_death_signal(parent)
    };
    // SAFETY: between fork and exec of a program with threads only async-signal-safe calls are allowed. The
    // closure makes plain system calls (unshare, open, write, prctl, getppid) on memory that was prepared
    // before the fork; it neither allocates nor takes a lock. The user id was changed before it runs.
    unsafe {
        command.pre_exec(prepare);
    }
}

/// Other systems have no parent-death signal: a server that survives a killed Nod is found by its pid file.
#[cfg(not(target_os = "linux"))]
fn before_exec(_command: &mut Command, _identity: Identity) {}

#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::CStr;
    use std::io;

    use nix::errno::Errno;
    use nix::fcntl::{OFlag, open};
    use nix::sched::{CloneFlags, unshare};
    use nix::sys::prctl::set_pdeathsig;
    use nix::sys::signal::Signal;
    use nix::sys::stat::Mode;
    use nix::unistd::{Pid, getppid, write};

    /// Enters a namespace in which we are user 65534. The kernel lets a process map its own id without help after it
    /// has given up changing groups.
    pub(super) fn enter_namespace(group_map: &str) -> io::Result<()> {
        unshare(CloneFlags::CLONE_NEWUSER)?;
        write_file(c"/proc/self/setgroups", b"deny")?;
        write_file(c"/proc/self/uid_map", b"65534 0 1")?;
        write_file(c"/proc/self/gid_map", group_map.as_bytes())
    }

    fn write_file(path: &CStr, text: &[u8]) -> io::Result<()> {
        let file = open(path, OFlag::O_WRONLY | OFlag::O_CLOEXEC, Mode::empty())?;
        write(&file, text)?;
        Ok(())
    }

    /// Must be called after any change of user, which clears the setting. Detects a parent that died just before.
    pub(super) fn set_parent_death_signal(parent: Pid) -> io::Result<()> {
        set_pdeathsig(Signal::SIGINT)?;
        if getppid() == parent { Ok(()) } else { Err(Errno::ESRCH.into()) }
    }
}

/// Sends a signal to a process that we started and have not waited for.
pub(super) fn signal(child: &std::process::Child, signal: nix::sys::signal::Signal) -> io::Result<()> {
    let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
    Ok(nix::sys::signal::kill(Pid::from_raw(pid), signal)?)
}
