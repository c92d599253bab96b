//! The readers: a few processes at once, and one desk of a person after another. A reader that was given one person's
//! bytes is never given another's: it ends with the desk.

use std::collections::HashMap;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use nix::sys::signal::Signal;
use sqlx::PgPool;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use super::process::{Answer, Process, Program};
use super::unreadable::Document;
use super::{Desk, Limits, READ_TIMEOUT, Read, Reader, Unread, Whose};
use nod_contract::clock::Clock;
use nod_contract::ids::{PersonId, TenantId};
use nod_contract::wire::{Failure, Kind, MAX_BYTES, Request};

/// Readers at once.
const PLACES: usize = 4;
/// Seconds from which a document had its full time; what is left of ten is rounded down.
const WHOLE_TIME: u64 = 9;
/// Readers that wait for work, once there was some.
const WARM: usize = 2;

/// Readers that are processes.
pub struct Readers(Arc<Pool>);

struct Pool {
    program: Program,
    rows: PgPool,
    clock: Arc<dyn Clock>,
    /// Processes that were never given anything.
    idle: Mutex<Vec<Process>>,
    places: Arc<Semaphore>,
    /// One desk at a time for each person, so that one person's documents do not block everyone.
    people: Mutex<HashMap<(TenantId, PersonId), Arc<Semaphore>>>,
}

impl Readers {
    /// Starts no process before it is needed.
    #[must_use]
    pub fn new(program: Program, rows: PgPool, clock: Arc<dyn Clock>) -> Self {
        Self(Arc::new(Pool {
            program,
            rows,
            clock,
            idle: Mutex::default(),
            places: Arc::new(Semaphore::new(PLACES)),
            people: Mutex::default(),
        }))
    }
}

impl Reader for Readers {
    fn open_session(&self, whose: Whose, until: Instant) -> Box<dyn Desk> {
        Box::new(OneDesk { pool: self.0.clone(), whose, until, place: None, process: None, died: None })
    }
}

struct OneDesk {
    pool: Arc<Pool>,
    whose: Whose,
    until: Instant,
    /// The person's turn, and one of the places for all. Held until the desk ends.
    place: Option<(OwnedSemaphorePermit, OwnedSemaphorePermit)>,
    process: Option<Process>,
    /// Why the last process died, if that is certain.
    died: Option<&'static str>,
}

#[async_trait]
impl Desk for OneDesk {
    async fn read(&mut self, kind: Kind, bytes: &[u8], limits: Limits) -> Result<Read, Unread> {
        if bytes.len() > MAX_BYTES {
            return Err(Unread::Failed(Failure::Large));
        }
        let document = Document::new(self.whose.tenant, kind, bytes);
        if let Some(why) = document.find_failure(&self.pool.rows).await {
            return Err(why);
        }
        if self.place.is_none() {
            let place = timeout_at(self.until, self.pool.acquire_permits(&self.whose)).await;
            self.place = Some(place.map_err(|_| Unread::Busy)?);
        }
        let until = self.until.min(Instant::now() + READ_TIMEOUT);
        if until <= Instant::now() {
            return Err(Unread::Busy);
        }
        let read = timeout_at(until, self.attempt(kind, bytes, limits, until)).await;
        if let Some(why) = self.died.take() {
            document.record_failure(&self.pool.rows, why, self.pool.clock.now()).await;
        }
        // After the timeout, the process is dropped and so killed. The machine might be busy, so that proves nothing.
        read.unwrap_or(Err(Unread::Time))
    }
}

impl OneDesk {
    async fn attempt(
        &mut self,
        kind: Kind,
        bytes: &[u8],
        limits: Limits,
        until: Instant,
    ) -> Result<Read, Unread> {
        let mut process = match self.process.take() {
            Some(process) => process,
            None => self.pool.process().await.map_err(|error| {
                tracing::error!(%error, "could not start a reader process");
                Unread::Away
            })?,
        };
        let request = Request {
            kind,
            name: String::new(),
            length: bytes.len(),
            most_pages: limits.pages,
            most_bytes_out: limits.bytes_out,
            seconds: (until - Instant::now()).as_secs().max(1),
        };
        match process.read(&request, bytes).await {
            Ok(Answer::Read(blocks, done)) => {
                self.process = Some(process);
                Ok(Read { blocks, done })
            }
            Ok(Answer::Failed(failure)) => {
                self.process = Some(process);
                Err(Unread::Failed(failure))
            }
            Ok(Answer::Died(ended)) => {
                tracing::warn!(?kind, %ended, "a document crashed its reader");
                let (unread, sure) = cause(ended, request.seconds >= WHOLE_TIME);
                self.died = sure;
                Err(unread)
            }
            Err(error) => {
                tracing::warn!(?kind, %error, "lost a reader process");
                Err(Unread::Failed(Failure::Broken))
            }
        }
    }
}

/// Returns what a document did to its reader, and the reason if it would certainly do so again: one that had less than
/// the full time might be read the next time. A SIGKILL comes from elsewhere: the out-of-memory killer, an operator.
fn cause(ended: ExitStatus, whole_time: bool) -> (Unread, Option<&'static str>) {
    match ended.signal().and_then(|signal| Signal::try_from(signal).ok()) {
        Some(Signal::SIGABRT | Signal::SIGSEGV | Signal::SIGBUS) => (Unread::Memory, Some("memory")),
        Some(Signal::SIGKILL) => (Unread::Memory, None),
        Some(Signal::SIGXCPU) => (Unread::Time, whole_time.then_some("time")),
        _ => (Unread::Failed(Failure::Broken), None),
    }
}

impl Pool {
    async fn acquire_permits(&self, whose: &Whose) -> (OwnedSemaphorePermit, OwnedSemaphorePermit) {
        let turn = {
            let mut people = self.people.lock().unwrap_or_else(PoisonError::into_inner);
            people.retain(|_, turn| Arc::strong_count(turn) > 1);
            people.entry((whose.tenant, whose.person)).or_insert_with(|| Arc::new(Semaphore::new(1))).clone()
        };
        (permit(turn).await, permit(self.places.clone()).await)
    }

    /// Returns a process that was given nothing yet, and starts others in the background, so that the next is ready.
    async fn process(self: &Arc<Self>) -> std::io::Result<Process> {
        let process = match self.take_idle_process() {
            Some(process) => process,
            None => self.program.start().await?,
        };
        let pool = self.clone();
        tokio::spawn(async move { pool.refill().await });
        Ok(process)
    }

    /// Returns a waiting process that still runs.
    fn take_idle_process(&self) -> Option<Process> {
        let mut idle = self.idle();
        std::iter::from_fn(|| idle.pop()).find_map(|mut process| process.lives().then_some(process))
    }

    async fn refill(&self) {
        while self.idle().len() < WARM {
            match self.program.start().await {
                Ok(process) => self.idle().push(process),
                Err(error) => {
                    tracing::warn!(%error, "could not start a reader process");
                    return;
                }
            }
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Process>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn permit(semaphore: Arc<Semaphore>) -> OwnedSemaphorePermit {
    semaphore.acquire_owned().await.unwrap_or_else(|_| unreachable!("it is never closed"))
}
