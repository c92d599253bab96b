//! The same rules, for requests about existing mail.

use serde_json::{Value, json};

use super::fixture;
use super::rules::{call, message_after_tool, next, nod, user};

#[tokio::test]
async fn mail_is_put_away_by_what_is_said_of_it() {
    let world = fixture(true).await;
    let search = |search: &str, action: &str| json!({"search": search, "actions": [action]});
    for (text, wanted) in [
        ("archive what the bank sent this week", search("in:inbox from:bank after:2026/03/02", "archive")),
        ("archive what Paperplane Print sent me", search("in:inbox from:\"Paperplane Print\"", "archive")),
        ("archive all the mails from Bo", search("in:inbox from:Bo", "archive")),
        ("please archive the mail from Bo.", search("in:inbox from:Bo", "archive")),
        ("archive Bo’s mail about lunch", search("in:inbox from:Bo lunch", "archive")),
        ("star the mail from kim@northwind.test", search("from:kim@northwind.test", "star")),
        ("mark all mails from Bo as read", search("from:Bo", "mark_read")),
        ("mark the thread about the offsite as unread", search("offsite", "mark_unread")),
        (
            "mark everything from Bo last week as read",
            search("from:Bo after:2026/02/23 before:2026/03/02", "mark_read"),
        ),
        ("move the mail from Bo back to the inbox", search("from:Bo", "move_to_inbox")),
        ("label the mail from Bo as Launch", json!({"search": "from:Bo", "add_labels": ["Launch"]})),
    ] {
        assert_eq!(call(&world, text).await, ("gmail_organise".to_owned(), wanted), "{text}");
    }
    let hints = "Routing hints (from the assistant, not the person):\n- mail thread in view: 19a4";
    for (text, action) in
        [("archive it", "archive"), ("star it", "star"), ("mark it as unread", "mark_unread")]
    {
        let (name, arguments) = call(&world, &format!("{text}\n\n{hints}")).await;
        let wanted = json!({"thread_ids": ["19a4"], "actions": [action]});
        assert_eq!((name.as_str(), arguments), ("gmail_organise", wanted), "{text}");
        let which = "Which mail do you mean? Say “read the mail from …” first.";
        assert_eq!(call(&world, text).await, (String::new(), json!(which)), "{text}");
    }
    let (name, arguments) = call(&world, &format!("forward it to Bo: what do you think?\n\n{hints}")).await;
    let body = "Hi,\n\nWhat do you think?\n\nAna";
    assert_eq!(
        (name.as_str(), arguments),
        ("gmail_forward", json!({"thread_id": "19a4", "to": ["Bo"], "body": body}))
    );
    let (_, arguments) = call(&world, &format!("answer it: yes\n\n{hints}")).await;
    assert_eq!(arguments, json!({"thread_id": "19a4", "body": "Hi,\n\nYes.\n\nAna"}));
    for (result, told) in [
        (r#"{"status":"done","did":["archive"],"conversations":2}"#, "Archived 2 emails."),
        (r#"{"error":"I couldn't find any email like that"}"#, "I found no such mail, and nothing was done."),
        (
            r#"{"status":"denied","detail":"the person said no; nothing was done"}"#,
            "I did not do it: your mailbox is as it was.",
        ),
    ] {
        let said = message_after_tool(&world, "archive the mail from Bo", "gmail_organise", &[result]).await;
        assert_eq!(said["content"], told, "{result}");
    }
}

#[tokio::test]
async fn a_mail_of_a_list_is_found_again() {
    let world = fixture(true).await;
    let one = |thread: &str, from: &str, subject: &str| {
        json!({"id": format!("m-{thread}"), "thread_id": thread, "from": from, "to": "Ana Silva <ana@acme.test>",
            "subject": subject, "at": "2026-03-04T14:00:00Z", "snippet": "…", "unread": true})
    };
    let fenced = |mails: &[Value]| {
        let list = json!({"messages": mails});
        format!("outside 1f2e begins (mail from bo@acme.test)\n{list}\noutside 1f2e ends")
    };
    let mails = [
        one("t-1", "Bo Lind <bo@acme.test>", "Launch check: at three"),
        one("t-2", "Cho Park <cho@acme.test>", "Landing page, second round"),
    ];
    let list =
        message_after_tool(&world, "what's new in my mail?", "gmail_list_recent", &[&fenced(&mails)]).await;
    assert_eq!(list["content"], "2 emails, 2 unread. The latest is from Bo Lind <bo@acme.test>.");
    let shown = "Shown below it:\n1. Bo Lind · Launch check: at three · Wed 4 Mar, 14:00\n\
                 2. Cho Park · Landing page, second round · Wed 4 Mar, 14:00";
    let said = nod(list["content"].as_str().unwrap());
    let before = [user("Ana Silva: what's new in my mail?"), said, nod(shown)];
    // Even if there was another request about the list in between.
    let asked = [
        user("Ana Silva: read the second one"),
        nod("“Landing page, second round”, 1 message:\n• Cho Park <cho@acme.test> wrote: Ana, the page …"),
    ];
    let told = "Which of these mails do you mean? Say “the second one”, for example.";
    assert_eq!(next(&world, &before, "archive it", &[]).await.1, told);
    let which = [&before[..], &[user("Ana Silva: archive it"), nod(told)]].concat();
    let looks = next(&world, &which, "the first one", &[]).await;
    assert_eq!(looks.1, json!({"query": "from:\"Bo Lind\" subject:\"Launch check: at three\""}));
    let before = [&before[..], &asked].concat();
    let answer = |text: &str| format!("Hi,\n\n{text}\n\nAna");
    let first = "from:\"Bo Lind\" subject:\"Launch check: at three\"";
    let second = "from:\"Cho Park\" subject:\"Landing page, second round\"";
    for (said, query, thread, tool, wanted) in [
        ("read the first one", first, 0, "gmail_read_thread", json!({"thread_id": "t-1"})),
        ("show me the last mail", second, 1, "gmail_read_thread", json!({"thread_id": "t-2"})),
        (
            "reply to the first one that I'll be there",
            first,
            0,
            "gmail_reply",
            json!({"thread_id": "t-1", "body": answer("I'll be there.")}),
        ),
        (
            "answer the second one: yes, please!",
            second,
            1,
            "gmail_reply",
            json!({"thread_id": "t-2", "body": answer("Yes, please!")}),
        ),
        (
            "archive the second one",
            second,
            1,
            "gmail_organise",
            json!({"thread_ids": ["t-2"], "actions": ["archive"]}),
        ),
    ] {
        let looks = next(&world, &before, said, &[]).await;
        assert_eq!(looks, ("gmail_search_messages".to_owned(), json!({"query": query})), "{said}");
        let found = fenced(&mails[thread..=thread]);
        let (name, arguments) = next(&world, &before, said, &[("gmail_search_messages", &found)]).await;
        assert_eq!((name.as_str(), arguments), (tool, wanted), "{said}");
    }
    let told = "Which mail do you mean? Say “read the mail from …” first.";
    assert_eq!(next(&world, &before, "read the third one", &[]).await.1, told);
    // What was referred to is "it" from then on.
    let replied = [&before[..], &[user("Ana Silva: reply to the first one: yes")]].concat();
    let looks = next(&world, &replied, "archive it", &[]).await;
    assert_eq!(looks, ("gmail_search_messages".to_owned(), json!({"query": first})));
}
