//! The database that Nod runs by itself: PostgreSQL's own programs under a small supervisor. It listens only on a
//! socket in a private folder, keeps fsync on, ends when Nod ends, and is restarted if it exits by itself.

mod binaries;
mod cluster;
mod paths;
mod process;
mod supervisor;

#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use secrecy::SecretString;
use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection};

use super::MIN_MAJOR_VERSION;
use paths::{Lock, ServerPaths};
use supervisor::Supervisor;

/// How long starts are retried if the remains of an earlier server prevent them: its processes end only after what they
/// are writing to disk.
const START_TIMEOUT: Duration = Duration::from_secs(60);
/// How long to wait for a server that recovers after a crash.
const RECOVERY: Duration = Duration::from_secs(120);

/// A running server. Dropping it stops the server too, without waiting for it.
#[derive(Debug)]
pub struct Embedded {
    supervisor: Supervisor,
    paths: ServerPaths,
    lock: Lock,
}

/// Why the embedded database did not start.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// PostgreSQL's programs were not found.
    #[error("{}", no_binaries(too_old))]
    NoBinaries { too_old: Vec<u32> },
    /// The data was created by another version.
    #[error(
        "this data folder was created by PostgreSQL {data}, but only {} is installed. Install PostgreSQL \
         {data} again, or move the data with pg_dump and set database.url",
        list(here)
    )]
    VersionMismatch { data: u32, here: Vec<u32> },
    /// Another Nod uses it.
    #[error(
        "another nod (process {pid}) is using the data folder {}. Stop it, or give this one its own \
         data.dir. Several nods can share one database with database.url",
        path.display()
    )]
    InUse { path: PathBuf, pid: String },
    /// No process has started it.
    #[error("no database is running in {}", .0.display())]
    NotRunning(PathBuf),
    /// A folder cannot be created or read.
    #[error("can't use the folder {}: {error}", path.display())]
    Folder { path: PathBuf, error: io::Error },
    /// Another user created the folder that the socket needs.
    #[error(
        "{} exists, but it isn't a private folder of the database's user. Remove it, or set data.dir to a \
         shorter path",
        path.display()
    )]
    ForeignFolder { path: PathBuf },
    /// Nod runs as root and cannot switch to another user.
    #[error(
        "PostgreSQL doesn't run as root, and this machine allows no user namespace. Run nod as another user, \
         or set database.url"
    )]
    NoNamespace,
    /// initdb or the server failed.
    #[error("the embedded database didn't start: {said} (its log: {})", log.display())]
    ServerError { said: String, log: PathBuf },
}

fn no_binaries(too_old: &[u32]) -> String {
    let found = match too_old {
        [] => "I can't find PostgreSQL's programs (postgres, initdb)".to_owned(),
        old => {
            format!("Nod needs PostgreSQL {MIN_MAJOR_VERSION} or later, and only {} is installed", list(old))
        }
    };
    format!(
        "{found}. Install them (Debian, Ubuntu: sudo apt-get install postgresql; Mac: brew install \
         postgresql@17), point PG_BIN at their folder, or set database.url to your own Postgres"
    )
}

