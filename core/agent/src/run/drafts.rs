//! A draft that was created or changed, in the commit of its run: its row, its card, and what that replaces.

use sqlx::PgConnection;

use super::commit::{Commit, neutral};
use nod_contract::clock::Timestamp;
use nod_contract::ids::DeliveryId;
use nod_contract::privacy::Audience;
use nod_people::delivery;
use nod_requests::approval;
use nod_requests::draft::sql::{self, Keep};
use nod_requests::draft::{OpenDraft, card};
use nod_store::jobs::WorkError;

impl Commit<'_> {
    /// Posts the newest card, marks the one before it as outdated, and supersedes requests to send its text.
    pub(super) async fn draft(
        &self,
        conn: &mut PgConnection,
        open: &OpenDraft,
        now: Timestamp,
    ) -> Result<(), WorkError> {
        let (tenant, person) = (self.claim.tenant, self.run.person);
        let before = sql::named(conn, tenant, person, &open.draft.id).await?;
        approval::supersede_draft(conn, tenant, person, &open.draft.id, now).await?;
        let id = before.as_ref().map_or_else(|| self.core.id(), |row| row.id);
        let delivery: DeliveryId = self.core.id();
        let audience = self.run.state.audience;
        let card = card::open(id, &open.draft);
        match audience {
            Audience::Channel => self.send(conn, delivery, &card, None, audience, now).await?,
            Audience::Person(_) => {
                self.privately(conn, delivery, &card, neutral(card::elsewhere(self.name())), now).await?;
            }
        }
        let conversation = self.run.conversation;
        let keep = Keep { id, conversation, person, run: self.run.id, open, audience, delivery };
        sql::keep(conn, tenant, &keep, now).await?;
        if let Some(before) = before {
            delivery::show(conn, tenant, before.delivery, &card::older(), now).await?;
        }
        Ok(())
    }
}
