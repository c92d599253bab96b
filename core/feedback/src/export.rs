//! Ratings as files: everybody's for an admin, and a person's own in the file of their memory.

use std::fmt::Write;

use async_trait::async_trait;
use serde_json::json;
use sqlx::PgConnection;

use crate::{Rating, sql};
use nod_contract::card::Card;
use nod_contract::chat::{DeliveryTarget, InteractionResponse, OutgoingFile};
use nod_contract::ids::{DeliveryId, PersonId, TenantId};
use nod_people::context::Chat;
use nod_people::delivery::{self, NewDelivery};
use nod_people::{ability, conversations};
use nod_store::ability::{Asker, PersonalRecords};
use nod_store::audit;
use nod_when::when::local_time;

/// The most ratings in a file.
const MAX_ROWS: i64 = 10_000;
/// The longest file, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// A person's own ratings, for the file of their memory.
pub struct Ratings;

#[async_trait]
impl PersonalRecords for Ratings {
    async fn export(
        &self,
        conn: &mut PgConnection,
        tenant: TenantId,
        person: PersonId,
        zone: &str,
    ) -> sqlx::Result<String> {
        Ok(section(&sql::list_of_person(conn, tenant, person, MAX_ROWS).await?, zone))
    }
}

/// Sends everybody's ratings as a file to the asker, who must be an admin, in their direct messages.
///
/// # Errors
/// If the database does not answer; nothing has changed then.
pub async fn send_export(
    core: &Chat,
    conn: &mut PgConnection,
    asker: &Asker<'_>,
) -> sqlx::Result<InteractionResponse> {
    let Asker { tenant, now, .. } = *asker;
    let ratings = sql::list(conn, tenant, MAX_ROWS + 1).await?;
    if ratings.is_empty() {
        return Ok(InteractionResponse::ephemeral("Nobody has rated an answer yet."));
    }
    let (text, rows) = table(&ratings);
    let is_cut = rows < ratings.len();
    let id: DeliveryId = core.id();
    // The id in the name lets a retry find a file that was sent already.
    let name = format!("nod-feedback-{}-{}.csv", now.format("%Y-%m-%d"), id.short());
    let thread = asker.place.is_dm.then_some("");
    let conversation = ability::find_or_create_conversation(core, conn, asker, thread).await?;
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
        card: &Card::from_markdown(summary(&ratings[..rows], is_cut)),
        only_for: Some(asker.person),
    };
    delivery::enqueue(conn, tenant, &venue, &new, now).await?;
    delivery::sql::set_file(conn, tenant, id, &OutgoingFile { name, text }).await?;
    let person = Some(asker.person);
    audit::insert_entry(conn, tenant, person, "feedback.exported", id.0, None, &json!({ "rows": rows }), now)
        .await?;
    Ok(InteractionResponse::ephemeral("I'm sending you the file in our direct messages."))
}

/// "What people thought of my answers: 12 👍 and 3 👎."
fn summary(ratings: &[Rating], is_cut: bool) -> String {
    let up = ratings.iter().filter(|rating| rating.is_up).count();
    let older = if is_cut { " The file has the newest ones only." } else { "" };
    format!("What people thought of my answers: {up} 👍 and {} 👎.{older}", ratings.len() - up)
}

/// Returns a table of comma-separated values (RFC 4180), and how many ratings are in it.
fn table(ratings: &[Rating]) -> (String, usize) {
    let mut text = "at,person,rating,what was wrong,run\r\n".to_owned();
    for (rows, Rating { run, person, is_up, why, at }) in ratings.iter().enumerate() {
        let row = [
            at.format("%Y-%m-%dT%H:%M:%SZ").to_string(),
            cell(person),
            if *is_up { "up" } else { "down" }.to_owned(),
            cell(why.as_deref().unwrap_or_default()),
            run.to_string(),
        ]
        .join(",");
        if text.len() + row.len() + 2 > MAX_BYTES {
            return (text, rows);
        }
        text = text + &row + "\r\n";
    }
    (text, ratings.len())
}

/// Quotes a person's text. A spreadsheet would run one that begins like a formula, so that gets an apostrophe first.
fn cell(text: &str) -> String {
    let formula = text.trim_start().starts_with(['=', '+', '-', '@']) || text.starts_with(['\t', '\r']);
    format!("\"{}{}\"", if formula { "'" } else { "" }, text.replace('"', "\"\""))
}

/// Returns the section of a person's file.
fn section(ratings: &[Rating], zone: &str) -> String {
    if ratings.is_empty() {
        return String::new();
    }
    let mut text = "## What you thought of answers\n\n".to_owned();
    for Rating { run, is_up, why, at, .. } in ratings {
        let sign = if *is_up { "👍" } else { "👎" };
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "- {sign} {} (run {})",
            local_time(*at, zone),
            nod_contract::ids::RunId(*run).short()
        );
        for line in why.iter().flat_map(|why| why.lines()) {
            let _ = writeln!(text, "  > {line}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono::DateTime;
    use uuid::Uuid;

    fn rating(why: &str) -> Rating {
        Rating {
            run: Uuid::nil(),
            person: "Ana Silva".to_owned(),
            is_up: why.is_empty(),
            why: Some(why.to_owned()).filter(|why| !why.is_empty()),
            at: DateTime::from_timestamp(1_772_789_400, 0).unwrap_or_default(),
        }
    }

    #[test]
    fn people_write_no_formulas_and_no_rows() {
        let (text, rows) =
            table(&[rating("=HYPERLINK(\"http://evil.test\")"), rating("Wrong,\r\n\"late\""), rating("")]);
        let at = "2026-03-06T09:30:00Z,\"Ana Silva\"";
        let run = Uuid::nil();
        assert_eq!(
            text,
            format!(
                "at,person,rating,what was wrong,run\r\n{at},down,\"'=HYPERLINK(\"\"http://evil.test\"\")\",{run}\r\n\
                 {at},down,\"Wrong,\r\n\"\"late\"\"\",{run}\r\n{at},up,\"\",{run}\r\n"
            )
        );
        assert_eq!(rows, 3);
        assert!(cell("\t=1+1").starts_with("\"'"));
    }

    #[test]
    fn a_file_is_cut_between_rows() {
        let all = vec![rating(&"é".repeat(1_000)); 1_000];
        let (text, rows) = table(&all);
        assert!(text.len() <= MAX_BYTES && text.ends_with("\r\n"), "{}", text.len());
        assert_eq!(text.lines().count(), rows + 1);
        assert!(rows > 400);
    }
}
