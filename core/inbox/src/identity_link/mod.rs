//! Links two identities of one human: the user requests a code on one platform, enters it on another and confirms there
//! that both are theirs. Equal names or addresses never link anyone.
//!
//! All rows of one person move to the other in one transaction. It waits until one of the two has nothing in progress,
//! so that no running work holds the id of a deleted person.

mod card;
mod sql;

use std::sync::Arc;

use chrono::TimeDelta;
use serde_json::json;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::context::App;
use nod_accounts::connection;
use nod_contract::card::Card;
use nod_contract::chat::{ChatAdapter, DeliveryTarget, InteractionResponse};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, PersonId, TenantId};
use nod_people::delivery::{self, NewDelivery};
use nod_people::people::sql as people;
use nod_people::{conversations, open_pages};
use nod_store::audit;

/// How long a code is valid: ten minutes, too short to guess one of 2^40.
const VALID: TimeDelta = TimeDelta::minutes(10);
/// Digits and letters that cannot be confused with each other (Crockford's base 32).
const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const LENGTH: usize = 8;

/// The person who asks, and where.
#[derive(Clone, Copy)]
pub(crate) struct LinkRequester<'a> {
    pub(crate) core: &'a App,
    pub(crate) tenant: TenantId,
    pub(crate) platform: &'a str,
    pub(crate) person: PersonId,
    pub(crate) now: Timestamp,
}

/// Shows a code; `conversation` is where the person asked for it.
pub(crate) async fn show(
    asker: &LinkRequester<'_>,
    conn: &mut PgConnection,
    conversation: ConversationId,
) -> sqlx::Result<InteractionResponse> {
    let core = asker.core;
    let served = people::list_platforms(conn, asker.tenant).await?;
    let others = served.iter().filter(|platform| *platform != asker.platform);
    let others: Vec<_> = others.filter_map(|platform| core.adapters.get(platform)).collect();
    if others.is_empty() {
        return Ok(InteractionResponse::ephemeral(card::NO_OTHER_PLATFORM));
    }
    let code: String =
        core.ids.secret().iter().take(LENGTH).map(|b| char::from(LETTERS[usize::from(b % 32)])).collect();
    let (id, mac) = (core.id(), mac(core, &code));
    let expires_at = asker.now + VALID;
    let shown = sql::NewLinkCode { id, person: asker.person, conversation, code_mac: &mac, expires_at };
    sql::upsert_code(conn, asker.tenant, &shown, asker.now).await?;
    let code = format!("{}-{}", &code[..LENGTH / 2], &code[LENGTH / 2..]);
    let way = |other: &&Arc<dyn ChatAdapter>| {
        (format!("In {}", other.display_name()), other.format_command("connect", Some(("code", &code))))
    };
    let ways = others.iter().map(way).collect();
    Ok(InteractionResponse::Ephemeral(card::code(&code, ways)))
}

/// Parses a code, or returns `None`. A word with letters only is rejected, because it could mean something else.
pub(crate) fn parse_code(typed: &str) -> Option<String> {
    if !typed.contains(|c: char| c == '-' || c.is_ascii_digit()) {
        return None;
    }
    let plain =
        typed.chars().filter(|c| !c.is_whitespace() && *c != '-').map(|c| match c.to_ascii_uppercase() {
            'O' => '0',
            'I' | 'L' => '1',
            other => other,
        });
    let code: String = plain.collect();
    let fits = code.len() == LENGTH && code.bytes().all(|b| LETTERS.contains(&b));
    fits.then_some(code)
}

/// Handles an entered code: asks whether it is the same person. Nothing is linked yet.
pub(crate) async fn enter(
    asker: &LinkRequester<'_>,
    conn: &mut PgConnection,
    code: &str,
) -> sqlx::Result<InteractionResponse> {
    let LinkRequester { core, tenant, person, now, .. } = *asker;
    let mac = mac(core, code);
    let no_such_code = || Ok(InteractionResponse::ephemeral(card::CODE_NOT_FOUND));
    let Some(other) = sql::find_code_owner(conn, tenant, &mac, now).await? else { return no_such_code() };
    if other == person {
        return Ok(InteractionResponse::ephemeral(card::OWN_CODE));
    }
    // This check comes before the code is marked as entered, so a neighbour who saw it cannot use it up.
    if sql::is_sharing_workspace(conn, tenant, person, other).await? {
        return Ok(InteractionResponse::ephemeral(card::ALREADY_KNOWN_HERE));
    }
    let Some(id) = sql::mark_entered(conn, tenant, &mac, person, now).await? else { return no_such_code() };
    let there = format!("{} in {}", load_name(conn, tenant, other).await?, places(asker, conn, other).await?);
    let here =
        format!("{} in {}", load_name(conn, tenant, person).await?, platform_name(core, asker.platform));
    Ok(InteractionResponse::Ephemeral(card::confirm_card(id, &there, &here)))
}

