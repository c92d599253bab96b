//! Mail as people know it from Gmail: quoted, signed, sent as one of several addresses, with files, forwarded.

use chrono::TimeDelta;
use nod_sandbox::Fault;
use nod_sandbox::google::IncomingMail;
use nod_sandbox::model::Answer;
use nod_tests::chat::Platform;
use nod_tests::{SharedFile, World};
use serde_json::{Value, json};

on_each_platform!(
    a_forward_takes_the_mail_and_its_files_along,
    a_forward_whose_answer_was_lost_arrives_once,
    a_file_that_is_gone_meanwhile_stops_the_mail,
    more_than_gmail_sends_is_not_asked_about,
    a_file_of_a_mail_is_attached_to_a_draft_and_leaves_with_it,
    a_file_that_was_dropped_goes_out_as_it_was_shown,
    a_file_that_was_not_dropped_is_not_found,
    a_page_that_was_dropped_goes_out_too,
    a_signature_stands_on_no_card_that_others_see,
    mail_goes_out_under_the_name_of_its_address,
    what_only_gmails_settings_say_is_shown_to_its_owner_alone,
    a_draft_from_an_address_that_is_gone_shows_as_whom_it_leaves,
    the_signature_stands_below_once_and_survives_changes,
    an_answer_goes_out_as_whom_the_mail_was_sent_to,
    an_address_that_is_not_verified_is_refused_with_those_that_are,
    drafts_of_the_mailbox_are_listed_and_taken_up,
    five_hundred_recipients_are_refused_in_a_sentence,
    broken_mail_is_read_as_far_as_it_goes_and_answered,
);

const ANA: &str = "ana@acme.test";
const SEND: &str = "gmail.users.drafts.send";

fn terms_mail() -> IncomingMail {
    IncomingMail {
        to: ANA.to_owned(),
        from: "kim@northwind.test".to_owned(),
        from_name: "Kim Vale".to_owned(),
        subject: "Terms".to_owned(),
        body: "Net 30.\n\nKim".to_owned(),
        files: vec![
            ("terms.pdf".to_owned(), "application/pdf".to_owned(), b"%PDF-1.4 terms".to_vec()),
            ("prices.csv".to_owned(), "text/csv".to_owned(), b"month,sum\r\n1,2\r\n".to_vec()),
        ],
        ..IncomingMail::default()
    }
}

/// Makes the text equal on both platforms: Discord reveals no email addresses, so there a colleague's comes only from the
/// mail, too.
fn normalize_recipient_risk(shown: &str) -> String {
    shown.replace(
        " and 1 more came from something I read, not from you",
        " came from something I read, not from you",
    )
}

/// Delivers this mail to Ana. Returns its id and its thread's.
async fn with_mail(platform: Platform, mail: &IncomingMail) -> (World, String, String) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    world.google.deliver_mail(mail).unwrap();
    let mail = world.google.inbox(ANA).pop().unwrap();
    (world, mail.id, mail.thread_id)
}

fn script_tool_call(world: &World, name: &str, arguments: Value) {
    world.script_model("tool", [Answer::tool(name, arguments)]);
}

fn forward(thread: &str) -> Value {
    json!({ "thread_id": thread, "to": ["Bo"], "body": "What do you think?" })
}

fn text_after<'a>(text: &'a str, mark: &str) -> &'a str {
    &text[text.rfind(mark).unwrap_or_else(|| panic!("no {mark} in:\n{text}"))..]
}

/// Returns the model's last input.
fn last_tool_result(world: &World) -> String {
    let requests = world.model.requests();
    let messages = requests.last().unwrap()["messages"].as_array().unwrap().clone();
    let tool = messages.iter().rev().find(|message| message["role"] == "tool").unwrap();
    tool["content"].as_str().unwrap().to_owned()
}

