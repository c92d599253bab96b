//! Stands between Nod and Postgres and counts what passes: statements, and how often an answer was waited for.

use std::fmt;
use std::io;
use std::ops::Sub;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::OwnedReadHalf;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::net::{TcpListener, TcpStream};
use url::Url;

const SSL_REQUEST: u32 = 80_877_103;

/// A running proxy.
pub struct Proxy {
    /// As Nod is to call it.
    pub url: String,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    statements: AtomicU64,
    round_trips: AtomicU64,
    commits: AtomicU64,
}

/// What was counted.
pub struct Counted {
    statements: u64,
    round_trips: u64,
    commits: u64,
}

impl Proxy {
    /// So far.
    pub fn counted(&self) -> Counted {
        let Counts { statements, round_trips, commits } = &*self.counts;
        Counted {
            statements: statements.load(Relaxed),
            round_trips: round_trips.load(Relaxed),
            commits: commits.load(Relaxed),
        }
    }
}

impl Sub for Counted {
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
pub struct Each(f64, f64, f64);

impl Counted {
    /// Of one turn.
    #[allow(clippy::cast_precision_loss)]
    pub fn each(&self, turns: usize) -> Each {
        let each = |count: u64| count as f64 / turns as f64;
        Each(each(self.statements), each(self.round_trips), each(self.commits))
    }
}

impl fmt::Display for Each {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} statements in {:.1} round trips, {:.1} transactions", self.0, self.1, self.2)
    }
}

/// Before the Postgres at this address.
pub async fn start(url: &str) -> Proxy {
    let mut url: Url = url.parse().unwrap();
    let behind = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap_or(5432));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = listener.local_addr().unwrap();
    url.set_host(Some("127.0.0.1")).unwrap();
    url.set_port(Some(here.port())).unwrap();
    let counts = Arc::<Counts>::default();
    let counting = counts.clone();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(&behind).await.unwrap();
            client.set_nodelay(true).unwrap();
            server.set_nodelay(true).unwrap();
            let (from_client, to_client) = client.into_split();
            let (from_server, to_server) = server.into_split();
            tokio::spawn(answers(from_server, to_client, counting.clone()));
            tokio::spawn(questions(from_client, to_server, counting.clone()));
        }
    });
    Proxy { url: url.to_string(), counts }
}

async fn questions(from: OwnedReadHalf, mut to: OwnedWriteHalf, counts: Arc<Counts>) -> io::Result<()> {
    let mut from = BufReader::new(from);
    loop {
        let opening = message(&mut from, false).await?;
        to.write_all(&opening).await?;
        if opening[4..8] != SSL_REQUEST.to_be_bytes() {
            break;
        }
    }
    loop {
        let message = message(&mut from, true).await?;
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

/// A transaction ends where Postgres, after work, is ready outside of one.
async fn answers(from: OwnedReadHalf, mut to: OwnedWriteHalf, counts: Arc<Counts>) -> io::Result<()> {
    let mut from = BufReader::new(from);
    let mut done = false;
    loop {
        let first = from.read_u8().await?;
        if first == b'N' && !done && from.buffer().is_empty() {
            // No TLS here.
            to.write_all(b"N").await?;
            continue;
        }
        let rest = message(&mut from, false).await?;
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

/// One message of the protocol, with its kind where it has one.
async fn message(from: &mut BufReader<OwnedReadHalf>, kind: bool) -> io::Result<Vec<u8>> {
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
