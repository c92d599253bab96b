use serde_json::json;

use super::{Raw, acme, button, text, v2};

#[tokio::test]
async fn a_card_reads_as_on_the_other_platform() {
    let raw = Raw::start(acme()).await;
    let root = raw.discord.post_message("ana", "general", None, "@nod tell Bo I'm late");
    let path = format!("/channels/{}/messages/{root}/threads", raw.channel("general"));
    raw.call("POST", &path, json!({"name": "late"})).await;
    let row = json!({"type": 1, "components": [
        button("a", "Approve & send"), button("e", "Edit"), button("d", "Deny"),
    ]});
    let card = json!({"type": 17, "components": [
        text("### Send this email?"),
        text("**From**  ana@acme.test\n**To**  bo@acme.test\n**Subject**  Running \\*late\\*"),
        text("```\nHi **Bo**,\n\nI'm running late.\n```"),
        text("⚠ First email to bo@acme.test"),
        text("-# Only Ana Silva can approve this. Expires <t:1772874000:R>"),
        row,
    ]});
    raw.call("POST", &format!("/channels/{root}/messages"), v2(json!([card]))).await;
    let answer = v2(json!([text("Hello **Ana**, 2 \\* 3.")]));
    raw.call("POST", &format!("/channels/{root}/messages"), answer).await;
    raw.discord.post_message("ana", "general", Some(&root), "thanks");
    assert_eq!(
        raw.discord.channel_text("general"),
        "ana: @nod tell Bo I'm late
    nod: # Send this email?
      From  ana@acme.test
      To  bo@acme.test
      Subject  Running *late*
      Hi **Bo**,

      I'm running late.
      ⚠ First email to bo@acme.test
      · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:00 UTC
      [Approve & send] [Edit] [Deny]
    nod: Hello Ana, 2 * 3.
    ana: thanks
"
    );
    raw.clean();
}