async fn a_forward_takes_the_mail_and_its_files_along(platform: Platform) {
    let (mut world, _, thread) = with_mail(platform, &terms_mail()).await;
    script_tool_call(&world, "gmail_forward", forward(&thread));
    world.say("ana", "general", "@nod forward Kim's mail to Bo, ask what he thinks").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod forward Kim's mail to Bo, ask what he thinks
                nod: · Asked Ana Silva privately.
        ");
        insta::assert_snapshot!(text_after(&world.read_new("dm:ana"), "# Send"), @r"
            # Send this email?
              From  ana@acme.test
              To  bo@acme.test
              Subject  Fwd: Terms
              Thread  forwards “Terms” from kim@northwind.test
              Attached  terms.pdf (14 bytes), prices.csv (16 bytes)
              What do you think?

              ---------- Forwarded message ---------
              From: Kim Vale <kim@northwind.test>
              Date: Fri, 6 Mar 2026 at 09:30
              Subject: Terms
              To: ana@acme.test


              Net 30.

              Kim
              ⚠ 2 files came with an email, and I haven't opened them
              · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
              [Approve & send] [Edit] [Deny] [Show all]
        ");
    }
    world.model.will(Answer::text("Bo has it."));
    world.click("ana", "dm:ana", "Approve & send").await;
    let (original, sent) = (&world.google.inbox(ANA)[0], &world.google.list_sent(ANA)[0]);
    assert_eq!((sent.subject.as_str(), sent.thread_id.as_str()), ("Fwd: Terms", thread.as_str()));
    assert_eq!(sent.header("References"), Some(original.message_id.as_str()));
    let got = &world.google.inbox("bo@acme.test")[0];
    assert_eq!(got.files, original.files);
    insta::allow_duplicates! {
        insta::assert_snapshot!(got.body, @r"
            What do you think?

            ---------- Forwarded message ---------
            From: Kim Vale <kim@northwind.test>
            Date: Fri, 6 Mar 2026 at 09:30
            Subject: Terms
            To: ana@acme.test


            Net 30.

            Kim
        ");
    }
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn a_forward_whose_answer_was_lost_arrives_once(platform: Platform) {
    for mishap in [Fault::DropResponse, Fault::DropConnection] {
        let (mut world, _, thread) = with_mail(platform, &terms_mail()).await;
        script_tool_call(&world, "gmail_forward", forward(&thread));
        world.say("ana", "dm:ana", "forward Kim's mail to Bo").await;
        world.google.faults.next(SEND, mishap);
        world.model.will(Answer::text("Bo has it."));
        world.click("ana", "dm:ana", "Approve & send").await;
        for _ in 0..3 {
            world.advance(TimeDelta::seconds(12)).await;
        }
        let got = world.google.inbox("bo@acme.test");
        assert_eq!((got.len(), got[0].files.len()), (1, 2));
        assert!(world.read_new("dm:ana").contains("Email sent"));
        world.finish().await;
    }
}

async fn a_file_that_is_gone_meanwhile_stops_the_mail(platform: Platform) {
    let (mut world, id, thread) = with_mail(platform, &terms_mail()).await;
    script_tool_call(&world, "gmail_forward", forward(&thread));
    world.say("ana", "dm:ana", "forward Kim's mail to Bo").await;
    assert!(world.google.delete_mail(ANA, &id));
    world.model.will(Answer::text("It was not sent."));
    world.click("ana", "dm:ana", "Approve & send").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(text_after(&world.read_new("dm:ana"), "Approved by"), @r"
            Approved by Ana Silva 09:30 WET → Not sent 09:30 WET
              · I couldn't find the email a file came with. Nothing was sent: ask me again if you still want it.
              [Show all]
            nod: It was not sent.
              · To be clear, nothing was sent or changed just now.
        ");
    }
    assert!(world.google.inbox("bo@acme.test").is_empty() && world.google.drafts(ANA).is_empty());
    world.finish().await;
}

async fn more_than_gmail_sends_is_not_asked_about(platform: Platform) {
    let kind = "application/octet-stream".to_owned();
    let large = |name: &str| (name.to_owned(), kind.clone(), vec![b'x'; 15 * 1024 * 1024]);
    let mail = IncomingMail { files: vec![large("a.bin"), large("b.bin")], ..terms_mail() };
    let (mut world, _, thread) = with_mail(platform, &mail).await;
    script_tool_call(&world, "gmail_forward", forward(&thread));
    world.model.will(Answer::text("The files are too large."));
    world.say("ana", "dm:ana", "forward Kim's mail to Bo").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_tool_result(&world), @r#"{"error":"the files are 30.0 MB together, and Gmail's limit is 25.0 MB. Nothing was sent"}"#);
    }
    assert!(world.google.drafts(ANA).is_empty() && world.google.list_sent(ANA).is_empty());
    world.read_new("dm:ana");
    world.finish().await;
}

async fn a_file_of_a_mail_is_attached_to_a_draft_and_leaves_with_it(platform: Platform) {
    let (mut world, id, _) = with_mail(platform, &terms_mail()).await;
    let attach = json!([{ "message_id": id, "name": "terms.pdf" }]);
    let draft = json!({ "to": ["Bo"], "subject": "Terms", "body": "See the file.", "attach": attach });
    script_tool_call(&world, "gmail_create_draft", draft);
    world.say("ana", "general", "@nod draft a mail to Bo with Kim's terms").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("dm:ana"), @r"
            nod: · ✓ Google is connected: ana@acme.test
            nod: # Draft
              From  ana@acme.test
              To  bo@acme.test
              Subject  Terms
              Attached  terms.pdf (14 bytes)
              See the file.
              · Not sent yet. Tell me what to change, or say “send it”.
              [Send…] [Discard] [Open in Gmail]
        ");
    }
    world.model.router_will(Answer::json(&json!({ "intent": "tool", "tool": "gmail_update_draft" })));
    world.model.will(Answer::tool("gmail_update_draft", json!({ "body": "Here they are." })));
    world.say("ana", "dm:ana", "make it shorter").await;
    world.read_new("dm:ana");
    world.say("ana", "dm:ana", "send it").await;
    world.read_new("dm:ana");
    world.click("ana", "dm:ana", "Approve & send").await;
    let got = &world.google.inbox("bo@acme.test")[0];
    assert_eq!(
        (got.body.as_str(), got.files.as_slice()),
        ("Here they are.", &[("terms.pdf".to_owned(), 14)][..])
    );
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn the_signature_stands_below_once_and_survives_changes(platform: Platform) {
    let (mut world, ..) = with_mail(platform, &terms_mail()).await;
    world.google.settings(ANA, |account| {
        let html = "<div><b>Ana Silva</b><br>Acme · <a href=\"https://acme.test\">acme.test</a></div>";
        account.signatures.insert(ANA.to_owned(), html.to_owned());
    });
    script_tool_call(
        &world,
        "gmail_create_draft",
        json!({ "to": ["Bo"], "subject": "Plan", "body": "Here is the plan.\n\nAna" }),
    );
    world.say("ana", "dm:ana", "draft a mail to Bo about the plan").await;
    world.model.router_will(Answer::json(&json!({ "intent": "tool", "tool": "gmail_update_draft" })));
    world.model.will(Answer::tool("gmail_update_draft", json!({ "body": "The plan.\n\nAna" })));
    world.say("ana", "dm:ana", "make it shorter").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(text_after(&world.read_new("dm:ana"), "ana: make"), @r"
            ana: make it shorter
            nod: # Draft
              From  ana@acme.test
              To  bo@acme.test
              Subject  Plan
              Signature  yours from Gmail
              The plan.

              Ana
              · Not sent yet. Tell me what to change, or say “send it”.
              [Send…] [Discard] [Open in Gmail]
        ");
    }
    world.say("ana", "dm:ana", "send it").await;
    world.edit_request("ana", "dm:ana", &[("Body", "The whole plan.")]).await;
    world.click("ana", "dm:ana", "Approve & send").await;
    let got = &world.google.inbox("bo@acme.test")[0];
    assert_eq!(got.body, "The whole plan.\n\n-- \nAna Silva\nAcme · acme.test");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn an_answer_goes_out_as_whom_the_mail_was_sent_to(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.google.settings(ANA, |account| account.aliases = vec!["sales@acme.test".to_owned()]);
    let cc = ["cho@acme.test", "ana@acme.test"].map(str::to_owned).to_vec();
    let mail = IncomingMail {
        to: "sales@acme.test".to_owned(),
        cc,
        subject: "AW: Terms".to_owned(),
        files: vec![],
        ..terms_mail()
    };
    world.google.deliver_mail(&mail).unwrap();
    let thread = world.google.inbox(ANA)[0].thread_id.clone();
    script_tool_call(&world, "gmail_reply", json!({ "thread_id": thread, "body": "Fine.", "all": true }));
    world.say("ana", "dm:ana", "reply to all: fine").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(normalize_recipient_risk(text_after(&world.read_new("dm:ana"), "# Send")), @r"
            # Send this email?
              From  sales@acme.test
              Account  ana@acme.test
              To  Kim Vale <kim@northwind.test>
              Cc  cho@acme.test
              Subject  AW: Terms
              Thread  answers “AW: Terms” from kim@northwind.test
              Quotes  the email from kim@northwind.test, 84 characters
              Fine.
              ⚠ First email to kim@northwind.test, outside acme.test
              · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
              [Approve & send] [Edit] [Deny] [Show all]
        ");
    }
    world.model.will(Answer::text("Kim has it."));
    world.click("ana", "dm:ana", "Approve & send").await;
    let sent = &world.google.list_sent(ANA)[0];
    assert_eq!(
        (sent.from.as_str(), sent.cc.as_slice()),
        ("sales@acme.test", &["cho@acme.test".to_owned()][..])
    );
    assert_eq!((sent.subject.as_str(), sent.thread_id.as_str()), ("AW: Terms", thread.as_str()));
    insta::allow_duplicates! {
        insta::assert_snapshot!(sent.body, @r"
            Fine.

            On Fri, 6 Mar 2026 at 09:30, Kim Vale <kim@northwind.test> wrote:

            > Net 30.
            >
            > Kim
        ");
    }
    world.read_new("dm:ana");
    world.finish().await;
}

async fn an_address_that_is_not_verified_is_refused_with_those_that_are(platform: Platform) {
    let (mut world, ..) = with_mail(platform, &terms_mail()).await;
    world.google.settings(ANA, |account| {
        account.aliases = vec!["sales@acme.test".to_owned()];
        account.unverified_aliases = vec!["boss@acme.test".to_owned()];
    });
    let mut said = Vec::new();
    for from in ["boss@acme.test", "eve@evil.test"] {
        let mail = json!({ "to": ["Bo"], "subject": "Late", "body": "Late.", "from": from });
        script_tool_call(&world, "gmail_send_email", mail);
        world.model.will(Answer::text("I cannot send as that."));
        world.say("ana", "dm:ana", "write to Bo").await;
        said.push(last_tool_result(&world));
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(said.join("\n"), @r#"
            {"error":"boss@acme.test isn't verified in Gmail yet. You can use ana@acme.test, sales@acme.test"}
            {"error":"eve@evil.test isn't an address this Gmail sends from. You can use ana@acme.test, sales@acme.test"}
        "#);
    }
    let mail = json!({ "to": ["Bo"], "subject": "Late", "body": "Late.", "from": "sales@acme.test" });
    script_tool_call(&world, "gmail_send_email", mail);
    world.say("ana", "dm:ana", "write to Bo as sales").await;
    world.model.will(Answer::text("Bo has it."));
    world.click("ana", "dm:ana", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test")[0].from, "sales@acme.test");
    insta::allow_duplicates! {
        insta::assert_snapshot!(text_after(&world.read_new("dm:ana"), "# Email"), @r"
            # Email sent
              From  sales@acme.test
              Account  ana@acme.test
              To  bo@acme.test
              Subject  Late
              Late.
              Approved by Ana Silva 09:30 WET → Sent 09:30 WET
              [Open in Gmail]
            nod: Bo has it.
        ");
    }
    world.finish().await;
}

async fn drafts_of_the_mailbox_are_listed_and_taken_up(platform: Platform) {
    let (mut world, ..) = with_mail(platform, &terms_mail()).await;
    script_tool_call(
        &world,
        "gmail_create_draft",
        json!({ "to": ["Bo"], "subject": "Plan", "body": "The plan." }),
    );
    world.say("ana", "general", "@nod draft a mail to Bo about the plan").await;
    let id = world.google.drafts(ANA)[0].draft_id.clone().unwrap();
    // No draft is open in another conversation.
    let list = Answer::tool("gmail_list_drafts", json!({}));
    let open = Answer::tool("gmail_open_draft", json!({ "draft_id": id }));
    world.script_model("tool", [list, open, Answer::text("Here it is.")]);
    world.say("ana", "dm:ana", "open my draft to Bo").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_tool_result(&world), @r#"{"bcc":[],"body":"The plan.","cc":[],"id":"r-7000000000000000004","subject":"Plan","to":["bo@acme.test"]}"#);
        insta::assert_snapshot!(text_after(&world.read_new("dm:ana"), "ana: open"), @r"
            ana: open my draft to Bo
            nod: # Draft
              From  ana@acme.test
              To  bo@acme.test
              Subject  Plan
              The plan.
              · Not sent yet. Tell me what to change, or say “send it”.
              [Send…] [Discard] [Open in Gmail]
            nod: Here it is.
        ");
    }
    world.say("ana", "dm:ana", "send it").await;
    world.click("ana", "dm:ana", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test")[0].body, "The plan.");
    assert!(world.google.drafts(ANA).is_empty());
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn five_hundred_recipients_are_refused_in_a_sentence(platform: Platform) {
    let (mut world, ..) = with_mail(platform, &terms_mail()).await;
    let to: Vec<String> = (0..500).map(|n| format!("person{n}@acme.test")).collect();
    script_tool_call(&world, "gmail_send_email", json!({ "to": to, "subject": "News", "body": "News." }));
    world.model.will(Answer::text("That is too many people for one mail."));
    world.say("ana", "dm:ana", "send the news to everybody").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(last_tool_result(&world), @r#"{"error":"/to: value has more than 100 items"}"#);
    }
    assert!(world.google.list_sent(ANA).is_empty() && world.google.drafts(ANA).is_empty());
    world.read_new("dm:ana");
    world.finish().await;
}

async fn broken_mail_is_read_as_far_as_it_goes_and_answered(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    let head = "From: Kim <kim@northwind.test>\r\nTo: ana@acme.test\r\nMIME-Version: 1.0\r\n";
    let broken: [(&str, &[u8]); 7] = [
        // No parts, and no end.
        ("1", b"Content-Type: multipart/mixed; boundary=\"x\"\r\n\r\nNo boundary ever comes."),
        // Cut in the middle of a character.
        ("2", b"Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\nSGVsbG8gd29ybG=Q=!"),
        // It declares UTF-8 and is Latin-1.
        ("3", b"Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\nViele Gr\xfc\xdfe aus Ulm"),
        // It declares an unknown charset.
        ("4", b"Content-Type: text/plain; charset=\"klingon\"\r\n\r\nQapla\xb4"),
        // Charsets whose bytes look like other characters.
        ("5", b"Content-Type: text/plain; charset=ISO-2022-JP\r\n\r\n\x1b$B$3$s$K$A$O\x1b(B Bo"),
        ("6", b"Content-Type: text/plain; charset=hz-gb-2312\r\n\r\n~{<:Ky2;S{~} Bo"),
        ("7", b"Content-Type: text/plain; charset=utf-16\r\nContent-Transfer-Encoding: base64\r\n\r\n//5IAGkA4wA="),
    ];
    for (number, rest) in broken {
        let subject = format!("{head}Subject: Broken {number}\r\nMessage-ID: <b{number}@northwind.test>\r\n");
        world.google.deliver_raw(ANA, &[subject.as_bytes(), rest].concat()).unwrap();
    }
    let mut read = Vec::new();
    for mail in world.google.inbox(ANA) {
        let look = Answer::tool("gmail_read_thread", json!({ "thread_id": mail.thread_id }));
        let answer = json!({ "thread_id": mail.thread_id, "body": "I could not read that." });
        world.script_model("tool", [look, Answer::tool("gmail_reply", answer), Answer::text("Not sent.")]);
        world.say("ana", "dm:ana", "read it, and answer").await;
        let requests = world.model.requests();
        let tool = requests.last().unwrap()["messages"].as_array().unwrap().last().unwrap().clone();
        let words =
            tool["content"].as_str().unwrap().lines().find(|line| line.starts_with('{')).unwrap().to_owned();
        let words: Value = serde_json::from_str(&words).unwrap();
        read.push(words["messages"][0]["text"].to_string());
        world.deny_request("ana", "dm:ana", "").await;
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(read.join("\n"), @r#"
            ""
            "SGVsbG8gd29ybG=Q=!"
            "Viele Grüße aus Ulm"
            "Qapla´"
            "こんにちは Bo"
            "己所不欲 Bo"
            "Hiã"
        "#);
    }
    assert!(world.google.list_sent(ANA).is_empty() && world.google.drafts(ANA).is_empty());
    world.read_new("dm:ana");
    world.finish().await;
}

async fn a_file_that_was_dropped_goes_out_as_it_was_shown(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let file = SharedFile::new("sales.csv", "text/csv", "month,sum\nMay,120\nJune,200");
    let attach = json!([{ "name": "Sales.csv" }]);
    let mail = json!({ "to": ["Bo"], "subject": "Sales", "body": "See the file.", "attach": attach });
    script_tool_call(&world, "gmail_send_email", mail);
    world.share_file("ana", "general", "@nod mail this to Bo", &file).await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(text_after(&world.read_new("general"), "From  ana"), @r"
            From  ana@acme.test
                  To  bo@acme.test
                  Subject  Sales
                  Attached  sales.csv (26 bytes)
                  See the file.
                  ⚠ Prepared after reading the file sales.csv
                  · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
                  [Approve & send] [Edit] [Deny] [Show all]
        ");
    }
    world.google.faults.next(SEND, Fault::DropResponse);
    world.model.will(Answer::text("Bo has it."));
    world.click("ana", "general", "Approve & send").await;
    world.advance(TimeDelta::seconds(2)).await;
    let got = world.google.inbox("bo@acme.test");
    assert_eq!((got.len(), got[0].files.as_slice()), (1, &[("sales.csv".to_owned(), 26)][..]));
    assert!(world.read_new("general").contains("Email sent"));
    world.finish().await;
}

async fn a_file_that_was_not_dropped_is_not_found(platform: Platform) {
    let (mut world, ..) = with_mail(platform, &terms_mail()).await;
    let attach = json!([{ "name": "terms.pdf" }]);
    let mail = json!({ "to": ["Bo"], "subject": "Terms", "body": "See the file.", "attach": attach });
    script_tool_call(&world, "gmail_send_email", mail);
    world.model.will(Answer::text("Which file?"));
    world.say("ana", "general", "@nod mail the terms to Bo").await;
    assert_eq!(last_tool_result(&world), r#"{"error":"I couldn't find a file with that name in this chat"}"#);
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn a_page_that_was_dropped_goes_out_too(platform: Platform) {
    let mut world = World::new_on(platform).await;
    world.connect_google("ana").await;
    world.make_mail_address_known("bo").await;
    let page = "<!DOCTYPE html><html><body>The plan</body></html>";
    let attach = json!([{ "name": "plan.html" }]);
    let mail = json!({ "to": ["Bo"], "subject": "Plan", "body": "See the page.", "attach": attach });
    script_tool_call(&world, "gmail_send_email", mail);
    world.model.will(Answer::text("Bo has it."));
    world
        .share_file(
            "ana",
            "general",
            "@nod mail this to Bo",
            &SharedFile::new("plan.html", "text/html", page),
        )
        .await;
    world.click("ana", "general", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test")[0].files, [("plan.html".to_owned(), page.len())]);
    world.read_new("general");
    world.finish().await;
}

const NUMBER: &str = "+351 555 0199";

/// Adds a signature with Ana's number to her mail.
fn set_signature(world: &World) {
    let html = format!("<div>Ana Silva<br>{NUMBER}</div>");
    world.google.settings(ANA, |account| drop(account.signatures.insert(ANA.to_owned(), html)));
}

async fn a_signature_stands_on_no_card_that_others_see(platform: Platform) {
    let (mut world, ..) = with_mail(platform, &terms_mail()).await;
    set_signature(&world);
    script_tool_call(
        &world,
        "gmail_send_email",
        json!({ "to": ["Bo"], "subject": "Late", "body": "Hi Bo,\nI'm late." }),
    );
    world.say("ana", "general", "@nod tell Bo I'm late").await;
    insta::allow_duplicates! {
        insta::assert_snapshot!(world.read_new("general"), @r"
            ana: @nod tell Bo I'm late
                nod: # Send this email?
                  From  ana@acme.test
                  To  bo@acme.test
                  Subject  Late
                  Signature  yours from Gmail
                  Hi Bo,
                  I'm late.
                  · Only Ana Silva can approve this. Expires Sat 7 Mar 2026, 09:30 WET
                  [Approve & send] [Edit] [Deny] [Show all]
        ");
    }
    let shown = world.show_all("ana", "general", NUMBER).await;
    assert!(shown.contains("I'mlate.--AnaSilva+3515550199"), "{shown}");
    let shown = world.show_all("bo", "general", "see the rest").await;
    assert!(shown.contains("I'mlate.") && !shown.contains("5550199"), "{shown}");
    world.model.will(Answer::text("Bo knows."));
    world.click("ana", "general", "Approve & send").await;
    let wanted = format!("Hi Bo,\nI'm late.\n\n-- \nAna Silva\n{NUMBER}");
    assert_eq!(world.google.inbox("bo@acme.test")[0].body, wanted);

    script_tool_call(
        &world,
        "gmail_create_draft",
        json!({ "to": ["Bo"], "subject": "Plan", "body": "The plan." }),
    );
    let thread = world.say("ana", "general", "@nod draft a mail to Bo about the plan").await;
    world.script_model("conversational", [Answer::text("It is Ana's.")]);
    world.reply("bo", "general", &thread, "what does it say?").await;
    world.reply("ana", "general", &thread, "send it").await;
    world.click("ana", "general", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test")[1].body, format!("The plan.\n\n-- \nAna Silva\n{NUMBER}"));
    let (said, prompts) = (world.read_new("general"), json!(world.model.requests()).to_string());
    assert!(!said.contains(NUMBER) && !prompts.contains(NUMBER), "{said}");
    world.finish().await;
}

async fn mail_goes_out_under_the_name_of_its_address(platform: Platform) {
    let (mut world, ..) = with_mail(platform, &terms_mail()).await;
    world.google.settings(ANA, |account| {
        account.aliases = vec!["sales@acme.test".to_owned()];
        account.names.insert(ANA.to_owned(), "Ana Silva".to_owned());
        account.names.insert("sales@acme.test".to_owned(), "Sales, Acme".to_owned());
        account.answers.insert("sales@acme.test".to_owned(), "desk@acme.test".to_owned());
    });
    let mail = |from: &str| json!({ "to": ["Bo"], "subject": "Late", "body": "Late.", "from": from });
    let mut headers = Vec::new();
    for (from, place) in [(ANA, "general"), ("sales@acme.test", "dm:ana")] {
        script_tool_call(&world, "gmail_send_email", mail(from));
        world.model.will(Answer::text("Bo has it."));
        world.say("ana", "general", "@nod write to Bo").await;
        let card = world.read_new(place);
        headers
            .extend(card.lines().map(str::trim).filter(|line| line.starts_with("From  ")).map(str::to_owned));
        headers.extend(
            card.lines().map(str::trim).filter(|line| line.starts_with("Answers go to")).map(str::to_owned),
        );
        world.click("ana", place, "Approve & send").await;
        let got = world.google.inbox("bo@acme.test").pop().unwrap();
        headers.push(format!("{:?} {:?}", got.header("From"), got.header("Reply-To")));
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(headers.join("\n"), @r#"
            From  Ana Silva <ana@acme.test>
            Some("Ana Silva <ana@acme.test>") None
            From  "Sales, Acme" <sales@acme.test>
            Answers go to  desk@acme.test
            Some("Sales, Acme <sales@acme.test>") Some("<desk@acme.test>")
        "#);
    }
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}

async fn what_only_gmails_settings_say_is_shown_to_its_owner_alone(platform: Platform) {
    let (mut world, ..) = with_mail(platform, &terms_mail()).await;
    world.google.settings(ANA, |account| {
        account.aliases = vec!["moonfox@acme.test".to_owned()];
        account.default_alias = Some("moonfox@acme.test".to_owned());
    });
    let mail = json!({ "to": ["Bo"], "subject": "Late", "body": "Late." });
    for (tool, shown) in [("gmail_send_email", "Send this email?"), ("gmail_create_draft", "# Draft")] {
        script_tool_call(&world, tool, mail.clone());
        world.say("ana", "general", "@nod write to Bo").await;
        let card = world.read_new("dm:ana");
        assert!(card.contains(shown) && card.contains("From  moonfox@acme.test"), "{card}");
        assert!(!world.read_new("general").contains("moonfox"));
    }
    world.discard().await;
}

async fn a_draft_from_an_address_that_is_gone_shows_as_whom_it_leaves(platform: Platform) {
    let (mut world, ..) = with_mail(platform, &terms_mail()).await;
    world.google.settings(ANA, |account| account.aliases = vec!["old@acme.test".to_owned()]);
    let mail = json!({ "to": ["Bo"], "subject": "Plan", "body": "The plan.", "from": "old@acme.test" });
    script_tool_call(&world, "gmail_create_draft", mail);
    let thread = world.say("ana", "general", "@nod draft a mail to Bo from my old address").await;
    world.google.settings(ANA, |account| account.aliases.clear());
    let id = world.google.drafts(ANA)[0].draft_id.clone().unwrap();
    let open = Answer::tool("gmail_open_draft", json!({ "draft_id": id }));
    world.script_model("tool", [open, Answer::text("Here it is.")]);
    world.say("ana", "dm:ana", "open my draft to Bo").await;
    let shown = world.read_new("dm:ana");
    assert!(shown.contains("From  ana@acme.test") && !shown.contains("old@acme.test"), "{shown}");
    world.say("ana", "dm:ana", "send it").await;
    world.click("ana", "dm:ana", "Approve & send").await;
    assert_eq!(world.google.inbox("bo@acme.test")[0].from, ANA);
    assert!(!thread.is_empty());
    world.read_new("general");
    world.read_new("dm:ana");
    world.finish().await;
}
