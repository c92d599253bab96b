//! `nod ingest` keeps files beside a running Nod, and says what became of each.

use std::path::Path;

use nod_sandbox::model::Answer;
use nod_tests::{World, hostile};
use tokio::process::Command;

const NOD: &str = env!("CARGO_BIN_EXE_nod-under-test");

/// Runs the command, and returns whether it succeeded and what it printed.
async fn ingest(world: &World, path: &Path, audience: &str) -> (bool, String) {
    let keep = ["PATH", "HOME"].into_iter().filter_map(|n| Some((n.to_owned(), std::env::var(n).ok()?)));
    let output = Command::new(NOD)
        .args([Path::new("ingest"), path, Path::new("--audience"), Path::new(audience)])
        .env_clear()
        .envs(keep)
        .envs(world.env.clone())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_is_kept_for_everyone() {
    let mut world = World::with_real_clock().await;
    let nod = world.start_program(NOD).await;
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    write("leave.md", b"# Leave\nEverybody has 25 days of annual leave.");
    write("copy.md", b"# Leave\nEverybody has 25 days of annual leave.");
    let (done, text) = ingest(&world, folder.path(), "everyone").await;
    assert!(done && text.contains("copy.md: indexed (1 passage)"), "{text}");
    assert!(text.contains("says the same") && !text.contains("leave.md: indexed"), "{text}");

    write("locked.pdf", &hostile::locked_pdf());
    let (done, text) = ingest(&world, folder.path(), "everyone").await;
    assert!(!done && text.contains("locked.pdf: failed (it's password-protected)"), "{text}");
    assert!(text.contains("1 file was not kept"), "{text}");

    world.script_model("retrieval", [Answer::text("I do not know.")]);
    world.say("bo", "dm:bo", "how many days of annual leave are there?").await;
    let asked = world.model.requests().pop().unwrap().to_string();
    assert!(asked.contains("25 days of annual leave"), "{asked}");
    // Nobody of the chat added it, so only an admin removes it.
    let refused = world.run_command("bo", "dm:bo", "knowledge remove copy.md").await;
    assert!(refused.contains("Only the person who added it, or an admin, can remove it."), "{refused}");
    world.run_command("dana", "dm:dana", "knowledge remove copy.md").await;
    world.click_newest_ephemeral("dana", "Yes, remove it").await;
    world.wait_until_idle().await;
    let kept: i64 = sqlx::query_scalar("select count(*) from documents where status = 'indexed'")
        .fetch_one(&world.pool)
        .await
        .unwrap();
    assert_eq!(kept, 0);
    nod.stop().await;
    world.discard().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_too_large_is_not_opened() {
    let world = World::with_real_clock().await;
    let nod = world.start_program(NOD).await;
    let folder = tempfile::tempdir().unwrap();
    // No memory holds it, and it takes no place on the disk.
    std::fs::File::create(folder.path().join("dump.csv")).unwrap().set_len(1 << 42).unwrap();
    std::fs::write(folder.path().join("leave.md"), "25 days").unwrap();
    let (done, text) = ingest(&world, folder.path(), "everyone").await;
    assert!(!done && text.contains("dump.csv: failed (it's larger than 20 MB)"), "{text}");
    assert!(text.contains("leave.md: indexed (1 passage)"), "{text}");
    nod.stop().await;
    world.discard().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_kept_is_said() {
    let world = World::with_real_clock().await;
    let nod = world.start_program(NOD).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("leave.md");
    std::fs::write(&file, "25 days").unwrap();
    for (path, audience, expected) in [
        (&*file, "all", "write everyone, channel:slack:C0123456789 or person:ana@example.com"),
        (&*file, "channel:slack:C0NOWHERE", "Nod does not know the channel C0NOWHERE of slack yet"),
        (&*file, "person:nobody@acme.test", "Nod knows no member with the address nobody@acme.test"),
        (&folder.path().join("none.md"), "everyone", "there is no file"),
    ] {
        let (done, text) = ingest(&world, path, audience).await;
        assert!(!done && text.contains(expected), "{text}");
    }
    nod.stop().await;
    world.discard().await;
}
