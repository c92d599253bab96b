#![allow(clippy::unwrap_used)]

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use secrecy::ExposeSecret;

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use super::*;

/// A folder that the unprivileged user who replaces root can also reach.
fn accessible_dir() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

async fn connect(server: &Embedded) -> Result<PgConnection, sqlx::Error> {
    PgConnection::connect(server.url().expose_secret()).await
}

/// Connects. The killed server is restarted and recovers, which a busy disk can make slow.
async fn connect_with_retry(server: &Embedded) -> PgConnection {
    let begun = Instant::now();
    loop {
        match connect(server).await {
            Ok(connection) => return connection,
            Err(error) => {
                let exited = server.supervisor.exit_message();
                assert!(begun.elapsed() < RECOVERY, "the server did not come back: {error}, {exited:?}");
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn count_rows(connection: &mut PgConnection) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM kept").fetch_one(connection).await.unwrap()
}

async fn insert_row(connection: &mut PgConnection, n: i32) {
    sqlx::query("INSERT INTO kept VALUES ($1)").bind(n).execute(connection).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_survive_a_restart_and_a_killed_server() {
    let folder = accessible_dir();
    let server = Embedded::start(folder.path(), 4).await.unwrap();
    let mut connection = connect(&server).await.unwrap();
    sqlx::query("CREATE TABLE kept (n int PRIMARY KEY)").execute(&mut connection).await.unwrap();
    insert_row(&mut connection, 1).await;
    server.stop().await;
    assert!(connection.ping().await.is_err(), "the server stopped");

    let server = Embedded::start(folder.path(), 4).await.unwrap();
    let mut written = 1;
    for _ in 0..5 {
        let mut connection = connect_with_retry(&server).await;
        assert_eq!(count_rows(&mut connection).await, i64::from(written));
        for _ in 0..20 {
            written += 1;
            insert_row(&mut connection, written).await;
        }
        let pid = server.supervisor.pid().unwrap();
        kill(Pid::from_raw(i32::try_from(pid).unwrap()), Signal::SIGKILL).unwrap();
        while server.supervisor.pid() == Some(pid) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    assert_eq!(count_rows(&mut connect_with_retry(&server).await).await, i64::from(written));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_listens_on_its_private_socket_alone_and_writes_to_disk() {
    let folder = accessible_dir();
    let server = Embedded::start(folder.path(), 4).await.unwrap();
    let mut connection = connect(&server).await.unwrap();
    for (name, wanted) in [("listen_addresses", ""), ("fsync", "on"), ("synchronous_commit", "on")] {
        let set: String = sqlx::query_scalar("SELECT current_setting($1)")
            .bind(name)
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(set, wanted, "{name}");
    }
    let lower: String = sqlx::query_scalar("SELECT lower('ÅSA')").fetch_one(&mut connection).await.unwrap();
    assert_eq!(lower, "åsa");
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(&server.paths.socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    let second = Embedded::start(folder.path(), 4).await.unwrap_err();
    assert!(matches!(second, EmbeddedError::InUse { .. }), "{second}");
    let joined = running_url(folder.path()).unwrap();
    PgConnection::connect(joined.expose_secret()).await.unwrap();
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deep_folder_works_too() {
    let folder = accessible_dir();
    let deep = folder.path().join("deep/".repeat(30)).join("with space, and comma");
    let server = Embedded::start(&deep, 4).await.unwrap();
    let mut connection = connect(&server).await.unwrap();
    connection.ping().await.unwrap();
    let socket = server.paths.socket.clone();
    server.stop().await;
    std::fs::remove_dir_all(socket).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn data_of_another_version_says_which() {
    let folder = accessible_dir();
    std::fs::create_dir_all(folder.path().join("postgres/data")).unwrap();
    std::fs::write(folder.path().join("postgres/data/PG_VERSION"), "9\n").unwrap();
    let error = Embedded::start(folder.path(), 4).await.unwrap_err().to_string();
    assert!(error.starts_with("this data folder was created by PostgreSQL 9, but only "), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_pid_file_of_another_program_is_no_obstacle() {
    let folder = accessible_dir();
    let server = Embedded::start(folder.path(), 4).await.unwrap();
    let data = server.paths.data();
    server.stop().await;
    let ours = std::process::id();
    std::fs::write(data.join("postmaster.pid"), format!("{ours}\n{}\n1\n5432\n", data.display())).unwrap();
    let server = Embedded::start(folder.path(), 4).await.unwrap();
    connect(&server).await.unwrap();
    server.stop().await;
}

/// Marks the process that will be killed: this same test, started a second time.
const VICTIM_DIR_VARIABLE: &str = "VICTIM_DATA_DIR";

#[tokio::test(flavor = "multi_thread")]
async fn killed_program_stops_its_server_and_loses_no_rows() {
    if let Some(dir) = std::env::var_os(VICTIM_DIR_VARIABLE) {
        return write_until_killed(Path::new(&dir)).await;
    }
    let folder = accessible_dir();
    let mut acknowledged = 0;
    for round in 0..3 {
        let mut victim = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture"])
            .arg("database::embedded::tests::killed_program_stops_its_server_and_loses_no_rows")
            .env(VICTIM_DIR_VARIABLE, folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(victim.stdout.take().unwrap()).lines();
        let rows =
            lines.map(Result::unwrap).filter_map(|line| line.strip_prefix("row ")?.parse::<i32>().ok());
        acknowledged = rows.take(50).last().unwrap();
        let server = pid_of_server(folder.path());
        victim.kill().unwrap();
        victim.wait().unwrap();
        if round == 0 {
            wait_until_gone(server).await;
        }
    }
    let server = Embedded::start(folder.path(), 4).await.unwrap();
    let mut connection = connect(&server).await.unwrap();
    let kept: Vec<i32> =
        sqlx::query_scalar("SELECT n FROM kept ORDER BY n").fetch_all(&mut connection).await.unwrap();
    assert!(kept.len() >= 150);
    assert!(kept[..usize::try_from(acknowledged).unwrap()].iter().copied().eq(1..=acknowledged));
    server.stop().await;
}

async fn write_until_killed(dir: &Path) {
    let server = Embedded::start(dir, 4).await.unwrap();
    let mut connection = connect(&server).await.unwrap();
    sqlx::query("CREATE TABLE IF NOT EXISTS kept (n int PRIMARY KEY)")
        .execute(&mut connection)
        .await
        .unwrap();
    let mut n = i32::try_from(count_rows(&mut connection).await).unwrap();
    loop {
        n += 1;
        insert_row(&mut connection, n).await;
        writeln!(io::stdout(), "row {n}").unwrap();
    }
}

fn pid_of_server(dir: &Path) -> Pid {
    let text = std::fs::read_to_string(dir.join("postgres/data/postmaster.pid")).unwrap();
    Pid::from_raw(text.lines().next().unwrap().trim().parse().unwrap())
}

async fn wait_until_gone(pid: Pid) {
    let begun = Instant::now();
    while kill(pid, None).is_ok() {
        assert!(begun.elapsed() < RECOVERY, "the server outlived its program");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
