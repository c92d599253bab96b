//! The server's data and how the server is run on it: `initdb` once, then `postgres` with Nod's settings.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use super::EmbeddedError;
use super::binaries::Binaries;
use super::paths::ServerPaths;

/// A log larger than this is rotated at the next start.
const MAX_LOG_BYTES: u64 = 10 * 1024 * 1024;

/// Creates the data if it does not exist. It is created under another name and then renamed, so a crash leaves either
/// nothing or all of it.
pub(super) fn create_if_missing(place: &ServerPaths, binaries: &Binaries) -> Result<(), EmbeddedError> {
    let failed = |error: io::Error| EmbeddedError::Folder { path: place.home.clone(), error };
    let data = place.data();
    if data.join("PG_VERSION").exists() {
        return Ok(());
    }
    let draft = place.home.join("data.new");
    if draft.exists() {
        fs::remove_dir_all(&draft).map_err(failed)?;
    }
    tracing::info!(version = binaries.major, "making the embedded database");
    let output = place
        .identity
        .command(&binaries.program("initdb"))
        .arg("--pgdata")
        .arg(&draft)
        .args(["--username=nod", "--auth=trust", "--encoding=UTF8", "--data-checksums", "--no-locale"])
        // Sorted by bytes, which no update of the C library changes; letters beyond ASCII are still classified.
        .arg(if cfg!(target_os = "macos") { "--lc-ctype=UTF-8" } else { "--lc-ctype=C.UTF-8" })
        .output()
        .map_err(failed)?;
    if !output.status.success() {
        let said = last_lines(&String::from_utf8_lossy(&output.stderr));
        return Err(EmbeddedError::ServerError { said, log: place.log() });
    }
    fs::rename(&draft, &data).map_err(failed)?;
    File::open(&place.home).and_then(|folder| folder.sync_all()).map_err(failed)
}

/// Everything needed to start the server repeatedly.
#[derive(Debug)]
pub(super) struct Server {
    place: ServerPaths,
    postgres: PathBuf,
    max_connections: u32,
}

impl Server {
    pub(super) fn new(place: &ServerPaths, binaries: &Binaries, connections: u32) -> Self {
        // Those of the pool, of listeners and of `nod doctor`, and those that PostgreSQL reserves.
        let max_connections = connections.saturating_add(12);
        Self { place: place.clone(), postgres: binaries.program("postgres"), max_connections }
    }

    /// Starts it once. Must be called on a thread that lives as long as the server, because the kernel stops the server
    /// when that thread ends.
    pub(super) fn spawn(&self) -> io::Result<(Child, LogPosition)> {
        forget_stale_pid(&self.place.data());
        let (log, mark) = open_log(&self.place.log())?;
        let mut command = self.place.identity.command(&self.postgres);
        command.arg("-D").arg(self.place.data());
        for setting in self.settings() {
            command.arg("-c").arg(setting);
        }
        command.stdout(Stdio::from(log.try_clone()?)).stderr(Stdio::from(log));
        Ok((command.spawn()?, mark))
    }

    /// Returns the settings. fsync stays on: committed data survives a power failure. The log contains no statements
    /// and no values, so no content of messages.
    fn settings(&self) -> Vec<String> {
        let mut all: Vec<String> = [
            "listen_addresses=",
            "unix_socket_permissions=0700",
            "fsync=on",
            "synchronous_commit=on",
            "full_page_writes=on",
            "shared_buffers=64MB",
            "jit=off",
            "logging_collector=off",
            "log_destination=stderr",
            "log_min_error_statement=panic",
            "log_error_verbosity=terse",
            "timezone=UTC",
            "log_timezone=UTC",
        ]
        .map(str::to_owned)
        .into();
        all.push(format!("unix_socket_directories={}", self.place.socket.display()));
        all.push(format!("max_connections={}", self.max_connections));
        all
    }
}

/// After a crash of the machine or container the pid in `postmaster.pid` can belong to another program, and PostgreSQL
/// would refuse to start. We hold the folder's lock, so if that process is not postgres the file is stale. (If it is,
/// PostgreSQL itself handles it.)
fn forget_stale_pid(data: &Path) {
    let file = data.join("postmaster.pid");
    let Ok(text) = fs::read_to_string(&file) else { return };
    let Some(pid) = text.lines().next().and_then(|line| line.trim().parse::<u32>().ok()) else { return };
    let Ok(name) = fs::read_to_string(format!("/proc/{pid}/comm")) else { return };
    if !matches!(name.trim(), "postgres" | "postmaster") && fs::remove_file(&file).is_ok() {
        tracing::warn!(pid, "removed a stale postmaster.pid of the embedded database");
    }
}

/// The position in the log where one start of the server begins.
#[derive(Debug)]
pub(super) struct LogPosition {
    path: PathBuf,
    offset: u64,
}

impl LogPosition {
    /// Returns the server's last lines since then.
    pub(super) fn last_lines(&self) -> String {
        let mut text = Vec::new();
        let read = File::open(&self.path).and_then(|mut file| {
            file.seek(SeekFrom::Start(self.offset))?;
            file.read_to_end(&mut text)
        });
        match read {
            Ok(_) => last_lines(&String::from_utf8_lossy(&text)),
            Err(error) => error.to_string(),
        }
    }
}

fn open_log(path: &Path) -> io::Result<(File, LogPosition)> {
    if fs::metadata(path).is_ok_and(|meta| meta.len() > MAX_LOG_BYTES) {
        fs::rename(path, path.with_extension("log.1"))?;
    }
    let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    let from = file.metadata()?.len();
    Ok((file, LogPosition { path: path.to_owned(), offset: from }))
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join(" / ")
}