fn list(versions: &[u32]) -> String {
    versions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

impl Embedded {
    /// Starts the server of `data_dir`, creating its data first if it does not exist, with room for `connections` and a
    /// few more.
    ///
    /// # Errors
    /// If there are no programs, the folder is in use, or the server does not start.
    pub async fn start(data_dir: &Path, connections: u32) -> Result<Self, EmbeddedError> {
        let dir = data_dir.to_owned();
        let prepared = tokio::task::spawn_blocking(move || prepare(&dir, connections)).await;
        let gone = |error: tokio::task::JoinError| EmbeddedError::Folder {
            path: data_dir.to_owned(),
            error: io::Error::other(error),
        };
        let server = prepared.map_err(gone)??;
        match server.wait_until_ready().await {
            Ok(()) => Ok(server),
            Err(error) => {
                server.stop().await;
                Err(error)
            }
        }
    }

    /// Returns the URL to connect to.
    #[must_use]
    pub fn url(&self) -> SecretString {
        url(&self.paths, "nod")
    }

    /// Stops the server gracefully and waits until it has stopped.
    pub async fn stop(self) {
        let Self { supervisor, lock, .. } = self;
        let stopped = tokio::task::spawn_blocking(move || {
            supervisor.stop();
            drop(lock);
        });
        if stopped.await.is_err() {
            tracing::error!("the embedded database's supervisor panicked");
        }
    }

    /// Waits until it answers, and creates Nod's database in it the first time.
    async fn wait_until_ready(&self) -> Result<(), EmbeddedError> {
        let begun = Instant::now();
        let mut connection = loop {
            match connect(&self.paths, "postgres").await {
                Ok(connection) => break connection,
                Err(error) => self.worth_waiting(begun.elapsed(), &error)?,
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        let made = async {
            let query = "SELECT EXISTS (SELECT FROM pg_database WHERE datname = 'nod')";
            if !sqlx::query_scalar::<_, bool>(query).fetch_one(&mut connection).await? {
                sqlx::query("CREATE DATABASE nod").execute(&mut connection).await?;
            }
            connection.close().await
        };
        made.await.map_err(|error: sqlx::Error| self.server_error(&error.to_string()))
    }

    /// Decides whether to wait on. A server that is up and recovers gets a long time, one that exits repeatedly less,
    /// and one that exited for a permanent reason none.
    fn worth_waiting(&self, waited: Duration, error: &sqlx::Error) -> Result<(), EmbeddedError> {
        let Some(said) = self.supervisor.exit_message() else {
            return if waited < RECOVERY { Ok(()) } else { Err(self.server_error(&error.to_string())) };
        };
        let passes = ["already exists", "still in use", "starting up", "shutting down", "Is another"];
        if waited < START_TIMEOUT && passes.iter().any(|sign| said.contains(sign)) {
            return Ok(());
        }
        Err(self.server_error(&said))
    }

    fn server_error(&self, said: &str) -> EmbeddedError {
        EmbeddedError::ServerError { said: said.to_owned(), log: self.paths.log() }
    }
}

fn prepare(data_dir: &Path, connections: u32) -> Result<Embedded, EmbeddedError> {
    let lock = Lock::acquire(data_dir)?;
    let data_dir = data_dir
        .canonicalize()
        .map_err(|error| EmbeddedError::Folder { path: data_dir.to_owned(), error })?;
    let binaries = binaries::find(ServerPaths::data_version(&data_dir))?;
    let place = ServerPaths::make(&data_dir, &binaries.program("initdb"))?;
    cluster::create_if_missing(&place, &binaries)?;
    let supervisor = Supervisor::start(cluster::Server::new(&place, &binaries, connections));
    Ok(Embedded { supervisor, paths: place, lock })
}

/// Returns the URL of the server that another Nod runs on `data_dir`.
pub(super) fn running_url(data_dir: &Path) -> Result<SecretString, EmbeddedError> {
    let not_running = || EmbeddedError::NotRunning(data_dir.to_owned());
    let data_dir = data_dir.canonicalize().map_err(|_| not_running())?;
    ServerPaths::of_running(&data_dir).map(|place| url(&place, "nod")).ok_or_else(not_running)
}

/// The folder's name has only plain characters, so nothing needs escaping. Access to the folder is the only
/// authentication.
fn url(place: &ServerPaths, database: &str) -> SecretString {
    let socket = place.socket.display();
    SecretString::from(format!("postgres://nod@localhost:5432/{database}?host={socket}&sslmode=disable"))
}

async fn connect(place: &ServerPaths, database: &str) -> Result<PgConnection, sqlx::Error> {
    use secrecy::ExposeSecret;
    let options: PgConnectOptions = url(place, database).expose_secret().parse()?;
    options.disable_statement_logging().connect().await
}
