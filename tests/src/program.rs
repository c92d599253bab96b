//! The real program as a process that tests can kill.

use std::net::TcpListener;
use std::process::Stdio;
use std::sync::atomic::{AtomicU16, Ordering};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::{Child, Command};

/// A running `nod`.
pub struct Program {
    child: Child,
}

impl Program {
    /// Starts `binary run` with only these variables set.
    #[must_use]
    pub fn start(binary: &str, env: &[(String, String)]) -> Self {
        let keep = ["PATH", "HOME"].into_iter().filter_map(|n| Some((n.to_owned(), std::env::var(n).ok()?)));
        let child = Command::new(binary)
            .arg("run")
            .env_clear()
            .envs(keep)
            .envs(env.iter().cloned())
            .envs(std::env::var("NOD_TEST_LOG").ok().map(|filter| ("NOD_LOG__FILTER", filter)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(if std::env::var_os("NOD_TEST_LOG").is_some() { Stdio::inherit() } else { Stdio::null() })
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|e| panic!("{binary}: {e}"));
        Self { child }
    }

    /// Returns its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id().unwrap_or_else(|| panic!("the program has ended by itself"))
    }

    /// Sends SIGKILL, and waits until the process has ended.
    pub async fn kill(self) {
        self.terminate(Signal::SIGKILL).await;
    }

    /// Sends SIGTERM, and waits until the process has shut down.
    pub async fn stop(self) {
        self.terminate(Signal::SIGTERM).await;
    }

    async fn terminate(mut self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.id()).unwrap_or_else(|e| panic!("{e}")));
        kill(pid, signal).unwrap_or_else(|e| panic!("{signal}: {e}"));
        let _ = self.child.wait().await;
    }
}

/// Returns a free port that no other process gets: below the range of the system's ephemeral ports, a block for each
/// process, one port after another.
#[must_use]
pub fn free_port() -> u16 {
    static NEXT_PORT: AtomicU16 = AtomicU16::new(0);
    let stretch = 10_000 + u16::try_from(std::process::id() % 44).unwrap_or_default() * 500;
    (0..500)
        .map(|_| stretch + NEXT_PORT.fetch_add(1, Ordering::Relaxed) % 500)
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .unwrap_or_else(|| panic!("no free port"))
}
