//! Rows of questions.

use serde_json::Value;
use sqlx::PgConnection;

use super::VoteProposal;
use nod_contract::clock::Timestamp;
use nod_contract::ids::{ConversationId, DeliveryId, PersonId, QuestionId, RunId, TenantId};
use nod_contract::tool::Choice;
use nod_store::jobs::sql::{from_json, to_json};

pub struct Question {
    pub id: QuestionId,
    pub conversation: ConversationId,
    pub run: RunId,
    pub call_id: String,
    pub person: PersonId,
    pub topic: String,
    pub choices: Vec<Choice>,
    /// Set if the question can be put to a vote.
    pub vote_proposal: Option<VoteProposal>,
    /// Whether the person may answer in words of their own.
    pub takes_words: bool,
    /// Whether the vote was opened.
    pub is_vote_open: bool,
    pub status: String,
    pub answer: Option<Value>,
    pub expires_at: Timestamp,
    pub delivery: DeliveryId,
}

impl Question {
    /// Returns the choice that was picked.
    pub(super) fn chosen(&self) -> Option<&Choice> {
        self.choices.get(self.chosen_index()?)
    }

    /// Returns the index of the picked choice; `None` if it is beyond the last, which means none of them.
    pub(super) fn chosen_index(&self) -> Option<usize> {
        let at = self.answer.as_ref()?["choice"].as_u64()?;
        usize::try_from(at).ok().filter(|at| *at < self.choices.len())
    }
}

pub async fn insert(
    conn: &mut PgConnection,
    tenant: TenantId,
    question: &Question,
    now: Timestamp,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into questions (tenant_id, id, conversation_id, run_id, call_id, person_id, topic, choices,
             status, expires_at, delivery_id, created_at, vote_proposal, takes_words)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $13, $9, $10, $11, $12, $14)",
        tenant.0,
        question.id.0,
        question.conversation.0,
        question.run.0,
        question.call_id,
        question.person.0,
        question.topic,
        to_json(&question.choices)? as _,
        question.expires_at,
        question.delivery.0,
        now,
        question.vote_proposal.as_ref().map(to_json).transpose()? as _,
        question.status,
        question.takes_words
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn load(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: QuestionId,
) -> sqlx::Result<Option<Question>> {
    let row = sqlx::query!(
        r#"select conversation_id, run_id, call_id, person_id, topic, choices, expires_at, delivery_id,
             vote_proposal, takes_words, vote_opened_at is not null as "opened!", status, answer
         from questions where tenant_id = $1 and id = $2"#,
        tenant.0,
        id.0
    )
    .fetch_optional(conn)
    .await?;
    row.map(|row| {
        Ok(Question {
            id,
            conversation: ConversationId(row.conversation_id),
            run: RunId(row.run_id),
            call_id: row.call_id,
            person: PersonId(row.person_id),
            topic: row.topic,
            choices: from_json(row.choices)?,
            vote_proposal: row.vote_proposal.map(from_json).transpose()?,
            takes_words: row.takes_words,
            is_vote_open: row.opened,
            status: row.status,
            answer: row.answer,
            expires_at: row.expires_at,
            delivery: DeliveryId(row.delivery_id),
        })
    })
    .transpose()
}

/// Returns the labels of the buttons with which a person can answer what their tasks ask: in a conversation or, in direct
/// messages, where what is private to them is posted too, anywhere.
pub(crate) async fn list_likely_answers(
    conn: &mut PgConnection,
    tenant: TenantId,
    person: PersonId,
    (conversation, is_shared): (ConversationId, bool),
    now: Timestamp,
) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        r#"select choice->>'label' as "label!" from questions q, jsonb_array_elements(q.choices) choice
         where q.tenant_id = $1 and q.person_id = $2 and q.status = 'pending' and q.takes_words and q.expires_at > $5
           and (q.conversation_id = $3 or not $4)"#,
        tenant.0,
        person.0,
        conversation.0,
        is_shared,
        now
    )
    .fetch_all(conn)
    .await
}

pub(super) async fn list_pending_of_run(
    conn: &mut PgConnection,
    tenant: TenantId,
    run: RunId,
) -> sqlx::Result<Vec<QuestionId>> {
    let ids = sqlx::query_scalar!(
        "select id from questions where tenant_id = $1 and run_id = $2 and status = 'pending'",
        tenant.0,
        run.0
    )
    .fetch_all(conn)
    .await?;
    Ok(ids.into_iter().map(QuestionId).collect())
}

/// Whether a question waits for its answer.
pub(super) async fn is_pending(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: QuestionId,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let waits = sqlx::query_scalar!(
        r#"select exists (
             select 1 from questions where tenant_id = $1 and id = $2 and status = 'pending' and expires_at > $3) as "waits!""#,
        tenant.0,
        id.0,
        now
    );
    waits.fetch_one(conn).await
}

/// Updates the status from *pending*; returns true for the one caller that wins. An answer must come before the expiry.
pub async fn resolve(
    conn: &mut PgConnection,
    tenant: TenantId,
    id: QuestionId,
    to: &str,
    answer: Option<&Value>,
    now: Timestamp,
) -> sqlx::Result<bool> {
    let settled = sqlx::query!(
        "update questions set status = $3, answer = $4
         where tenant_id = $1 and id = $2 and status = 'pending' and ($3 <> 'answered' or expires_at > $5)",
        tenant.0,
        id.0,
        to,
        answer,
        now
    )
    .execute(conn)
    .await?;
    Ok(settled.rows_affected() == 1)
}
