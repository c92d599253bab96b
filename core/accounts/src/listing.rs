//! The tool `list_connections`: which of the person's accounts are connected.

use async_trait::async_trait;
use nod_contract::provider::Provider;
use nod_contract::tool::{Tool, ToolContext, ToolOutput};
use nod_people::listing::{self, Listing, describe_rows};
use serde_json::json;
use sqlx::PgPool;

use crate::connection;

pub fn tools(pool: &PgPool) -> Vec<Tool> {
    vec![listing::tool(Connections(pool.clone()))]
}

struct Connections(PgPool);

#[async_trait]
impl Listing for Connections {
    fn name(&self) -> &'static str {
        "list_connections"
    }

    fn description(&self) -> &'static str {
        "Lists the person's connected accounts (\"which accounts are connected?\", \"is my mail connected?\")."
    }

    fn status_text(&self) -> &'static str {
        "Checking accounts"
    }

    async fn list(&self, cx: &ToolContext) -> sqlx::Result<ToolOutput> {
        let person = cx.principal.person;
        let mut conn = self.0.acquire().await?;
        let accounts = connection::sql::list_accounts(&mut conn, cx.scope.tenant, person).await?;
        drop(conn);
        let row = |(provider, account, works): &(String, String, bool)| {
            let known = Provider::from_name(provider);
            let name = known.map_or_else(|| provider.clone(), |known| known.display_name().to_owned());
            vec![name, account.clone(), if *works { "works" } else { "has to be connected again" }.to_owned()]
        };
        let rows: Vec<Vec<String>> = accounts.iter().map(row).collect();
        let words = match rows.as_slice() {
            [] => "None of your accounts is connected.".to_owned(),
            rows => describe_rows(
                ("connected account", "connected accounts"),
                &["Provider", "Account", "State"],
                rows,
            ),
        };
        Ok(ToolOutput::trusted(json!({ "accounts": rows })).with_verbatim(words).private_to(person))
    }
}
