//! Ana and Bo use both chats and have linked them, as colleagues have by the time somebody tries Nod: by a code, like
//! everybody. What Nod said meanwhile is cleared away. The others are left for the visitor to link.

use std::time::Duration;

use anyhow::Context;
use nod_sandbox::discord::Discord;
use nod_sandbox::slack::Slack;
use serde_json::json;

use super::company;
use super::sandbox::DemoSandbox;

const LINKED: [&str; 2] = [company::VISITOR, "bo"];
const YES: &str = "Yes, both are me";
/// A demo without it works, and has more to press.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Links the chats of each, once Nod is connected to both.
pub(super) async fn link_colleagues(stage: &DemoSandbox) {
    for who in LINKED {
        let linking = tokio::time::timeout(TIMEOUT, link(&stage.slack, &stage.discord, who));
        if let Err(error) = linking.await.context("Nod took too long").flatten() {
            tracing::warn!(%error, who, "the demo could not link two chats");
        }
        stage.slack.forget_messages(&format!("dm:{who}"));
    }
    stage.slack.change(|w| w.ephemerals.clear());
    stage.discord.change(|w| {
        w.ephemerals.clear();
        w.interactions.clear();
    });
}

async fn link(slack: &Slack, discord: &Discord, who: &str) -> anyhow::Result<()> {
    let on_slack = format!("dm:{who}");
    slack.try_run_command(who, &on_slack, "/nod", "connect chat").map_err(anyhow::Error::msg)?;
    let code = poll(|| slack.ephemeral_texts(who).iter().rev().find_map(|said| find_code(said))).await;
    poll(|| discord.try_run_command(who, company::CHANNEL, "connect", &json!({ "code": code })).ok()).await;
    let question =
        || discord.ephemerals(who).into_iter().find(|said| json!(said.components).to_string().contains(YES));
    let question = poll(question).await;
    discord.click(who, &question.channel, &question.id, YES).map_err(anyhow::Error::msg)?;
    poll(|| slack.channel_text(&on_slack).contains("You're linked").then_some(())).await;
    Ok(())
}

/// Returns the code in Nod's answer.
fn find_code(said: &str) -> Option<String> {
    said.split("code is ").nth(1)?.split('.').next().map(str::to_owned)
}

/// Looks until there is something.
async fn poll<T>(look: impl Fn() -> Option<T>) -> T {
    loop {
        if let Some(found) = look() {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
