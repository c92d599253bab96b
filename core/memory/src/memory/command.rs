//! The `memory` command: shows what is stored, forgets it by buttons, exports it as a file. Only the requester sees it.

use std::sync::Arc;

use sqlx::PgConnection;
use uuid::Uuid;

use super::card::{self, ListedFact, MemoryList, ReportLine};
use super::{FactWithSource, forget, sql};
use nod_contract::card::{Action, Card};
use nod_contract::chat::{ChannelRef, DeliveryTarget, InteractionResponse, OutgoingFile};
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ChannelId, DeliveryId};
use nod_people::context::Chat;
use nod_people::delivery::{self, NewDelivery};
use nod_people::{conversations, people};
use nod_store::ability::{Asker, PersonalRecords};
use nod_when::when::local_time;

/// The most autocomplete choices; no platform shows more.
const MAX_CHOICES: usize = 25;

/// Runs `memory` with its arguments.
pub async fn handle_command(
    core: &Chat,
    records: &[Arc<dyn PersonalRecords>],
    asker: &Asker<'_>,
    conn: &mut PgConnection,
    text: &str,
) -> sqlx::Result<InteractionResponse> {
    if let Some(fact) = text.strip_prefix("forget ").and_then(|fact| fact.trim().parse::<Uuid>().ok()) {
        return handle_click(core, asker, conn, &Action::new("forget_fact", fact)).await;
    }
    match text.to_lowercase().as_str() {
        "" | "show" => show(core, asker, conn, None).await,
        "export" => export(core, records, asker, conn).await,
        _ => {
            let typing = core.adapters.command_syntax(asker.platform);
            let (show, export) =
                (typing.format_command("memory"), typing.format_with_option("memory", "what", "export"));
            Ok(InteractionResponse::ephemeral(format!(
                "`{show}` shows what I remember. `{export}` sends it to you as a file."
            )))
        }
    }
}

/// Handles a click on one of the list's buttons, or on [Undo] beside what was noted.
pub async fn handle_click(
    core: &Chat,
    asker: &Asker<'_>,
    conn: &mut PgConnection,
    verb: &Action,
) -> sqlx::Result<InteractionResponse> {
    let all = load_all(core, asker, conn).await?;
    if verb.kind == "forget_fact" || verb.kind == card::UNDO {
        let Some(sourced) = all.facts.iter().find(|sourced| sourced.fact.id.0 == verb.subject) else {
            return whisper(match verb.kind == card::UNDO {
                true => "That's no longer what I remember, so there's nothing to undo.",
                false => "That's already forgotten, or I never noted it here.",
            });
        };
        let facts = [sourced.fact.id.0];
        forget::delete_facts(conn, asker.tenant, &facts, asker.person, asker.now).await?;
        let line = card::fact_deleted_line(&sourced.fact.line());
        // [Undo] stands away from the list, which would only be in the way there.
        return match verb.kind == card::UNDO {
            true => Ok(InteractionResponse::Ephemeral(card::report_card(vec![ReportLine::new(line)]))),
            false => show(core, asker, conn, Some(line)).await,
        };
    }
    if all.channel.0 != verb.subject {
        return whisper("I can't find that here.");
    }
    if verb.kind == "ask_forget_all" {
        return Ok(InteractionResponse::Ephemeral(card::confirm_forget_all_card(&all.to_list(core, asker))));
    }
    let facts: Vec<_> = all.facts.iter().map(|sourced| sourced.fact.id.0).collect();
    forget::reset_conversations(conn, asker.tenant, all.channel, asker.person, asker.now).await?;
    forget::delete_facts(conn, asker.tenant, &facts, asker.person, asker.now).await?;
    show(core, asker, conn, Some("Everything is forgotten.".to_owned())).await
}

/// Returns the facts here that contain the typed text: each one's line, and the argument for `memory`.
pub async fn choices(
    asker: &Asker<'_>,
    conn: &mut PgConnection,
    typed: &str,
) -> sqlx::Result<Vec<(String, String)>> {
    let typed = typed.to_lowercase();
    let Asker { tenant, platform, workspace, place, .. } = *asker;
    let channel = conversations::find_channel(conn, tenant, platform, workspace, &place.channel).await?;
    let facts = match channel {
        Some(channel) => sql::list_facts_with_source(conn, tenant, channel, asker.person).await?,
        // No user has written to Nod there.
        None => Vec::new(),
    };
    let lines =
        facts.into_iter().map(|sourced| (sourced.fact.line(), format!("forget {}", sourced.fact.id.0)));
    Ok(lines.filter(|(line, _)| line.to_lowercase().contains(&typed)).take(MAX_CHOICES).collect())
}

