//! Documents are read by a process that can do nothing else; a hostile document harms only that process.

use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use nod_sandbox::model::Answer;
use nod_tests::chat::Platform;
use nod_tests::{SharedFile, World, hostile};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::time::timeout;

on_each_platform!(what_killed_its_reader_is_not_opened_again);

const NOD: &str = env!("CARGO_BIN_EXE_nod-under-test");

/// Returns the reader's output for one document, and its exit status.
async fn read(kind: &str, bytes: &[u8]) -> (Vec<serde_json::Value>, ExitStatus) {
    let mut reader = Command::new(NOD)
        .arg("parse")
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let request = serde_json::json!({
        "kind": kind, "name": "", "length": bytes.len(), "most_pages": 200, "most_bytes_out": 400_000, "seconds": 10,
    });
    let mut input = reader.stdin.take().unwrap();
    input.write_all(format!("{request}\n").as_bytes()).await.unwrap();
    input.write_all(bytes).await.unwrap();
    drop(input);
    let ended = timeout(Duration::from_secs(60), reader.wait_with_output()).await.unwrap().unwrap();
    let said = String::from_utf8(ended.stdout).unwrap();
    (said.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), ended.status)
}

#[tokio::test]
async fn a_bomb_kills_its_reader_and_nothing_else() {
    let (said, ended) = read("pdf", &hostile::pdf_of("The offer ends on Friday.")).await;
    assert!(ended.success(), "{said:?}");
    assert_eq!(said[1]["text"], "The offer ends on Friday.\n");
    assert_eq!(said[2]["done"]["pages"], 1);
    for (bytes, signal) in
        [(hostile::pdf_that_eats_memory(), Signal::SIGABRT), (hostile::pdf_without_end(), Signal::SIGXCPU)]
    {
        let (said, ended) = read("pdf", &bytes).await;
        assert_eq!(ended.signal(), Some(signal as i32), "{said:?}");
        assert_eq!(said.len(), 1, "{said:?}");
    }
}

/// In either case it returns no text and takes no more than its time.
#[tokio::test]
async fn a_mail_in_two_hundred_thousand_mails_gives_no_words() {
    let (said, ended) = read("mail", &hostile::nested_mail(200_000)).await;
    assert!(said.len() == 1 || said[1]["failed"] == "large", "{ended}: {said:?}");
}

async fn what_killed_its_reader_is_not_opened_again(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let bomb = SharedFile::new("offer.pdf", "application/pdf", hostile::pdf_that_eats_memory());
    let killed = "· I couldn't read offer.pdf: reading it took more memory than I give to a file.\n";
    let known = "· I couldn't read offer.pdf: reading it took too long.\n";
    for (user, channel, rows, why) in [
        ("ana", "dm:ana", None, killed),
        // Another user must not learn that it was opened before, let alone when.
        ("bo", "dm:bo", None, killed),
        // The reason comes from the row: the file is not opened.
        ("ana", "dm:ana", Some("update unreadable set why = 'time'"), known),
        // A file that another version of Nod could not read is tried again.
        ("ana", "dm:ana", Some("update unreadable set reader = 'older'"), killed),
    ] {
        if let Some(rows) = rows {
            sqlx::query(rows).execute(&world.pool).await.unwrap();
        }
        world.script_model("conversational", [Answer::text("I see.")]);
        world.share_file(user, channel, "when does it end?", &bomb).await;
        let said = world.read_rest(channel) + "\n";
        assert!(said.contains(why), "{said}");
    }
    world.finish().await;
}

/// The reader has tried to.
#[tokio::test]
#[cfg(target_os = "linux")]
async fn a_reader_can_open_nothing() {
    let (said, ended) = read("pdf", b"no pdf").await;
    let hello = &said[0]["hello"];
    for held in ["memory", "files", "network"] {
        assert_eq!(hello[held], true, "{hello}");
    }
    assert_eq!(said[1]["failed"], "broken");
    assert!(ended.success());
}
