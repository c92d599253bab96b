//! The tools `list_approvals` and `list_drafts`: what waits for the person's nod, and their open drafts. Both are theirs alone.

use async_trait::async_trait;
use nod_contract::privacy::Provenance;
use nod_contract::tool::{Tool, ToolContext, ToolOutput};
use nod_people::listing::{self, Listing, describe_rows};
use nod_when::when::local_time;
use serde_json::json;
use sqlx::PgPool;

use crate::approval::{self, sql::PendingFilter};
use crate::draft;

pub fn tools(pool: &PgPool) -> Vec<Tool> {
    vec![listing::tool(Approvals(pool.clone())), listing::tool(Drafts(pool.clone()))]
}

struct Approvals(PgPool);

#[async_trait]
impl Listing for Approvals {
    fn name(&self) -> &'static str {
        "list_approvals"
    }

    fn description(&self) -> &'static str {
        "Lists what waits for the person's nod (\"what is waiting for me?\", \"which approvals are open?\")."
    }

    fn status_text(&self) -> &'static str {
        "Looking at what waits"
    }

    async fn list(&self, cx: &ToolContext) -> sqlx::Result<ToolOutput> {
        let person = cx.principal.person;
        let mut conn = self.0.acquire().await?;
        let waiting =
            approval::sql::list_pending(&mut conn, cx.scope.tenant, person, PendingFilter::Everywhere)
                .await?;
        drop(conn);
        let waiting: Vec<_> = waiting.iter().map(|one| one.localized_for(person)).collect();
        let row = |one: &approval::Approval| vec![approval::line(one), local_time(one.expires_at, &one.zone)];
        let rows: Vec<Vec<String>> = waiting.iter().map(row).collect();
        let words = match rows.as_slice() {
            [] => "Nothing is waiting for you.".to_owned(),
            rows => describe_rows(
                ("request is waiting for you", "requests are waiting for you"),
                &["Request", "Expires"],
                rows,
            ),
        };
        let lines: Vec<String> = waiting.iter().map(approval::prompt_line).collect();
        Ok(ToolOutput::trusted(json!({ "waiting": lines })).with_verbatim(words).private_to(person))
    }
}

struct Drafts(PgPool);

#[async_trait]
impl Listing for Drafts {
    fn name(&self) -> &'static str {
        "list_drafts"
    }

    fn description(&self) -> &'static str {
        "Lists the person's open drafts that were made here (\"which drafts are open?\")."
    }

    fn status_text(&self) -> &'static str {
        "Checking drafts"
    }

    async fn list(&self, cx: &ToolContext) -> sqlx::Result<ToolOutput> {
        let (person, zone) = (cx.principal.person, &cx.principal.zone);
        let mut conn = self.0.acquire().await?;
        let open = draft::sql::list_open(&mut conn, cx.scope.tenant, person).await?;
        drop(conn);
        let row = |one: &draft::sql::ListedDraft| {
            let draft = &one.draft;
            vec![draft.label.clone(), draft.provider_name.clone(), local_time(one.updated_at, zone)]
        };
        let rows: Vec<Vec<String>> = open.iter().map(row).collect();
        let words = match rows.as_slice() {
            [] => "You have no open drafts here.".to_owned(),
            rows => describe_rows(("open draft", "open drafts"), &["Draft", "In", "Changed"], rows),
        };
        let labels: Vec<&str> = open.iter().map(|one| one.draft.label.as_str()).collect();
        let sources = open.iter().flat_map(|one| one.untrusted_sources.iter().cloned());
        let output = ToolOutput::trusted(json!({ "drafts": labels }))
            .with_provenance(Provenance::from_sources(sources))
            .with_verbatim(words);
        Ok(output.private_to(person))
    }
}
