//! Fills a database with the past of many conversations: copies of those that were really held, each row many times,
//! under ids that follow from the first row's id and the number of the copy. So references stay right, whatever schema
//! the build has. `nod bench --fill` measures on such a database, and a story counts on one what its turns scan.

use anyhow::Context;
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

/// Who has held the copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldBy {
    /// Those who held the first ones: few people with a long past.
    TheSame,
    /// Colleagues, of whom rows are made too: many people, and many channels, each with a short past.
    Colleagues,
}

impl HeldBy {
    /// Returns how many copies of each of its conversations a channel has, and a colleague has held.
    fn conversations_a_channel(self) -> i64 {
        match self {
            Self::TheSame => 10,
            Self::Colleagues => 2,
        }
    }
}

/// What says that a table's rows belong to a conversation, and are as many as people have talked. So a table is filled
/// whatever it is called, and whatever the next migration adds.
const OF_A_CONVERSATION: [&str; 3] = ["channel_id", "conversation_id", "run_id"];
/// Tables that grow with the conversations as well and have no such column.
const ALSO: [&str; 3] = ["audit", "inbound", "rate_limits"];
/// Work that is left: a copy of it would be done.
const WORK: [&str; 2] = ["lanes", "queued_jobs"];
/// References to people.
const PEOPLE: [&str; 5] = ["person_id", "decider_id", "decided_by", "private_with", "only_for"];
/// References to what is not copied.
const SHARED: [&str; 2] = ["tenant_id", "lease_id"];
/// Texts that are unique, or by which rows are found.
const UNIQUE: [&str; 7] =
    ["channel_ref", "thread_ref", "message_ref", "draft_ref", "user_ref", "key", "state_hash"];
/// The texts by which a person is found. A colleague of the same first name would be a question.
const NAMES: [&str; 4] = ["name", "full_name", "email", "connected_email"];
/// What is too large to be kept a hundred thousand times on a small disk, and is read for its own run alone: its table, its
/// column and what is kept of it.
const LARGE: [(&str, &str, &str); 2] = [
    ("runs", "state", "'{}'"),
    (
        "step_records",
        "steps",
        "(select jsonb_agg(s - 'input' - 'output') from jsonb_array_elements(t.steps) s)",
    ),
];

/// Copies until there are about so many runs.
///
/// # Errors
/// If the database fails, or has a table in which copies are not told apart.
pub async fn fill(url: &str, runs: u32, held_by: HeldBy) -> anyhow::Result<()> {
    let mut conn = PgConnection::connect(url).await?;
    let held: i64 = sqlx::query_scalar("select count(*) from runs").fetch_one(&mut conn).await?;
    let copies = i64::from(runs) / held.max(1);
    // The copies are consistent by themselves, and keys checked one by one would take an hour.
    sqlx::query("set session_replication_role = replica").execute(&mut conn).await?;
    for table in Table::all(&mut conn).await? {
        let Some(copied) = table.copied(held_by) else { continue };
        let statement = table.copy_statement(copied, held_by, copies);
        let done = sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut conn).await;
        done.with_context(|| format!("could not fill {}", table.name))?;
    }
    sqlx::raw_sql("vacuum analyze").execute(&mut conn).await?;
    Ok(conn.close().await?)
}

/// How often a table's rows are copied.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Copied {
    /// Once for each copy of a conversation.
    WithConversations,
    /// Once for all conversations of a channel or of a colleague.
    WithChannels,
}

struct Table {
    name: String,
    /// The name of each column, and whether it is an id.
    columns: Vec<(String, bool)>,
}

impl Table {
    /// Returns the tables with the columns that the database does not fill. A view shows what its tables have.
    async fn all(conn: &mut PgConnection) -> anyhow::Result<Vec<Self>> {
        let rows = sqlx::query(
            "select c.table_name::text as name, array_agg(c.column_name::text) as columns,
                 array_agg(c.data_type = 'uuid') as are_ids
             from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
             where c.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.is_identity = 'NO'
                 and c.is_generated = 'NEVER'
             group by 1",
        );
        let mut tables = Vec::new();
        for row in rows.fetch_all(conn).await? {
            let (names, are_ids): (Vec<String>, Vec<bool>) =
                (row.try_get("columns")?, row.try_get("are_ids")?);
            let columns = names.into_iter().zip(are_ids).collect();
            tables.push(Self { name: row.try_get("name")?, columns });
        }
        Ok(tables)
    }

    /// Returns how often the rows are copied, if they are.
    fn copied(&self, held_by: HeldBy) -> Option<Copied> {
        let has = |names: &[&str]| self.columns.iter().any(|(column, _)| names.contains(&column.as_str()));
        if WORK.contains(&self.name.as_str()) {
            None
        } else if self.name == "channels" {
            Some(Copied::WithChannels)
        } else if has(&OF_A_CONVERSATION) || ALSO.contains(&self.name.as_str()) {
            Some(Copied::WithConversations)
        } else if held_by == HeldBy::Colleagues && (self.name == "people" || has(&["person_id"])) {
            Some(Copied::WithChannels)
        } else {
            None
        }
    }

    fn copy_statement(&self, copied: Copied, held_by: HeldBy, copies: i64) -> String {
        let table = &self.name;
        let names: Vec<&str> = self.columns.iter().map(|(column, _)| column.as_str()).collect();
        let values: Vec<String> =
            self.columns.iter().map(|(column, is_id)| self.value(column, *is_id, copied, held_by)).collect();
        let (names, values) = (names.join(", "), values.join(", "));
        let (first, step) = match copied {
            Copied::WithConversations => (1, 1),
            Copied::WithChannels => (0, held_by.conversations_a_channel()),
        };
        // Not the copies of copies: all rows are read before the first is written.
        format!(
            "insert into {table} ({names})
             select {values} from {table} t, generate_series({first}, {copies}, {step}) n"
        )
    }

    /// Returns the expression of a column in the `n`th copy of the row `t`.
    fn value(&self, column: &str, is_id: bool, copied: Copied, held_by: HeldBy) -> String {
        let is_person = PEOPLE.contains(&column);
        let of_channel = is_person || column == "channel_id" || copied == Copied::WithChannels;
        let number =
            if of_channel { format!("(n / {})", held_by.conversations_a_channel()) } else { "n".to_owned() };
        let by_colleagues = held_by == HeldBy::Colleagues;
        let large = LARGE.iter().find(|(table, large, _)| *table == self.name && *large == column);
        if let Some((.., kept)) = large {
            (*kept).to_owned()
        } else if SHARED.contains(&column) || is_person && !by_colleagues {
            format!("t.{column}")
        } else if is_id {
            format!("md5(t.{column}::text || {number})::uuid")
        } else if UNIQUE.contains(&column) {
            format!("t.{column} || '.' || {number}")
        } else if by_colleagues && self.name == "people" && NAMES.contains(&column) {
            format!("{number} || t.{column}")
        } else if by_colleagues && column == "recipients" {
            format!("array(select {number} || r from unnest(t.recipients) r)")
        } else {
            format!("t.{column}")
        }
    }
}
