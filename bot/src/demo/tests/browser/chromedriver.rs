//! The program between a test and Chromium.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

/// It listens within this, also on a machine that builds at the same time.
const TIMEOUT: Duration = Duration::from_secs(60);

/// As root, in a container and without a screen there is no sandbox, little shared memory and no graphics card.
pub(super) const CHROMIUM: [&str; 4] =
    ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"];

/// Returns chromedriver, if it is on the path.
pub(super) fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("chromedriver")).find(|file| file.is_file())
}

/// Starts the driver on a port that it chooses.
pub(super) async fn start(program: PathBuf) -> (Child, SocketAddr) {
    let mut process = Command::new(program)
        .arg("--port=0")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let port = async {
        while let Some(line) = lines.next_line().await.unwrap() {
            let port =
                line.split_once("started successfully on port ").map(|(_, port)| port.trim_end_matches('.'));
            if let Some(port) = port.and_then(|port| port.parse::<u16>().ok()) {
                return port;
            }
        }
        panic!("chromedriver did not say on which port it is")
    };
    let port = tokio::time::timeout(TIMEOUT, port).await.unwrap();
    // It goes on writing, and must find a reader.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    (process, SocketAddr::from(([127, 0, 0, 1], port)))
}
