//! People who talk with Nod and press its buttons, and what they get.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};
use nod_sandbox::slack::World;
use sqlx::{Connection, PgConnection};

use super::company::{self, CHANNELS, PEOPLE};
use super::subject::Subject;
use super::turns::{self, APPROVE, Kind};

/// An answer that takes longer is lost.
const TURN_TIMEOUT: Duration = Duration::from_secs(60);
/// The most steps that a plan has.
const TASK_STEPS: usize = 10;
/// Nod is quiet when nothing has been asked of the fakes for so long.
const QUIET: Duration = Duration::from_millis(1_500);

/// How long the turns of one measurement took.
#[derive(Debug)]
pub(super) struct Taken {
    pub walls: Vec<Duration>,
    /// The time that the fakes worked, in a turn.
    pub fakes: Duration,
    pub all: Duration,
}

/// A turn that was answered.
struct Turn {
    kind: Kind,
    channel: String,
    thread: String,
    person: usize,
}

pub(super) struct Driver<'s> {
    subject: &'s Subject,
    done: Mutex<Vec<Turn>>,
    /// The emails that had been sent before.
    sent_before: usize,
    /// Nod's messages to each person before.
    told_before: BTreeMap<usize, usize>,
}

impl<'s> Driver<'s> {
    pub(super) fn new(subject: &'s Subject) -> Self {
        let mut driver =
            Self { subject, done: Mutex::default(), sent_before: 0, told_before: BTreeMap::new() };
        driver.sent_before = driver.count_sent_mail();
        driver.told_before =
            (0..PEOPLE).map(|person| (person, driver.count_private_messages(person))).collect();
        driver
    }

    /// Has everybody connect their account, by the link that Nod gives them.
    pub(super) async fn connect_accounts(&mut self) -> anyhow::Result<()> {
        for person in 0..PEOPLE {
            self.connect_account(person)
                .await
                .with_context(|| format!("{} connects", company::handle(person)))?;
        }
        self.wait_until_quiet().await?;
        self.told_before = (0..PEOPLE).map(|person| (person, self.count_private_messages(person))).collect();
        Ok(())
    }

    async fn connect_account(&self, person: usize) -> anyhow::Result<()> {
        let Subject { slack, google, .. } = self.subject;
        let who = company::handle(person);
        let line = slack.dm(&who);
        slack.run_command(&who, &line, "/nod", "connect google");
        let user = slack.read(|w| w.user_id(&who)).map_err(anyhow::Error::msg)?;
        let link = self
            .wait("the link to connect", |world| {
                let told = world.ephemerals.iter().rev().filter(|one| one.user == user);
                told.flat_map(|one| one.blocks.iter()).find_map(|block| find_link(&block.to_string()))
            })
            .await?;
        let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build()?;
        let token =
            url::Url::parse(&link)?.query_pairs().find(|(key, _)| key == "t").map(|(_, t)| t.into_owned());
        let form = [("t", token.context("a token in the link")?)];
        let answer = http.post(&link).form(&form).send().await?;
        let header = |name: &str| {
            let value = answer.headers().get(name).and_then(|value| value.to_str().ok());
            value.map(str::to_owned).with_context(|| format!("no {name}"))
        };
        let cookie = header("set-cookie")?.split(';').next().unwrap_or_default().to_owned();
        let consent = header("location")?;
        let back = google.consent(&consent, &company::address(person), None).map_err(anyhow::Error::msg)?;
        let page = http.get(back).header("cookie", cookie).header("referer", consent).send().await?;
        anyhow::ensure!(page.status().is_success(), "the last page says {}", page.status());
        Ok(())
    }

    /// Runs turns of a kind, so many at once.
    pub(super) async fn run(&self, kind: Kind, turns: usize, at_once: usize) -> anyhow::Result<Taken> {
        let before = self.fakes_worked();
        let begun = Instant::now();
        let walls =
            stream::iter(0..turns).map(|_| self.turn(kind)).buffer_unordered(at_once).try_collect().await?;
        let fakes = (self.fakes_worked() - before) / u32::try_from(turns.max(1))?;
        Ok(Taken { walls, fakes, all: begun.elapsed() })
    }

    fn fakes_worked(&self) -> Duration {
        let Subject { slack, google, model, .. } = self.subject;
        slack.total_response_time() + google.total_response_time() + model.total_response_time()
    }

