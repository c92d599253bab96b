//! Commands: `help`, `ask`, `connect`, `disconnect`, `approvals`, `runs`, `settings`, `admin`, and those of the
//! abilities. A bare command shows help; for an unknown one the nearest known command is suggested.

use sqlx::PgConnection;

use super::{ByHand, InboundContext, admin, copied_card, message, runs, settings, sql};
use crate::home::setup;
use crate::identity_link;
use nod_accounts::connection::{self, NewConnectRequest, card, delegated_access, disconnect, scopes};
use nod_contract::card::{Action, Block, Button, Card, OnClick, Row, Style};
use nod_contract::chat::{ChannelRef, CommandSyntax, Inbound, InteractionResponse};
use nod_contract::command::CommandSpec;
use nod_contract::ids::{OfferId, PersonId};
use nod_contract::provider::Provider;
use nod_people::delivery::{self, NewDelivery};
use nod_people::{conversations, people};
use nod_requests::approval;

/// The core's commands; those of the abilities are listed between the two.
const BEFORE: [&str; 5] = ["help", "ask", "connect", "disconnect", "approvals"];
const AFTER: [&str; 2] = ["runs", "settings"];

/// Returns the names that no ability's command can have.
pub(crate) fn own_commands() -> impl Iterator<Item = &'static str> {
    BEFORE.into_iter().chain(AFTER).chain(["admin"])
}

/// One sentence that says what Nod does.
pub(crate) const CAPABILITIES_SENTENCE: &str = "I read your email and calendar when you ask, answer \
    questions, and write emails and invitations for you. You see exactly what will be sent, and it only goes \
    once you press **Approve**.";

/// Returns the help text, with commands as they are typed on that platform.
pub(crate) fn help_text(abilities: &[CommandSpec], typing: CommandSyntax<'_>) -> String {
    let usual = Provider::DEFAULT_SCOPES.as_str();
    let line = |typed: String, does: &str| format!("`{typed}` {does}");
    let mut commands = vec![
        line(typing.format_with_option("ask", "question", "…"), "ask me anything"),
        line(typing.format_with_option("connect", "account", usual), "connect your account"),
        line(typing.format_command("disconnect"), "disconnect your account"),
        line(typing.format_with_option("connect", "account", "chat"), "link your other chat"),
        line(typing.format_command("approvals"), "see what's waiting for you"),
    ];
    commands.extend(abilities.iter().map(|command| line(typing.format_command(command.name), command.does)));
    commands.extend([
        line(typing.format_command("runs"), "see how your requests went"),
        line(typing.format_command("settings"), "change how I work in this channel, and your working hours"),
        line(typing.format_command("help"), "show this"),
    ]);
    let commands = commands.join(" · ");
    format!(
        "{CAPABILITIES_SENTENCE}\n\n- Mention me in a channel and I'll answer in a thread. You don't need to \
         mention me again there.\n- In direct messages, just write.\n- Try “tell Bo I'm late”, “what's new \
         in my email?”, “draft an email to Bo about the plan”, “what's on my calendar tomorrow?” or “find \
         half an hour with Bo next week”.\n- Say “stop” and I'll stop. Press Undo to take back something \
         that's about to go out.\n\n{commands}."
    )
}

pub(super) async fn accept(
    arrival: &InboundContext<'_>,
    place: &ChannelRef,
    name: &str,
    text: &str,
) -> sqlx::Result<InteractionResponse> {
    let (mut tx, person) = match arrival.begin_by_hand("command").await? {
        ByHand::Served(tx, person) => (tx, person),
        ByHand::Over(answer) => return Ok(answer),
    };
    let immediate = match name {
        "" | "help" => InteractionResponse::Ephemeral(help(arrival, &mut tx).await?),
        "ask" if text.trim().is_empty() => {
            let asked =
                arrival.command_syntax().format_with_option("ask", "question", "what's new in my email?");
            InteractionResponse::ephemeral(format!("Ask me something, like `{asked}`"))
        }
        "ask" => handle_ask(arrival, &mut tx, place, person, text.trim()).await?,
        "connect" => handle_connect(arrival, &mut tx, place, person, text.trim()).await?,
        "disconnect" => {
            let wanted = text.trim().to_lowercase();
            let provider =
                if wanted.is_empty() { Some(Provider::DEFAULT_SCOPES) } else { Provider::from_name(&wanted) };
            match provider {
                Some(provider) => {
                    let lending = &arrival.core.accounts.lending;
                    disconnect::confirm_disconnect(&mut tx, lending, arrival.tenant, person, provider).await?
                }
                None => InteractionResponse::ephemeral("I don't know that account."),
            }
        }
        "approvals" => handle_approvals(arrival, &mut tx, person).await?,
        "runs" => runs::list_runs(arrival, &mut tx, person).await?,
        "settings" => settings::show(arrival, &mut tx, place, person).await?,
        "admin" => {
            admin::handle_command(arrival, &mut tx, &arrival.asker(person, place), text.trim()).await?
        }
        other => match arrival.core.abilities.command(other) {
            Some(command) => {
                command.handle_command(&mut tx, &arrival.asker(person, place), text.trim()).await?
            }
            None => unknown_command(arrival, other),
        },
    };
    tx.commit().await?;
    Ok(immediate)
}