/// Handles the confirmation: links the two.
pub(crate) async fn confirm_merge(
    asker: &LinkRequester<'_>,
    conn: &mut PgConnection,
    id: Uuid,
) -> sqlx::Result<InteractionResponse> {
    let LinkRequester { core, tenant, person, now, .. } = *asker;
    let Some((other, conversation)) = sql::load_entered(conn, tenant, id, person, now).await? else {
        return Ok(InteractionResponse::ephemeral(card::CODE_NOT_FOUND));
    };
    let both = sql::lock_both(conn, tenant, person, other).await?;
    if both.len() < 2 {
        return Ok(InteractionResponse::ephemeral(card::CODE_NOT_FOUND));
    }
    let Some((gone, stays)) = choose_survivor(&both, person) else {
        return Ok(InteractionResponse::ephemeral(card::WORK_IN_PROGRESS));
    };
    let there = places(asker, conn, other).await?;
    let moved = connection::merge_connections(&core.accounts, conn, tenant, gone, stays, now).await?;
    sql::delete_duplicates(conn, tenant, gone, stays, !moved.conflicts.is_empty(), now).await?;
    sql::move_rows(conn, tenant, gone, stays).await?;
    sql::increment_knowledge_revision(conn, tenant, stays).await?;
    sql::delete_person(conn, tenant, gone, stays).await?;
    let detail = json!({ "was": gone });
    audit::insert_entry(conn, tenant, Some(stays), "person.merged", stays.0, None, &detail, now).await?;
    connection::resume_runs_with_gained_accounts(
        &core.accounts,
        conn,
        tenant,
        stays,
        &moved.gained_accounts,
        now,
    )
    .await?;
    let here = platform_name(core, asker.platform);
    notify_code_owner(asker, conn, stays, conversation, &card::merged_notice_card(&here, &moved.conflicts))
        .await?;
    for over in &moved.ended_grants {
        connection::disconnect::enqueue_revocation(&core.accounts, conn, tenant, over, conversation, now)
            .await?;
    }
    open_pages::enqueue_refresh(conn, tenant, stays, now).await?;
    Ok(InteractionResponse::Ephemeral(card::merged_card(&there, &here, &moved.conflicts)))
}

/// Returns who is deleted and who survives: the person whose address a platform verified, else the one who showed the
/// code. A person with work in progress is never deleted; returns `None` if both have some.
fn choose_survivor(both: &[sql::Candidate], entered_by: PersonId) -> Option<(PersonId, PersonId)> {
    let going = both.iter().filter(|one| !one.busy).min_by_key(|one| (one.told, one.id != entered_by.0))?;
    let staying = both.iter().find(|one| one.id != going.id)?;
    Some((PersonId(going.id), PersonId(staying.id)))
}

/// Notifies the person who showed the code, where they asked for it.
async fn notify_code_owner(
    asker: &LinkRequester<'_>,
    conn: &mut PgConnection,
    person: PersonId,
    conversation: ConversationId,
    card: &Card,
) -> sqlx::Result<()> {
    let (core, tenant) = (asker.core, asker.tenant);
    let venue = conversations::load_location(conn, tenant, conversation).await?;
    let user = people::find_user_id(conn, tenant, person, &venue.platform, &venue.workspace).await?;
    let Some(user) = user else { return Ok(()) };
    let target = DeliveryTarget::DirectMessage { workspace: venue.workspace.clone(), user };
    let new = NewDelivery {
        id: core.id(),
        conversation,
        run: None,
        platform: &venue.platform,
        target: Some(&target),
        opens_thread: false,
        card,
        only_for: Some(person),
    };
    delivery::enqueue(conn, tenant, &venue, &new, asker.now).await
}

async fn load_name(conn: &mut PgConnection, tenant: TenantId, person: PersonId) -> sqlx::Result<String> {
    let person = people::load(conn, tenant, person).await?.filter(|person| person.has_profile);
    Ok(person.map_or_else(|| "you".to_owned(), |person| person.display_name().to_owned()))
}

/// Describes on which platforms a person is known.
async fn places(
    asker: &LinkRequester<'_>,
    conn: &mut PgConnection,
    person: PersonId,
) -> sqlx::Result<String> {
    let platforms = people::list_platforms_of_person(conn, asker.tenant, person).await?;
    let titles: Vec<String> = platforms.iter().map(|platform| platform_name(asker.core, platform)).collect();
    Ok(titles.join(" and "))
}

fn platform_name(core: &App, platform: &str) -> String {
    core.adapters
        .get(platform)
        .map_or_else(|| platform.to_owned(), |adapter| adapter.display_name().to_owned())
}

/// Returns what is stored of a code: a MAC that only this installation can compute.
fn mac(core: &App, code: &str) -> String {
    core.links.vault.sign(&format!("join/{code}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(id: u128, told: bool, busy: bool) -> sql::Candidate {
        sql::Candidate { id: Uuid::from_u128(id), told, busy }
    }

    #[test]
    fn typed_codes_are_normalised() {
        for (typed, wanted) in [
            ("K7QM-4XPT", Some("K7QM4XPT")),
            (" k7qm 4xpt ", Some("K7QM4XPT")),
            ("kiqm-4xot", Some("K1QM4X0T")),
            ("calendar", None),
            ("K7QM", None),
            ("K7QM-4XPU", None),
            ("K7QM-4XPTT", None),
        ] {
            assert_eq!(parse_code(typed).as_deref(), wanted, "{typed}");
        }
    }

    /// In this table the second person entered the code of the first.
    #[test]
    fn verified_person_survives_and_busy_person_is_not_merged() {
        let entered_by = PersonId(Uuid::from_u128(2));
        let table = [
            ((false, false), (false, false), Some(2)),
            ((false, false), (true, false), Some(1)),
            ((true, false), (true, false), Some(2)),
            ((true, false), (false, true), Some(1)),
            ((false, true), (true, false), Some(2)),
            ((false, true), (false, true), None),
        ];
        for (one, two, gone) in table {
            let both = [candidate(1, one.0, one.1), candidate(2, two.0, two.1)];
            let going = choose_survivor(&both, entered_by).map(|(gone, _)| gone.0.as_u128());
            assert_eq!(going, gone, "{one:?} {two:?}");
        }
    }
}
