//! The table of all job handlers.

use std::sync::Arc;

use async_trait::async_trait;

use crate::context::App;
use crate::work::{CatchUpJob, TidyJob};
use crate::{catch_up, home, tidy};
use nod_agent::worker;
use nod_people::open_pages::PageJob;
use nod_store::jobs::{Claim, Handlers, Job, JobHandler, Twice, WorkError};

/// Returns the handlers by job kind: those of the core, then those of the abilities.
pub(crate) fn handlers(app: &Arc<App>) -> Result<Handlers, Twice> {
    let agent = &app.agent;
    let house: [Arc<dyn JobHandler>; 6] = [
        Arc::new(agent.requests.chat.clone()),
        Arc::new(agent.requests.clone()),
        Arc::new(agent.accounts.clone()),
        Arc::new(Pages(app.clone())),
        Arc::new(CatchingUp(app.clone())),
        Arc::new(TidyingUp(app.clone())),
    ];
    Handlers::new(house.into_iter().chain(worker::handlers(agent)).chain(app.abilities.jobs()))
}

/// Publishes home pages.
struct Pages(Arc<App>);

#[async_trait]
impl JobHandler for Pages {
    fn kinds(&self) -> &'static [&'static str] {
        PageJob::KINDS
    }

    async fn work(&self, claim: &Claim) -> Result<(), WorkError> {
        match claim.job()? {
            PageJob::PublishHome { person, platform, workspace } => {
                home::publish(&self.0, claim, person, &platform, &workspace).await
            }
        }
    }
}

/// Looks up missed messages.
struct CatchingUp(Arc<App>);

#[async_trait]
impl JobHandler for CatchingUp {
    fn kinds(&self) -> &'static [&'static str] {
        CatchUpJob::KINDS
    }

    async fn work(&self, claim: &Claim) -> Result<(), WorkError> {
        match claim.job()? {
            CatchUpJob::CatchUp { platform, workspace, since, listed } => {
                catch_up::catch_up(&self.0, claim, &platform, &workspace, since, listed).await
            }
        }
    }
}

/// Deletes rows that are older than they are kept.
struct TidyingUp(Arc<App>);