/// Returns the help. An admin reads what is left to set up too.
async fn help(arrival: &InboundContext<'_>, conn: &mut PgConnection) -> sqlx::Result<Card> {
    let Inbound { platform, workspace, author, .. } = arrival.inbound;
    let card = Card::from_markdown((arrival.core.help)(arrival.command_syntax()));
    let admin = (platform.as_str(), workspace.as_str(), author.user.as_str());
    let Some(steps) = setup::card_for_admin(arrival.core, conn, arrival.tenant, admin).await? else {
        return Ok(card);
    };
    let title = steps.title.map(|title| Block::Markdown(format!("**{title}**")));
    Ok(title.into_iter().chain(steps.body).fold(card, Card::with_block))
}

/// Completes a command's argument from stored values that match the typed text. It is called for every letter and
/// writes nothing.
pub(super) async fn complete(
    arrival: &InboundContext<'_>,
    place: &ChannelRef,
    name: &str,
    typed: &str,
) -> sqlx::Result<InteractionResponse> {
    let Some(command) = arrival.core.abilities.command(name) else {
        return Ok(InteractionResponse::Autocomplete(Vec::new()));
    };
    let Inbound { platform, workspace, author, .. } = arrival.inbound;
    let mut conn = arrival.core.door.acquire().await?;
    let known =
        people::sql::find_by_user(&mut conn, arrival.tenant, platform, workspace, &author.user).await?;
    let choices = match known {
        Some(person) if arrival.core.welcome.admits(person.membership) => {
            command.choices(&mut conn, &arrival.asker(person.id, place), typed).await?
        }
        _ => Vec::new(),
    };
    Ok(InteractionResponse::Autocomplete(choices))
}

fn unknown_command(arrival: &InboundContext<'_>, word: &str) -> InteractionResponse {
    let commands = commands(arrival);
    let nearest = commands.iter().max_by(|a, b| {
        let near = |c: &str| strsim::jaro_winkler(word, c);
        near(a).total_cmp(&near(b))
    });
    let nearest = nearest.filter(|c| strsim::jaro_winkler(word, c) > 0.7);
    let did_you_mean = nearest.map_or_else(String::new, |c| {
        format!(" Did you mean `{}`?", arrival.command_syntax().format_command(c))
    });
    let all = command_list(arrival);
    let said: String = word.chars().filter(|c| !c.is_control() && *c != '`').take(40).collect();
    InteractionResponse::ephemeral(format!(
        "I don't know the command `{said}`.{did_you_mean} You can use {all}."
    ))
}

