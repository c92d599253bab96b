//! When a world has no work left, and whether it is allowed to end like that.

use std::time::Duration;

use chrono::TimeDelta;
use nod_contract::clock::Clock;
use nod_inbox::Settings;
use nod_inbox::consistency::find_inconsistencies;
use serde_json::{Value, json};

use super::{PEOPLE, World, max_wait};
use crate::chat::FakeChat;

/// What a person should not have to read.
const INTERNALS: [&str; 10] = [
    "digest ",
    " · rev ",
    "Message-ID",
    "invalid arguments",
    "not found: ",
    "gmail_",
    "calendar_",
    "knowledge_base",
    "{\"",
    "(s)",
];

impl World {
    /// Advances the time, and lets Nod do what has become due.
    pub async fn advance(&self, time: TimeDelta) {
        self.clock.advance(time);
        if let Some(app) = &self.app {
            app.nod.wake();
        }
        self.wait_until_idle().await;
    }

    /// Waits until everything that arrived is acknowledged and no job is due.
    pub async fn wait_until_idle(&self) {
        for chat in self.chats() {
            if self.app.is_some() || chat.connection_count() > 0 {
                chat.wait_until_delivered("dana").await;
            }
        }
        let mut look = tokio::time::interval(Duration::from_millis(5));
        let until = tokio::time::Instant::now() + max_wait();
        loop {
            look.tick().await;
            if !self.chats().any(FakeChat::has_unacknowledged) {
                match self.load_pending_work().await {
                    (false, None) => return,
                    (false, Some(pause)) => self.advance_to(pause),
                    (true, _) => {}
                }
            }
            if tokio::time::Instant::now() > until {
                panic!(
                    "it never became quiet:\n{}\njobs: {:#?}",
                    self.chat.dump(),
                    self.describe_jobs().await
                );
            }
        }
    }

    /// Lets every rate-limit pause pass until the future is dropped.
    pub(super) async fn advance_past_rate_limits(&self) {
        let mut look = tokio::time::interval(Duration::from_millis(5));
        loop {
            look.tick().await;
            if let (_, Some(pause)) = self.load_pending_work().await {
                self.advance_to(pause);
            }
        }
    }

