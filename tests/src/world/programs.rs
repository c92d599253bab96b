//! Nod as separate processes, which stories kill.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{World, max_wait};
use crate::chat::FakeChat;
use crate::{Program, free_port};

impl World {
    /// Starts Nod as a process, and waits until it is connected.
    pub async fn start_program(&self, binary: &str) -> Program {
        self.start_program_with(binary, &self.env).await
    }

    /// Starts one more on the same database. On Discord it does not connect while another one receives events.
    pub async fn start_replica(&self, binary: &str) -> Program {
        let env = self.replica_env();
        if matches!(self.chat, FakeChat::Discord(_)) {
            return Program::start(binary, &env.into_iter().collect::<Vec<_>>());
        }
        self.start_program_with(binary, &env).await
    }

    /// Returns the configuration of one more on the same database.
    #[must_use]
    pub fn replica_env(&self) -> BTreeMap<String, String> {
        let mut env = self.env.clone();
        env.insert("NOD_SERVER__BIND".to_owned(), format!("127.0.0.1:{}", free_port()));
        env
    }

    /// Starts Nod as a process with another environment.
    pub async fn start_program_with(&self, binary: &str, env: &BTreeMap<String, String>) -> Program {
        // The socket of a killed process might still exist now and disappear meanwhile.
        let mut fewest = self.chat.connection_count();
        let begun = chrono::Utc::now();
        let here = env.get("NOD_DATABASE__URL") == Some(&self.database.url);
        let env: Vec<(String, String)> = env.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        let program = Program::start(binary, &env);
        self.wait_for_sockets("a socket more", |now| {
            fewest = fewest.min(now);
            now > fewest
        })
        .await;
        if here {
            self.wait_until_ingest_recorded(begun).await;
        }
        program
    }

    /// Waits until the program has stored its ingest watermark, and with it the work of catching up. Without this a
    /// story finds nothing to do too early, and kills the program in the middle of catching up.
    pub(super) async fn wait_until_ingest_recorded(&self, since: chrono::DateTime<chrono::Utc>) {
        let until = tokio::time::Instant::now() + max_wait();
        loop {
            let heard = sqlx::query_scalar(
                "select exists (select 1 from ingest_watermarks where received_until >= $1)",
            );
            if heard.bind(since).fetch_one(&self.pool).await.unwrap_or_else(|e| panic!("{e}")) {
                return;
            }
            assert!(tokio::time::Instant::now() < until, "never heard:\n{}", self.chat.dump());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Sends SIGKILL, and waits until Slack has noticed.
    pub async fn kill_program(&self, program: Program) {
        let before = self.chat.connection_count();
        program.kill().await;
        self.wait_for_sockets("a socket less", |now| now < before.max(1)).await;
    }

    pub(super) async fn wait_for_sockets(&self, what: &str, mut enough: impl FnMut(usize) -> bool) {
        let until = tokio::time::Instant::now() + max_wait();
        while !enough(self.chat.connection_count()) {
            assert!(tokio::time::Instant::now() < until, "{what} never came:\n{}", self.chat.dump());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