fn commands(arrival: &InboundContext<'_>) -> Vec<&'static str> {
    let abilities = arrival.core.abilities.commands().map(|command| command.name);
    BEFORE.into_iter().chain(abilities).chain(AFTER).collect()
}

fn command_list(arrival: &InboundContext<'_>) -> String {
    commands(arrival).into_iter().map(|c| format!("`{c}`")).collect::<Vec<_>>().join(", ")
}

/// Posts the question and answers in its thread. If Nod cannot post there, only the asker gets the answer.
async fn handle_ask(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    place: &ChannelRef,
    person: PersonId,
    text: &str,
) -> sqlx::Result<InteractionResponse> {
    let thread = if place.is_dm { Some("") } else { place.thread.as_deref() };
    let answer = sql::PossibleAnswer::default();
    let known = sql::record_or_find(conn, arrival.tenant, arrival.inbound, place, answer, None).await?;
    let followed = known.followed_conversation.is_some();
    let conversation = message::find_or_create_conversation(arrival, conn, place, thread, person).await?;
    let said = message::RunRequest {
        person,
        conversation,
        text,
        message: None,
        is_shared: !place.is_dm,
        quoted_message: None,
        is_first_in_thread: !place.is_dm && thread.is_some() && !followed,
        prepared_answer: None,
    };
    ask(arrival, conn, &said).await?;
    Ok(InteractionResponse::Ack)
}

/// Begins the run of a question that its asker wrote in no message, and posts the question where others read the answer.
pub(super) async fn ask(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    said: &message::RunRequest<'_>,
) -> sqlx::Result<()> {
    let run = message::start_run_with(arrival, conn, said, |state| state.started_by_command = true).await?;
    if !said.is_shared {
        return Ok(());
    }
    let asker = people::sql::load(conn, arrival.tenant, said.person).await?;
    let name =
        asker.as_ref().map_or("Somebody", |p| if p.has_profile { p.display_name() } else { "Somebody" });
    let card =
        Card::default().with_title(format!("{name} asked")).with_block(Block::Literal(said.text.to_owned()));
    let venue = conversations::load_location(conn, arrival.tenant, said.conversation).await?;
    let new = NewDelivery {
        id: arrival.core.id(),
        conversation: said.conversation,
        run: Some(run),
        platform: &venue.platform,
        target: None,
        opens_thread: venue.is_thread_pending,
        card: &card,
        only_for: None,
    };
    delivery::enqueue(conn, arrival.tenant, &venue, &new, arrival.now).await
}

async fn handle_connect(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    place: &ChannelRef,
    person: PersonId,
    text: &str,
) -> sqlx::Result<InteractionResponse> {
    let asker = arrival.identity_link_requester(person);
    if let Some(code) = identity_link::parse_code(text) {
        return identity_link::enter(&asker, conn, &code).await;
    }
    // The conversation records only where the person is; nothing is posted into it.
    let thread = place.is_dm.then_some("");
    let conversation = message::find_or_create_conversation(arrival, conn, place, thread, person).await?;
    if text.eq_ignore_ascii_case("chat") {
        return identity_link::show(&asker, conn, conversation).await;
    }
    if text.is_empty()
        && let Some(card) = disconnect::list(&arrival.core.accounts, conn, arrival.tenant, person).await?
    {
        let again = arrival.command_syntax().format_with_option(
            "connect",
            "account",
            Provider::DEFAULT_SCOPES.as_str(),
        );
        let more = format!("Use {again} to connect another account or to allow me more.");
        return Ok(InteractionResponse::Ephemeral(card.with_block(Block::Note(more))));
    }
    let wanted = if text.is_empty() {
        Some(Provider::DEFAULT_SCOPES)
    } else {
        Provider::from_name(&text.to_lowercase())
    };
    let Some(provider) = wanted else {
        let typing = arrival.command_syntax();
        return Ok(InteractionResponse::ephemeral(format!(
            "`{}` connects your {} account. `{}` links your other chat.",
            typing.format_with_option("connect", "account", Provider::DEFAULT_SCOPES.as_str()),
            Provider::DEFAULT_SCOPES.display_name(),
            typing.format_with_option("connect", "account", "chat")
        )));
    };
    let offer: OfferId = arrival.core.id();
    let scopes = scopes::usual(&arrival.core.accounts, provider);
    let new =
        NewConnectRequest { id: offer, person, provider, scopes, conversation, run: None, delivery: None };
    connection::make(&arrival.core.accounts, conn, arrival.tenant, &new, arrival.now).await?;
    let whose = delegated_access::load_account_source(
        conn,
        &arrival.core.accounts.lending,
        arrival.tenant,
        person,
        provider,
    )
    .await?;
    let why = card::why_connect(provider, &arrival.core.accounts.lending, &whose);
    Ok(InteractionResponse::Ephemeral(card::connect(provider, offer, &why)))
}

/// The most requests in one list.
const MAX_LISTED: usize = 10;

/// Lists what waits for this person. What is on one card is shown whole, so that it can be decided at once.
async fn handle_approvals(
    arrival: &InboundContext<'_>,
    conn: &mut PgConnection,
    person: PersonId,
) -> sqlx::Result<InteractionResponse> {
    let waiting =
        approval::sql::list_pending(conn, arrival.tenant, person, approval::sql::PendingFilter::Everywhere)
            .await?;
    let Some(first) = waiting.first().map(|one| one.card_for_person(person)) else {
        return Ok(InteractionResponse::ephemeral("Nothing is waiting for you."));
    };
    if waiting.iter().all(|one| one.card_for_person(person) == first)
        && let Some(card) = copied_card::load_copy(arrival, conn, first, person).await?
    {
        return Ok(InteractionResponse::Ephemeral(card));
    }
    let mut card = Card::default().with_title("Waiting for you");
    for (at, approval) in waiting.iter().take(MAX_LISTED).enumerate() {
        let number = at + 1;
        let show = Button {
            label: format!("Show {number}"),
            style: Style::Plain,
            on_click: OnClick::Action(Action::new("show_privately", approval.card_for_person(person))),
        };
        let line = approval::pending_line(&approval.localized_for(person));
        card = card.with_block(Block::Row(Row::new(format!("{number}. {line}"), vec![show])));
    }
    if let Some(more) = waiting.len().checked_sub(MAX_LISTED).filter(|more| *more > 0) {
        card = card.with_block(Block::Note(format!("and {more} more")));
    }
    Ok(InteractionResponse::Ephemeral(card))
}