    /// Returns whether anything is due or running, and until when a message is held back by its channel's rate limit. A
    /// lost attempt waits for its retry, which is no such pause. One query reads both, because between two such a
    /// message could be taken up. (In real time it can be rescheduled between our reading of the clock and of the rows:
    /// hence one more second.)
    async fn load_pending_work(&self) -> (bool, Option<chrono::DateTime<chrono::Utc>>) {
        let now = if self.app.is_some() { self.clock.now() } else { chrono::Utc::now() };
        let looked = sqlx::query_as(
            "select coalesce(bool_or(l.due_at <= $1 or l.lease_id is not null), false), min(l.due_at) filter (
                 where l.due_at > $1 and l.lease_id is null and l.attempts = 0
                     and l.payload->>'work' = 'deliver_message')
             from lanes l where l.due_at <= $1 + make_interval(secs => $2)",
        );
        looked
            .bind(now)
            .bind(self.post_interval())
            .fetch_one(&self.pool)
            .await
            .unwrap_or_else(|e| panic!("the database does not answer: {e}"))
    }

    /// Returns how long the platform's rate limit delays a message, in seconds. Slack takes one per second and channel,
    /// Discord five in five.
    fn post_interval(&self) -> f64 {
        let slack_alone = self.chats().all(|chat| matches!(chat, FakeChat::Slack(_)));
        let pause = if slack_alone { 1.0 } else { 5.0 };
        if self.app.is_some() { pause } else { pause + 1.0 }
    }

    /// Advances the story's clock to this time; real time is not changed.
    fn advance_to(&self, until: chrono::DateTime<chrono::Utc>) {
        if let Some(app) = &self.app {
            self.clock.advance((until - self.clock.now()).max(TimeDelta::zero()));
            app.nod.wake();
        }
    }

    /// Lets the undo window of an approval pass.
    pub async fn advance_past_undo_window(&self) {
        self.advance(TimeDelta::seconds(10)).await;
    }

    /// Lists the remaining jobs with their lanes, for debugging.
    async fn describe_jobs(&self) -> Vec<String> {
        let all = sqlx::query_scalar(
            "select concat_ws(' ', j.payload, 'try', j.attempts, j.last_error, 'due', l.due_at, 'leased until',
                 coalesce(l.leased_until::text, '—'), 'now', clock_timestamp())
             from lanes l left join jobs j on j.tenant_id = l.tenant_id and j.lane_id = l.id order by j.id",
        );
        all.fetch_all(&self.pool).await.unwrap_or_default()
    }

    /// Ends the story. It fails if a job is due, a message is unread, a script or fault is unused, or a request broke
    /// the vendor's rules.
    pub async fn finish(mut self) {
        self.wait_until_idle().await;
        let mut loose: Vec<String> = Vec::new();
        if self.app.is_some() {
            let failed: usize = self.chats().map(FakeChat::failed_interaction_count).sum();
            loose.extend(
                (failed > 0).then(|| format!("{failed} presses, commands or forms were answered by nobody")),
            );
        }
        self.stop().await;
        self.collect_unread(&mut loose);
        if self.other_chat.is_some() {
            self.switch_platform();
            self.collect_unread(&mut loose);
        }
        loose.extend(self.model.list_unused().into_iter().map(|s| format!("unused answer: {s}")));
        loose.extend(self.model.list_unexpected().into_iter().map(|s| format!("unexpected prompt: {s}")));
        loose.extend(self.model.violations().into_iter().map(|s| format!("model request: {s}")));
        loose.extend(self.google.violations().into_iter().map(|s| format!("google request: {s}")));
        loose.extend(self.google.faults.unused().into_iter().map(|s| format!("unmet fault: {s}")));
        if let Some(qdrant) = &self.qdrant {
            loose.extend(qdrant.violations().into_iter().map(|s| format!("qdrant request: {s}")));
            loose.extend(qdrant.faults().unused().into_iter().map(|s| format!("unmet fault: {s}")));
        }
        loose.extend(self.collect_inconsistencies().await);
        loose.extend(self.collect_altered_prompts().await);
        loose.extend(self.collect_lost_outputs().await);
        loose.retain(|line| !self.expected_violations.iter().any(|e| line.contains(e.as_str())));
        self.pool.close().await;
        self.database.drop_database().await;
        assert!(loose.is_empty(), "the story has loose ends:\n{}", loose.join("\n"));
    }

    /// Collects what the rows promise each other and do not keep.
    async fn collect_inconsistencies(&self) -> Vec<String> {
        let tenant = Settings::default().tenant;
        let found = async { find_inconsistencies(&mut *self.pool.acquire().await?, tenant).await };
        let found = found.await.unwrap_or_else(|e| panic!("the database does not answer: {e}"));
        found.iter().map(|found| format!("inconsistent rows: {found}")).collect()
    }

    /// Collects the prompts that the record shows otherwise than the model got them. A message that was edited or deleted
    /// since is left out of the record, so its prompts are not compared.
    async fn collect_altered_prompts(&self) -> Vec<String> {
        // Materialised: before a table's first statistics, a story with hundreds of turns took minutes for it.
        let recorded = "with begun as materialized (
                 select r.id from runs r
                 join messages m on m.tenant_id = r.tenant_id and m.run_id = r.id and m.turn_number = 0
                 where r.tenant_id = $1 and r.first_turn = 0 and m.turn->>'text' <> '(this message was deleted)')
             select s.input from run_steps s join begun on begun.id = s.run_id
             where s.tenant_id = $1 and s.kind = 'model' and s.input is not null
             order by s.seq";
        let recorded: Vec<Value> = sqlx::query_scalar(recorded)
            .bind(Settings::default().tenant.0)
            .fetch_all(&self.pool)
            .await
            .unwrap_or_else(|e| panic!("the database does not answer: {e}"));
        let sent = self.model.all_requests();
        let is_as_sent = |prompt: &Value| sent.iter().any(|request| request["messages"] == messages(prompt));
        recorded
            .iter()
            .filter(|prompt| !is_as_sent(prompt))
            .map(|prompt| format!("altered prompt: {}", prompt["turns"]))
            .collect()
    }

    /// Collects the outputs that a record names and that do not stand where it says.
    async fn collect_lost_outputs(&self) -> Vec<String> {
        let lost = "select s.kind || ' ' || s.name from step_records r
             cross join jsonb_array_elements(r.steps) with ordinality as recorded (step, place)
             join run_steps s on s.tenant_id = r.tenant_id and s.run_id = r.run_id
                 and s.seq = r.seq * 1000 + recorded.place
             where r.tenant_id = $1 and recorded.step ?| '{output,in_turn}'
               and (s.output is null or s.kind = 'model' and s.output->>'text' is null)";
        let lost: Vec<String> = sqlx::query_scalar(lost)
            .bind(Settings::default().tenant.0)
            .fetch_all(&self.pool)
            .await
            .unwrap_or_else(|e| panic!("the database does not answer: {e}"));
        lost.iter().map(|step| format!("lost output: {step}")).collect()
    }

    /// Collects what no user has read on the current platform, and what should never have been requested from it.
    fn collect_unread(&mut self, loose: &mut Vec<String>) {
        for channel in self.chat.list_channels_with_nod() {
            let transcript = self.chat.channel_text(&channel);
            if self.read_texts.get(&channel) != Some(&transcript) {
                loose.push(format!("unread in {channel}:\n{transcript}"));
            }
        }
        for user in PEOPLE {
            let whispers = self.read_ephemerals(user);
            if !whispers.is_empty() {
                loose.push(format!("unheard by {user}: {whispers}"));
            }
        }
        for user in PEOPLE {
            let open = self.chat.find_open_form(user);
            loose.extend(open.map(|form| format!("a form is open before {user}: {}", form.text)));
        }
        loose.extend(self.collect_internals());
        loose.extend(self.chat.violations().into_iter().map(|s| format!("chat request: {s}")));
        loose.extend(self.chat.faults().unused().into_iter().map(|s| format!("unmet fault: {s}")));
    }

    /// Collects what Nod showed to people and only its authors understand. [Show all] may: it is there for the exact
    /// digest and revision.
    fn collect_internals(&self) -> Vec<String> {
        let channels =
            self.chat.list_channels_with_nod().into_iter().map(|channel| self.chat.channel_text(&channel));
        let whispers = PEOPLE.into_iter().flat_map(|user| self.chat.ephemeral_texts(user));
        let all =
            channels.chain(whispers.filter(|text| !text.contains("SHA-256"))).collect::<Vec<_>>().join("\n");
        let of_nod =
            |line: &&str| !PEOPLE.iter().any(|user| line.trim_start().starts_with(&format!("{user}: ")));
        all.lines()
            .filter(of_nod)
            .filter(|line| INTERNALS.iter().any(|word| line.contains(word)))
            .map(|line| format!("not for people: {line}"))
            .collect()
    }

    /// Ends without checks, for code that is no story.
    pub async fn discard(mut self) {
        self.stop().await;
        self.pool.close().await;
        self.database.drop_database().await;
    }

    /// Declares that this loose end is what the story is about.
    pub fn expect_loose_end(&mut self, loose_end: &str) {
        self.expected_violations.insert(loose_end.to_owned());
    }
}