    /// Runs one turn, to the last thing that Nod says.
    async fn turn(&self, kind: Kind) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        let (person, channel, thread) = self.say(kind);
        let lost = || {
            let said = self.subject.slack.read(|world| turns::transcript(&world.thread(&channel, &thread)));
            format!("a turn was lost ({}); its thread:\n{said}", kind.name())
        };
        if kind == Kind::Approval {
            let card = self
                .wait("a card", |world| turns::card(world, &channel, &thread))
                .await
                .with_context(lost)?;
            let pressed = self.subject.slack.click(&company::handle(person), &channel, &card, APPROVE);
            pressed.map_err(anyhow::Error::msg)?;
        }
        let messages = kind.messages(self.subject.model_usage().is_receipt_answer);
        let answered =
            |world: &World| kind.is_answered(&world.thread(&channel, &thread), messages).then_some(());
        self.wait("an answer", answered).await.with_context(lost)?;
        let took = begun.elapsed();
        let turn = Turn { kind, channel, thread, person };
        self.done.lock().unwrap_or_else(PoisonError::into_inner).push(turn);
        Ok(took)
    }

    /// Says something to Nod; returns who did, the channel and the thread of the answer.
    fn say(&self, kind: Kind) -> (usize, String, String) {
        let number = self.subject.turns.fetch_add(1, Ordering::Relaxed);
        let channel = number % CHANNELS;
        let person = company::member(channel, number / CHANNELS);
        let words = kind.request(&company::first_name(person + 1));
        let slack = &self.subject.slack;
        let id = slack.read(|w| w.channel_id(&company::channel_name(channel))).unwrap_or_default();
        let thread = slack.post_message(&company::handle(person), &id, None, &words);
        (person, id, thread)
    }

    /// Gives Nod tasks of ten steps, one after another. Returns how long they took, and how long it was from the end of each step
    /// to its tick in the chat.
    pub(super) async fn run_tasks(&self, tasks: usize) -> anyhow::Result<(Taken, Vec<Duration>)> {
        let mut db = PgConnection::connect(&self.subject.url).await?;
        // What the rules answer without a tool: a step that they do not understand gets no tick.
        let wish = ["thank you"; TASK_STEPS].join(", then ");
        let (before, begun) = (self.fakes_worked(), Instant::now());
        let (mut walls, mut ticks) = (Vec::new(), Vec::new());
        for task in 0..tasks {
            let who = company::handle(task % PEOPLE);
            let slack = &self.subject.slack;
            let line = slack.dm(&who);
            let cards = |world: &World| -> Vec<String> {
                let said = world.messages(&line).iter().filter(|one| one.is_from_bot);
                said.map(turns::text).filter(|text| text.contains("'s task ·")).collect()
            };
            let earlier = slack.read(|world| cards(world).len());
            let given = Instant::now();
            slack.run_command(&who, &line, "/nod", &format!("task {wish}"));
            let mut seen = Vec::new();
            for step in 1..=TASK_STEPS {
                let tick = format!("✓ {step} ");
                let is_seen = |world: &World| {
                    let cards = cards(world);
                    (cards.len() > earlier && cards.last()?.contains(&tick)).then_some(())
                };
                self.wait("a tick", is_seen).await?;
                seen.push(chrono::Utc::now());
            }
            let is_done = |world: &World| cards(world).last()?.contains("· Done ·").then_some(());
            self.wait("a result", is_done).await?;
            walls.push(given.elapsed());
            let ended: Vec<chrono::DateTime<chrono::Utc>> = sqlx::query_scalar(
                "select finished_at from task_steps where task_id = (select id from tasks order by created_at desc limit 1)
                 order by number",
            )
            .fetch_all(&mut db)
            .await?;
            ticks.extend(
                seen.iter().zip(&ended).map(|(seen, ended)| (*seen - *ended).to_std().unwrap_or_default()),
            );
        }
        db.close().await?;
        let fakes = (self.fakes_worked() - before) / u32::try_from(tasks.max(1))?;
        Ok((Taken { walls, fakes, all: begun.elapsed() }, ticks))
    }

    /// Lets so many events arrive in a second, of which every third is answered; returns the times to their
    /// acknowledgements.
    pub(super) async fn flood(&self, a_second: u32, long: Duration) -> anyhow::Result<Vec<Duration>> {
        let slack = &self.subject.slack;
        let earlier = slack.ack_times().len();
        let begun = tokio::time::Instant::now();
        // A mention is two events, and one more is said to nobody.
        let pairs = a_second / 3;
        let mut asked = Vec::new();
        for pair in 0..pairs * u32::try_from(long.as_secs())? {
            tokio::time::sleep_until(begun + Duration::from_secs(1) * pair / pairs).await;
            asked.push(self.say(Kind::Conversation));
            let channel = usize::try_from(pair)? % CHANNELS;
            let person = company::handle(company::member(channel, 0));
            slack.post_message(&person, &company::channel_name(channel), None, "See you at three.");
        }
        for (person, channel, thread) in asked {
            let kind = Kind::Conversation;
            let answered =
                |world: &World| kind.is_answered(&world.thread(&channel, &thread), 1).then_some(());
            self.wait("an answer", answered).await.with_context(|| format!("a mention in {channel}"))?;
            let turn = Turn { kind, channel, thread, person };
            self.done.lock().unwrap_or_else(PoisonError::into_inner).push(turn);
        }
        Ok(slack.ack_times().split_off(earlier))
    }

    /// Waits until Nod asks nothing of the fakes any more.
    pub(super) async fn wait_until_quiet(&self) -> anyhow::Result<()> {
        let Subject { slack, google, summariser, .. } = self.subject;
        let begun = Instant::now();
        let mut last = (0, 0, 0);
        loop {
            let aside = summariser.take_requests().len();
            let calls =
                (slack.read(|w| w.calls.len()), google.calls().len(), self.subject.model_usage().requests);
            if aside == 0 && calls == last && slack.list_unacknowledged().is_empty() {
                return Ok(());
            }
            anyhow::ensure!(begun.elapsed() < TURN_TIMEOUT * 2, "it does not become quiet");
            last = calls;
            tokio::time::sleep(QUIET).await;
        }
    }

    /// Checks that nothing came twice: an answer, a line to a person, an email.
    pub(super) fn check_every_answer(&self) -> anyhow::Result<()> {
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let mut told = BTreeMap::<usize, usize>::new();
        let mut sent = 0;
        let is_receipt_answer = self.subject.model_usage().is_receipt_answer;
        for Turn { kind, channel, thread, person } in done.iter() {
            let answers = self.subject.slack.read(|world| turns::answers(&world.thread(channel, thread)));
            let expected = kind.messages(is_receipt_answer);
            anyhow::ensure!(
                answers == expected,
                "{answers} messages instead of {expected} in {channel}, {thread} ({})",
                kind.name()
            );
            *told.entry(*person).or_default() += usize::from(*kind == Kind::Tool);
            sent += usize::from(*kind == Kind::Approval);
        }
        for (person, lines) in told {
            let now = self.count_private_messages(person) - self.told_before[&person];
            anyhow::ensure!(now == lines, "{} got {now} answers instead of {lines}", company::handle(person));
        }
        let now = self.count_sent_mail() - self.sent_before;
        anyhow::ensure!(now == sent, "{now} emails were sent instead of {sent}");
        Ok(())
    }

    /// Returns how many messages a person has from Nod.
    fn count_private_messages(&self, person: usize) -> usize {
        let slack = &self.subject.slack;
        let line = slack.dm(&company::handle(person));
        slack.read(|world| world.messages(&line).iter().filter(|one| one.is_from_bot).count())
    }

    /// Returns how many emails were sent.
    fn count_sent_mail(&self) -> usize {
        (0..PEOPLE).map(|person| self.subject.google.list_sent(&company::address(person)).len()).sum()
    }

    async fn wait<T>(&self, what: &str, look: impl FnMut(&World) -> Option<T>) -> anyhow::Result<T> {
        // The fake's own limit is longer: it would end the program with everything that people see.
        let waiting = self.subject.slack.wait_for(what, TURN_TIMEOUT * 2, look);
        tokio::time::timeout(TURN_TIMEOUT, waiting)
            .await
            .with_context(|| format!("no {what} in {TURN_TIMEOUT:?}"))
    }
}

/// Returns the link to connect an account in a block's JSON.
fn find_link(block: &str) -> Option<String> {
    let at = block.find("/oauth/")?;
    let begin = block[..at].rfind("http")?;
    let end = block[begin..].find(['"', '|', '>', ')'])?;
    Some(block[begin..begin + end].to_owned())
}