fn whisper(words: &str) -> sqlx::Result<InteractionResponse> {
    Ok(InteractionResponse::ephemeral(words))
}

/// What is stored, as loaded.
struct LoadedMemory {
    channel: ChannelId,
    facts: Vec<FactWithSource>,
    summaries: Vec<(Timestamp, String)>,
    zone: String,
}

async fn load_all(core: &Chat, asker: &Asker<'_>, conn: &mut PgConnection) -> sqlx::Result<LoadedMemory> {
    let Asker { tenant, platform, workspace, place, user, now, .. } = *asker;
    let fresh = core.ids.next();
    let channel =
        conversations::find_or_create_channel(conn, tenant, platform, workspace, place, user, fresh, now)
            .await?;
    let facts = sql::list_facts_with_source(conn, tenant, channel, asker.person).await?;
    let summaries = sql::list_summaries(conn, tenant, channel, asker.person).await?;
    let person = people::sql::load(conn, tenant, asker.person).await?;
    let zone = person.and_then(|person| person.zone).unwrap_or_else(|| "UTC".to_owned());
    Ok(LoadedMemory { channel, facts, summaries, zone })
}

impl LoadedMemory {
    fn to_list<'a>(&'a self, core: &'a Chat, asker: &Asker<'a>) -> MemoryList<'a> {
        let of = |own: bool| {
            let facts = self.facts.iter().filter(move |sourced| sourced.fact.person.is_some() == own);
            facts.map(|sourced| ListedFact { fact: sourced, link: link(core, sourced) }).collect()
        };
        MemoryList {
            channel: self.channel,
            is_dm: asker.place.is_dm,
            about_channel: of(false),
            about_reader: of(true),
            summaries: &self.summaries,
            zone: &self.zone,
            command_syntax: core.adapters.command_syntax(asker.platform),
        }
    }
}

/// Returns the permalink of a fact's message.
fn link(core: &Chat, sourced: &FactWithSource) -> Option<String> {
    let adapter = core.adapters.get(&sourced.platform)?;
    let place =
        ChannelRef { channel: sourced.channel.clone(), is_dm: sourced.is_dm, thread: sourced.thread.clone() };
    adapter.permalink(&place, sourced.message_ref.as_deref()?)
}

async fn show(
    core: &Chat,
    asker: &Asker<'_>,
    conn: &mut PgConnection,
    before: Option<String>,
) -> sqlx::Result<InteractionResponse> {
    let all = load_all(core, asker, conn).await?;
    Ok(InteractionResponse::Ephemeral(card::list_card(&all.to_list(core, asker), before)))
}

/// Sends a file to the requester's DM.
async fn export(
    core: &Chat,
    records: &[Arc<dyn PersonalRecords>],
    asker: &Asker<'_>,
    conn: &mut PgConnection,
) -> sqlx::Result<InteractionResponse> {
    let Asker { tenant, now, .. } = *asker;
    let all = load_all(core, asker, conn).await?;
    let id: DeliveryId = core.id();
    let day = local_time(now, &all.zone);
    let mut text = card::export(&all.to_list(core, asker), now);
    for records in records {
        let section = records.export(conn, tenant, asker.person, &all.zone).await?;
        if !section.is_empty() {
            text = format!("{text}\n{section}");
        }
    }
    let file = OutgoingFile {
        // The id in the name lets a retry find a file that was sent already.
        name: format!("nod-memory-{}-{}.md", now.format("%Y-%m-%d"), id.short()),
        text,
    };
    let thread = asker.place.is_dm.then_some("");
    let conversation =
        conversations::find_or_create_conversation(conn, tenant, all.channel, thread, core.id(), now).await?;
    let venue = conversations::load_location(conn, tenant, conversation).await?;
    let target =
        DeliveryTarget::DirectMessage { workspace: asker.workspace.to_owned(), user: asker.user.to_owned() };
    let new = NewDelivery {
        id,
        conversation,
        run: None,
        platform: &venue.platform,
        target: Some(&target),
        opens_thread: false,
        card: &Card::from_markdown(format!("What I remember as of {day}.")),
        only_for: Some(asker.person),
    };
    delivery::enqueue(conn, tenant, &venue, &new, now).await?;
    delivery::sql::set_file(conn, tenant, id, &file).await?;
    whisper("I'm sending you the file in our direct messages.")
}