#[async_trait]
impl JobHandler for TidyingUp {
    fn kinds(&self) -> &'static [&'static str] {
        TidyJob::KINDS
    }

    async fn work(&self, claim: &Claim) -> Result<(), WorkError> {
        match claim.job()? {
            TidyJob::Tidy { position } => tidy::tidy(&self.0, claim, position).await,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use nod_accounts::work::AccountJob;
    use nod_agent::work::RecordJob;
    use nod_contract::card::Action;
    use nod_contract::chat::InteractionResponse;
    use nod_contract::clock::SystemClock;
    use nod_contract::ids::SystemIds;
    use nod_contract::model::{Completion, CompletionRequest, Model, ModelError, TokenSender};
    use nod_contract::scope::Scope;
    use nod_memory::work::MemoryJob;
    use nod_people::reading::{Desk, Reader, Whose};
    use nod_people::work::PeopleJob;
    use nod_requests::work::RequestJob;
    use nod_store::ability::{Ability, Asker, Buttons};
    use nod_store::runs::RunJob;
    use nod_store::vault::Vault;
    use nod_store::workflow::WorkflowJob;
    use serde_json::json;
    use sqlx::{PgConnection, PgPool};
    use tokio::time::Instant;

    use super::*;
    use crate::app::{Dependencies, assembled};

    struct Nobody;

    #[async_trait]
    impl Model for Nobody {
        async fn complete(
            &self,
            _: &Scope,
            _: &CompletionRequest,
            _: &TokenSender,
        ) -> Result<Completion, ModelError> {
            Err(ModelError::Empty { attempts: 0 })
        }
    }

    impl Reader for Nobody {
        fn open_session(&self, _: Whose, _: Instant) -> Box<dyn Desk> {
            unreachable!("nothing is read")
        }
    }

    fn parts() -> Dependencies {
        let pool = PgPool::connect_lazy("postgres://nowhere.test/nod").unwrap();
        let model: Arc<dyn Model> = Arc::new(Nobody);
        Dependencies {
            pool: pool.clone(),
            ingest_pool: pool,
            clock: Arc::new(SystemClock),
            ids: Arc::new(SystemIds),
            adapters: nod_contract::chat::Adapters::default(),
            abilities: vec![nod_memory::ability::plug(model.clone(), Vec::new())],
            contacts: Vec::new(),
            reading: Arc::new(Nobody),
            grantors: Vec::new(),
            model,
            vault: Vault::new(&Vault::generate_key(&SystemIds).into()).unwrap(),
            settings: crate::app::Settings::default(),
        }
    }

    /// Returns the kinds that `J` can be written as, taken from serde's error message for an unknown kind.
    fn serialized_kinds<J: Job + std::fmt::Debug>() -> Vec<String> {
        let error = serde_json::from_value::<J>(json!({"work": "?"})).unwrap_err().to_string();
        let (_, kinds) = error.split_once("expected").unwrap();
        kinds.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    }

    #[tokio::test]
    async fn every_kind_of_job_has_exactly_one_who_does_it() {
        let app = Arc::new(assembled(parts()).unwrap());
        let mut all = [
            serialized_kinds::<RunJob>(),
            serialized_kinds::<WorkflowJob>(),
            serialized_kinds::<PeopleJob>(),
            serialized_kinds::<PageJob>(),
            serialized_kinds::<AccountJob>(),
            serialized_kinds::<RequestJob>(),
            serialized_kinds::<MemoryJob>(),
            serialized_kinds::<RecordJob>(),
            serialized_kinds::<CatchUpJob>(),
            serialized_kinds::<TidyJob>(),
        ]
        .concat();
        all.sort();
        assert_eq!(handlers(&app).unwrap().kinds().collect::<Vec<_>>(), all);
        assert_eq!(all.len(), 20);
    }

    #[tokio::test]
    async fn what_there_is_already_is_refused() {
        let mut twice = parts();
        twice.abilities.push(nod_memory::ability::plug(Arc::new(Nobody), Vec::new()));
        let clash = assembled(twice).err().unwrap().to_string();
        assert_eq!(clash, "the ability memory registers the command \"memory\", which already exists");
    }

    #[tokio::test]
    async fn nobody_takes_over_a_job_or_a_button_of_the_house() {
        struct Intruder;

        #[async_trait]
        impl JobHandler for Intruder {
            fn kinds(&self) -> &'static [&'static str] {
                &["perform_effect"]
            }

            async fn work(&self, _: &Claim) -> Result<(), WorkError> {
                Ok(())
            }
        }

        #[async_trait]
        impl Buttons for Intruder {
            fn action_kinds(&self) -> &'static [&'static str] {
                &["approve"]
            }

            async fn handle_click(
                &self,
                _: &mut PgConnection,
                _: &Asker<'_>,
                _: &Action,
            ) -> sqlx::Result<InteractionResponse> {
                Ok(InteractionResponse::Ack)
            }
        }

        let mut jobs = parts();
        let jobs_of = Ability { jobs: vec![Arc::new(Intruder)], ..Ability::with_name("intruder") };
        jobs.abilities.push(Box::new(|_| jobs_of));
        let refused = handlers(&Arc::new(assembled(jobs).unwrap())).err().unwrap().to_string();
        assert_eq!(refused, "two abilities handle jobs of the kind perform_effect");
        let mut buttons = parts();
        let buttons_of = Ability { buttons: vec![Arc::new(Intruder)], ..Ability::with_name("intruder") };
        buttons.abilities.push(Box::new(|_| buttons_of));
        let refused = assembled(buttons).err().unwrap().to_string();
        assert_eq!(refused, "the ability intruder registers the button \"approve\", which already exists");
    }
}
