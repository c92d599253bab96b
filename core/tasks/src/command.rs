//! The command `task`: with words it begins a task, without any it lists those that are open.

use async_trait::async_trait;
use sqlx::PgConnection;

use crate::card::{self, Phase};
use crate::context::{Room, TaskContext};
use crate::{DELETED, MAX_TITLE_CHARS, NewTask, PLAN, QUEUED, TASK, Task, list, queue, sql};
use nod_contract::card::truncate;
use nod_contract::chat::InteractionResponse;
use nod_contract::clock::Timestamp;
use nod_contract::command::{CommandOption, CommandSpec, Takes};
use nod_contract::ids::{ConversationId, DeliveryId, PersonId, RunId, TenantId};
use nod_contract::text::group_digits;
use nod_people::delivery::{self, NewDelivery};
use nod_people::{ability, conversations, people};
use nod_store::ability::{Asker, Command};
use nod_store::audit;
use nod_store::runs;
use nod_store::workflow::{self, MAX_WISH_CHARS, NewWorkflowRun};
use serde_json::json;

/// What the audit log says of a task that begins.
pub(crate) const BEGUN: &str = "task.begun";

/// `task compare the caterers in my mail` begins a task.
pub(crate) struct Begin(pub(crate) TaskContext);

#[async_trait]
impl Command for Begin {
    fn spec(&self) -> CommandSpec {
        CommandSpec {
            name: "task",
            does: "hand me work that takes several steps",
            about: "Work that goes on by itself",
            options: &[CommandOption { name: "what", about: "What you want done", takes: Takes::Words }],
        }
    }

    async fn handle_command(
        &self,
        conn: &mut PgConnection,
        asker: &Asker<'_>,
        words: &str,
    ) -> sqlx::Result<InteractionResponse> {
        let whisper = |text: String| Ok(InteractionResponse::ephemeral(text));
        let wish = words.trim();
        let syntax = self.0.adapters.command_syntax(asker.platform);
        let typed = syntax.format_with_option("task", "what", "…");
        if wish.is_empty() {
            let open = sql::list_open(conn, asker.tenant, asker.person).await?;
            return Ok(InteractionResponse::Ephemeral(list::card(&open, &typed, self.0.limits)));
        }
        let length = wish.chars().count();
        if length > MAX_WISH_CHARS {
            let (length, most) = (group_digits(length), group_digits(MAX_WISH_CHARS));
            return whisper(format!(
                "That is {length} characters long, and a task takes at most {most}. Say it in fewer words. Nothing was begun."
            ));
        }
        let room = queue::find_room(&self.0, conn, (asker.tenant, asker.person)).await?;
        if let Some(refusal) = queue::refusal(&room) {
            return Ok(refusal);
        }
        let (id, note) = (self.0.id(), wish.to_owned());
        let is_queued = room.0 != Room::Now;
        let new = NewTask { id, title: title(wish), note, about: None, is_queued };
        if asker.place.is_dm {
            let here = ability::find_or_create_conversation(&self.0, conn, asker, asker.thread()).await?;
            begin(&self.0, conn, (asker.tenant, here, asker.person), new, asker.now).await?;
            return Ok(InteractionResponse::Ack);
        }
        // It works with their own mail, and Nod need not be a member of the channel.
        let private = ability::find_or_create_private_conversation(&self.0, conn, asker).await?;
        let begun = card::begun_card(&new, false);
        begin(&self.0, conn, (asker.tenant, private, asker.person), new, asker.now).await?;
        Ok(InteractionResponse::Ephemeral(begun))
    }
}

/// Begins the same task as one that has ended, once, and where that one was.
pub(crate) async fn begin_again(
    core: &TaskContext,
    conn: &mut PgConnection,
    asker: &Asker<'_>,
    (ended, conversation): (RunId, ConversationId),
) -> sqlx::Result<InteractionResponse> {
    // Two presses on one card name the same task, and come one after the other.
    let id = workflow::run_after(ended);
    runs::lock(conn, asker.tenant, ended).await?;
    if sql::exists(conn, asker.tenant, id).await? {
        return Ok(InteractionResponse::ephemeral(
            "I have begun it again already. Its own card is further down.",
        ));
    }
    let room = queue::find_room(core, conn, (asker.tenant, asker.person)).await?;
    if let Some(refusal) = queue::refusal(&room) {
        return Ok(refusal);
    }
    let Task { title, note, about, .. } = sql::load(conn, asker.tenant, ended).await?;
    if note == DELETED {
        return Ok(InteractionResponse::ephemeral("The message that asked for this was deleted."));
    }
    let new = NewTask { id, title, note, about, is_queued: room.0 != Room::Now };
    begin(core, conn, (asker.tenant, conversation, asker.person), new, asker.now).await?;
    Ok(InteractionResponse::Ack)
}

/// Returns a wish as a title.
pub(crate) fn title(wish: &str) -> String {
    let line = truncate(wish, MAX_TITLE_CHARS);
    let mut letters = line.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

/// Stores a task, its run and its card, in the transaction of what begins it.
pub(crate) async fn begin(
    core: &TaskContext,
    conn: &mut PgConnection,
    (tenant, conversation, person): (TenantId, ConversationId, PersonId),
    new: NewTask,
    now: Timestamp,
) -> sqlx::Result<()> {
    let NewTask { id, mut title, mut note, mut about, is_queued } = new;
    let venue = conversations::load_location(conn, tenant, conversation).await?;
    let there = (venue.platform.as_str(), venue.workspace.as_str());
    let is_beginning_of_note = title == self::title(&note);
    let texts = [&mut title, &mut note].into_iter().chain(about.as_mut().map(|about| &mut about.text));
    people::replace_mentions(conn, tenant, there, texts.collect()).await?;
    if is_beginning_of_note {
        title = self::title(&note);
    }
    let task = Task {
        title,
        note,
        about,
        card: core.ids.next(),
        created_at: now,
        finished_at: None,
        steps: Vec::new(),
    };
    let node = if is_queued { QUEUED } else { PLAN };
    let run =
        NewWorkflowRun { id, workflow: TASK, node, waits: is_queued, conversation, person, trace: core.id() };
    workflow::begin(conn, tenant, &run, now).await?;
    let owner = people::sql::load(conn, tenant, person).await?;
    let owner = owner.as_ref().map_or("Somebody", |person| person.display_name());
    let card = card::progress(
        id,
        &task,
        (owner, !venue.is_private_location()),
        if is_queued { Phase::Queued } else { Phase::Planning },
    );
    let delivery = NewDelivery {
        id: DeliveryId(task.card),
        conversation,
        run: Some(id),
        platform: &venue.platform,
        target: None,
        opens_thread: venue.is_thread_pending,
        card: &card,
        only_for: None,
    };
    delivery::enqueue(conn, tenant, &venue, &delivery, now).await?;
    sql::insert(conn, tenant, id, (conversation, person), &task).await?;
    let done = if is_queued { "task.queued" } else { BEGUN };
    audit::insert_entry(conn, tenant, Some(person), done, id.0, None, &json!({}), now).await?;
    match is_queued {
        true => queue::enqueue(conn, tenant, person, now).await,
        false => Ok(()),
    }
}
