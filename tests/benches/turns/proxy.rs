//! A proxy between Nod and Postgres that counts statements, round trips and commits.

use std::ops::Sub;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::{fmt, io};

use sqlx::ConnectOptions;
use sqlx::postgres::PgConnectOptions;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader, split};
use tokio::net::{TcpListener, TcpStream, UnixStream};

/// A running proxy.
pub struct Proxy {
    /// The URL for Nod's configuration.
    pub url: String,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    statements: AtomicU64,
    round_trips: AtomicU64,
    commits: AtomicU64,
}

/// The counters at one time.
pub struct CountsSnapshot {
    statements: u64,
    round_trips: u64,
    commits: u64,
}

impl Proxy {
    /// Returns the current counters.
    pub fn snapshot(&self) -> CountsSnapshot {
        let Counts { statements, round_trips, commits } = &*self.counts;
        CountsSnapshot {
            statements: statements.load(Relaxed),
            round_trips: round_trips.load(Relaxed),
            commits: commits.load(Relaxed),
        }
    }
}

impl Sub for CountsSnapshot {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            statements: self.statements - before.statements,
            round_trips: self.round_trips - before.round_trips,
            commits: self.commits - before.commits,
        }
    }
}

/// Counts divided by turns.
pub struct CountsPerTurn(f64, f64, f64);

impl CountsSnapshot {
    /// Returns the counts of one turn.
    #[allow(clippy::cast_precision_loss)]
    pub fn per_turn(&self, turns: usize) -> CountsPerTurn {
        let each = |count: u64| count as f64 / turns as f64;
        CountsPerTurn(each(self.statements), each(self.round_trips), each(self.commits))
    }
}

impl fmt::Display for CountsPerTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} statements in {:.1} round trips, {:.1} transactions", self.0, self.1, self.2)
    }
}

/// Starts a proxy in front of the Postgres at this URL.
pub async fn start(url: &str) -> Proxy {
    let options: PgConnectOptions = url.parse().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = listener.local_addr().unwrap();
    let mut url = options.clone().host("127.0.0.1").port(here.port()).to_url_lossy();
    url.set_query(Some("sslmode=disable"));
    let counts = Arc::<Counts>::default();
    let counting = counts.clone();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            client.set_nodelay(true).unwrap();
            let (from_client, to_client) = client.into_split();
            let (from_server, to_server) = split(connect_server(&options).await);
            tokio::spawn(forward_responses(from_server, to_client, counting.clone()));
            tokio::spawn(forward_requests(from_client, to_server, counting.clone()));
        }
    });
    Proxy { url: url.to_string(), counts }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

async fn connect_server(options: &PgConnectOptions) -> Box<dyn Stream> {
    let port = options.get_port();
    if let Some(folder) = options.get_socket() {
        return Box::new(UnixStream::connect(folder.join(format!(".s.PGSQL.{port}"))).await.unwrap());
    }
    let line = TcpStream::connect((options.get_host(), port)).await.unwrap();
    line.set_nodelay(true).unwrap();
    Box::new(line)
}

async fn forward_requests(
    from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    counts: Arc<Counts>,
) -> io::Result<()> {
    let mut from = BufReader::new(from);
    to.write_all(&read_message(&mut from, false).await?).await?;
    loop {
        let message = read_message(&mut from, true).await?;
        match message[0] {
            b'E' => counts.statements.fetch_add(1, Relaxed),
            b'S' => counts.round_trips.fetch_add(1, Relaxed),
            b'Q' => {
                counts.statements.fetch_add(1, Relaxed);
                counts.round_trips.fetch_add(1, Relaxed)
            }
            _ => 0,
        };
        to.write_all(&message).await?;
    }
}

/// Forwards the responses. A transaction ends when Postgres, after work, is ready and outside of one.
async fn forward_responses(
    from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    counts: Arc<Counts>,
) -> io::Result<()> {
    let mut from = BufReader::new(from);
    let mut done = false;
    loop {
        let first = from.read_u8().await?;
        let rest = read_message(&mut from, false).await?;
        match first {
            b'C' => done = true,
            b'Z' if rest[4] == b'I' && std::mem::take(&mut done) => {
                counts.commits.fetch_add(1, Relaxed);
            }
            _ => {}
        }
        to.write_all(&[first]).await?;
        to.write_all(&rest).await?;
    }
}

/// Reads one message of the protocol, with its type byte if it has one.
async fn read_message(from: &mut BufReader<impl AsyncRead + Unpin>, kind: bool) -> io::Result<Vec<u8>> {
    let mut whole = Vec::new();
    if kind {
        whole.push(from.read_u8().await?);
    }
    let length = from.read_u32().await?;
    whole.extend(length.to_be_bytes());
    let from_here = whole.len();
    whole.resize(from_here + usize::try_from(length).unwrap_or_default().saturating_sub(4), 0);
    from.read_exact(&mut whole[from_here..]).await?;
    Ok(whole)
}
