//! The real program as a process, to be killed.

use std::net::TcpListener;
use std::process::Stdio;

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
    pub fn run(binary: &str, env: &[(String, String)]) -> Self {
        let keep = ["PATH", "HOME"].into_iter().filter_map(|n| Some((n.to_owned(), std::env::var(n).ok()?)));
        let child = Command::new(binary)
            .arg("run")
            .env_clear()
            .envs(keep)
            .envs(env.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(if std::env::var_os("NOD_TEST_LOG").is_some() { Stdio::inherit() } else { Stdio::null() })
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|e| panic!("{binary}: {e}"));
        Self { child }
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id().unwrap_or_else(|| panic!("the program has ended by itself"))
    }

    /// SIGKILL, and waits until it is gone.
    pub async fn kill(self) {
        self.ends_by(Signal::SIGKILL).await;
    }

    /// SIGTERM, and waits until it has ended in order.
    pub async fn stop(self) {
        self.ends_by(Signal::SIGTERM).await;
    }

    async fn ends_by(mut self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.id()).unwrap_or_else(|e| panic!("{e}")));
        kill(pid, signal).unwrap_or_else(|e| panic!("{signal}: {e}"));
        let _ = self.child.wait().await;
    }
}

/// A port that was free a moment ago.
#[must_use]
pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .and_then(|socket| socket.local_addr())
        .map_or_else(|e| panic!("no free port: {e}"), |address| address.port())
}
