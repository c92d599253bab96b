//! The job that reads a document: fetch, extract, cut into chunks. If there is an embedding model, the next job computes
//! vectors; then the new version takes the earlier one's place in a single commit. Killed at any line, reading begins
//! again; nothing half-read can be found.

use std::time::Duration;

use tokio::time::Instant;
use uuid::Uuid;

use crate::analysis::{split_words, weighted_terms};
use crate::document::{Document, NewChunk, ReadVersion, Status};
use crate::fetch::Fetched;
use crate::job::{MAX_ATTEMPTS, complete};
use crate::language::{Language, detect_language};
use crate::points::Points;
use crate::version::{self, Outcome};
use crate::{chunk, fetch, sql};
use nod_contract::ids::{PersonId, TenantId};
use nod_contract::web::WebFetcher;
use nod_contract::wire::Block;
use nod_people::attachment::{self, TextFormat};
use nod_people::context::Chat;
use nod_people::reading::{Limits, Read, Whose};
use nod_people::{delivery, people};
use nod_store::blobs;
use nod_store::jobs::{Claim, WorkError};

/// The most that is read of a document.
const LIMITS: Limits = Limits { pages: 1_500, bytes_out: 10 * 1024 * 1024 };
/// How many chunks from its beginning tell a document's language.
const LANGUAGE_CHUNKS: usize = 20;
/// How long reading one document can take.
const READ_TIMEOUT: Duration = Duration::from_secs(120);

pub(crate) async fn index_document(
    core: &Chat,
    web: &dyn WebFetcher,
    points: &Points,
    claim: &Claim,
    id: Uuid,
    (generation, asked_by): (i32, Option<PersonId>),
) -> Result<(), WorkError> {
    let tenant = claim.tenant;
    let mut conn = core.pool.acquire().await?;
    let document = sql::load(&mut conn, tenant, id).await?;
    drop(conn);
    let is_wanted =
        |found: &Document| found.wanted_generation == generation && found.status == Status::Indexing;
    let Some(document) = document.filter(is_wanted) else { return complete(core, claim).await };
    let outcome = match read(core, web, claim, &document, asked_by).await {
        // What fails again and again must not keep the next documents waiting, nor its reader in the dark.
        Err(error) if claim.attempt >= MAX_ATTEMPTS => {
            tracing::error!(document = %document.id, %error, "could not read a document");
            Outcome::Failed("something of mine failed; my operator can see what".to_owned())
        }
        outcome => outcome?,
    };
    version::end_step(core, points, claim, &document, &outcome).await
}

/// Fetches and reads a document.
///
/// # Errors
/// If the platform does not give it now; the job is tried again.
async fn read(
    core: &Chat,
    web: &dyn WebFetcher,
    claim: &Claim,
    document: &Document,
    asked_by: Option<PersonId>,
) -> Result<Outcome, WorkError> {
    if !is_served(core, claim.tenant, document, asked_by).await? {
        return Ok(Outcome::Failed("I keep files for members of this workspace only".to_owned()));
    }
    let Fetched { bytes, media_type } = match fetch::load_or_download(core, web, claim, document).await? {
        Ok(fetched) => fetched,
        Err(outcome) => return Ok(outcome),
    };
    let digest = blobs::digest_of(&bytes);
    // What nobody of the chat added is read for nobody of them.
    let person = document.added_by.unwrap_or(PersonId(document.id));
    let whose = Whose { tenant: claim.tenant, person };
    let mut session = core.reading.open_session(whose, Instant::now() + READ_TIMEOUT);
    // Of an address, only the server says what it is.
    let name = if document.platform == fetch::WEB { "" } else { &document.title };
    let format = TextFormat::of_file(name, &media_type);
    let read = match attachment::read_blocks(session.as_mut(), bytes, format, LIMITS).await {
        Ok(read) => read,
        Err(reason) => return Ok(Outcome::Failed(reason)),
    };
    let title = document.title.clone();
    let is_partial = read.done.cut.is_some();
    // Cutting and stemming ten megabytes takes long enough to hold up others.
    let chunks = tokio::task::spawn_blocking(move || split(&title, &read)).await?;
    let Some(Split { pages, language, chunks }) = chunks else {
        return Ok(Outcome::Failed("there is no text in it".to_owned()));
    };
    let chunks = chunks.into_iter().map(|chunk| NewChunk { id: core.id(), ..chunk }).collect();
    let version = ReadVersion { generation: document.wanted_generation, digest, pages, is_partial, language };
    Ok(Outcome::Read { version, chunks })
}

/// Returns whether Nod serves the person who asked for a version. When the file came they might not have been known yet.
async fn is_served(
    core: &Chat,
    tenant: TenantId,
    document: &Document,
    asked_by: Option<PersonId>,
) -> Result<bool, WorkError> {
    // A job of an earlier version does not say who asked; of a first version, whoever added it did.
    let adder = document.added_by.filter(|_| document.generation == 0);
    let Some(person) = asked_by.or(adder) else { return Ok(true) };
    let mut conn = core.pool.acquire().await?;
    let Some(delivery) = document.delivery else {
        let person = people::sql::load(&mut conn, tenant, person).await?;
        return Ok(person.is_some_and(|person| core.welcome.admits(person.membership)));
    };
    let (_, _, location) = delivery::sql::load_target(&mut conn, tenant, delivery).await?;
    let (platform, workspace) = (&location.platform, &location.workspace);
    let person = people::sql::load_with_membership(&mut conn, tenant, person, platform, workspace)
        .await?
        .ok_or("no such person")?;
    drop(conn);
    let person = people::directory::ensure_profile(core, tenant, person, platform, workspace).await?;
    Ok(core.welcome.admits(person.membership))
}

/// What a document consists of. Its chunks have no ids yet.
struct Split {
    pages: Option<i32>,
    language: Language,
    chunks: Vec<NewChunk>,
}

/// Splits a document; `None` if it has no text.
fn split(title: &str, read: &Read) -> Option<Split> {
    let page = |block: &Block| match block {
        Block::Heading { page, .. } | Block::Text { page, .. } => *page,
        Block::Row { .. } | Block::Field { .. } => None,
    };
    let number = |page: u32| i32::try_from(page).ok();
    let pages = read.blocks.iter().filter_map(page).max().and_then(number);
    let chunks = chunk::split(&read.blocks);
    let sample = chunks.iter().take(LANGUAGE_CHUNKS).flat_map(|chunk| split_words(&chunk.text));
    let language = detect_language(&sample.collect::<Vec<_>>()).unwrap_or_default();
    let chunks: Vec<NewChunk> = chunks
        .into_iter()
        .map(|chunk| NewChunk {
            id: Uuid::nil(),
            page: chunk.page.and_then(number),
            terms: weighted_terms(title, &chunk.heading, &chunk.text, language),
            // Postgres stores no such character.
            heading: chunk.heading.replace('\0', "\u{FFFD}"),
            text: chunk.text.replace('\0', "\u{FFFD}"),
        })
        .collect();
    (!chunks.is_empty()).then_some(Split { pages, language, chunks })
}