/// Returns the messages of a recorded prompt, as they are sent.
fn messages(prompt: &Value) -> Value {
    let turns = prompt["turns"].as_array().into_iter().flatten().map(|turn| match turn["role"].as_str() {
        Some("ai") => match turn["calls"].as_array() {
            Some(calls) if !calls.is_empty() => {
                let calls = calls.iter().map(|call| {
                    let arguments = call["arguments"].as_str().unwrap_or_default();
                    // What is no object is sent as one.
                    let arguments = match serde_json::from_str::<serde_json::Map<String, Value>>(arguments) {
                        Ok(_) => arguments.to_owned(),
                        Err(_) => json!({ "malformed": arguments }).to_string(),
                    };
                    json!({ "type": "function", "id": call["id"],
                        "function": { "name": call["name"], "arguments": arguments } })
                });
                let text = turn["text"].as_str().filter(|text| !text.is_empty());
                json!({ "role": "assistant", "content": text, "tool_calls": calls.collect::<Vec<_>>() })
            }
            _ => json!({ "role": "assistant", "content": turn["text"] }),
        },
        Some("tool") => {
            json!({ "role": "tool", "tool_call_id": turn["call_id"], "content": turn["content"] })
        }
        Some("human") => json!({ "role": "user", "content": turn["text"] }),
        _ => json!({ "role": "system", "content": turn["text"] }),
    });
    let system = json!({ "role": "system", "content": prompt["system"] });
    std::iter::once(system).chain(turns).collect()
}
