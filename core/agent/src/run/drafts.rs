//! A draft that was created or changed, in the commit of its run: its row, its card, and what that replaces.

use sqlx::PgConnection;

use super::commit::Commit;
use super::outbox::placeholder_card;
use nod_contract::clock::Timestamp;
use nod_contract::ids::DeliveryId;
use nod_contract::privacy::Audience;
use nod_people::delivery;
use nod_requests::approval;
use nod_requests::draft::sql::{self, NewDraft};
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
        let before = sql::find_by_provider_id(conn, tenant, person, &open.draft.id).await?;
        approval::supersede_draft(self.core, conn, tenant, person, &open.draft.id, now).await?;
        let id = before.as_ref().map_or_else(|| self.core.id(), |row| row.id);
        let delivery: DeliveryId = self.core.id();
        let audience = self.run.state.audience;
        let card = card::open(id, &open.draft);
        match audience {
            Audience::Channel => self.outbox().enqueue(delivery, &card, None, audience, now),
            Audience::Person(_) => {
                self.outbox()
                    .enqueue_private_with_placeholder(
                        conn,
                        delivery,
                        &card,
                        placeholder_card(card::sent_privately_line(self.principal_name())),
                        now,
                    )
                    .await?;
            }
        }
        self.outbox().store_unsent(conn, now).await?;
        let conversation = self.run.conversation;
        let keep =
            NewDraft { id, conversation, person, run: self.run.id, open_draft: open, audience, delivery };
        sql::upsert(conn, tenant, &keep, now).await?;
        if let Some(before) = before {
            delivery::update_card(conn, tenant, before.delivery, &card::outdated_card(), now).await?;
        }
        Ok(())
    }
}
