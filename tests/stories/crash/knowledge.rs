//! Nod is killed while it keeps a document, reads it again or removes it. The document, its text, its bytes and its
//! message agree: one message that says how it ended, and the text and the bytes once, or not at all.

use nod_sandbox::Fault;
use nod_sandbox::model::Answer;
use nod_tests::chat::{ChatOperation, Platform};
use nod_tests::{SharedFile, World, max_wait};

use super::invariants::{count, wait_for_count};
use super::{CrashPoint, NOD, UserAction, killed_case, run_until_crash};

on_each_platform!(
    killed_before_the_message_stands_the_document_is_kept_once,
    killed_after_the_message_stands_the_document_is_kept_once,
    killed_before_the_message_changes_the_document_is_kept_once,
    killed_after_the_message_changed_the_document_is_kept_once,
    killed_when_the_file_was_acknowledged_it_is_kept_once,
    killed_somewhere_in_between_the_document_is_kept_once,
    killed_before_the_file_was_fetched_it_is_kept_once,
    killed_after_the_file_was_fetched_it_is_kept_once,
    killed_once_the_bytes_are_kept_nothing_is_fetched_again,
    killed_while_it_is_read_again_it_is_kept_once,
    killed_while_it_is_embedded_it_goes_on_there,
    killed_while_it_is_removed_it_is_gone,
    killed_between_its_points_and_its_publication_it_is_kept_once,
);

async fn killed_before_the_message_stands_the_document_is_kept_once(platform: Platform) {
    keep_and_crash(platform, CrashPoint::Chat(ChatOperation::PostMessage, Fault::HangBefore)).await;
}

async fn killed_after_the_message_stands_the_document_is_kept_once(platform: Platform) {
    keep_and_crash(platform, CrashPoint::Chat(ChatOperation::PostMessage, Fault::HangAfter)).await;
}

async fn killed_before_the_message_changes_the_document_is_kept_once(platform: Platform) {
    keep_and_crash(platform, CrashPoint::Chat(ChatOperation::UpdateMessage, Fault::HangBefore)).await;
}

async fn killed_after_the_message_changed_the_document_is_kept_once(platform: Platform) {
    keep_and_crash(platform, CrashPoint::Chat(ChatOperation::UpdateMessage, Fault::HangAfter)).await;
}

async fn killed_when_the_file_was_acknowledged_it_is_kept_once(platform: Platform) {
    keep_and_crash(platform, CrashPoint::Acknowledged).await;
}

async fn killed_somewhere_in_between_the_document_is_kept_once(platform: Platform) {
    for millis in [5, 20, 45] {
        keep_and_crash(platform, CrashPoint::AfterMillis(millis)).await;
    }
}

async fn killed_before_the_file_was_fetched_it_is_kept_once(platform: Platform) {
    keep_and_crash(platform, CrashPoint::Chat(ChatOperation::DownloadFile, Fault::HangBefore)).await;
}

async fn killed_after_the_file_was_fetched_it_is_kept_once(platform: Platform) {
    keep_and_crash(platform, CrashPoint::Chat(ChatOperation::DownloadFile, Fault::HangAfter)).await;
}

async fn killed_while_it_is_embedded_it_goes_on_there(platform: Platform) {
    let mut world = World::with_real_clock_on(platform).await;
    world.env.insert("NOD_EMBEDDINGS__BASE_URL".to_owned(), world.model.base_url());
    world.env.insert("NOD_EMBEDDINGS__API_KEY".to_owned(), "sk-embeddings".to_owned());
    world.env.insert("NOD_EMBEDDINGS__MODEL".to_owned(), "meaning-1".to_owned());
    let nod = world.start_program(NOD).await;
    let text: String = (1..=6).map(|n| format!("## Rule {n}\nIt is about subject {n}.\n")).collect();
    let file = SharedFile::new("rules.md", "text/markdown", text);
    (1..=5).for_each(|_| world.model.embeddings_will(Answer::empty()));
    world.model.embeddings_will(Answer::hang());
    let _ = world.chat.share_files("ana", "dm:ana", "keep this", &[&file]);
    assert!(world.model.wait_for(|model| model.list_unused().is_empty(), max_wait()).await);
    world.kill_program(nod).await;
    // Four passages were committed, the fifth and the sixth were not; nothing can be found yet.
    assert_eq!(count(&world, "select count(*) from chunk_vectors").await, 4);
    assert_eq!(count(&world, "select count(*) from documents where generation > 0").await, 0);
    let nod = world.start_program(NOD).await;
    world.wait_for_text("dm:ana", "I've read this. Ask me about it.").await;
    world.wait_until_idle().await;
    let embedded = world.model.embedded_texts().concat();
    assert_eq!(embedded.len(), 8, "{embedded:?}");
    assert_eq!(count(&world, "select count(*) from chunk_vectors").await, 6);
    assert_kept_once(&world).await;
    world.read_new("dm:ana");
    world.kill_program(nod).await;
    world.finish().await;
}

/// The addresses expire meanwhile. The file is so long that it is still being read then.
async fn killed_once_the_bytes_are_kept_nothing_is_fetched_again(platform: Platform) {
    let mut world = World::with_real_clock_on(platform).await;
    let nod = world.start_program(NOD).await;
    let text: String = (0..10_000).map(|n| format!("## Rule {n}\nIt is about subject {n}.\n")).collect();
    let file = SharedFile::new("rules.md", "text/markdown", text);
    let _ = world.chat.share_files("ana", "dm:ana", "keep this", &[&file]);
    wait_for_count(&world, "select count(*) from blobs", 1).await;
    world.kill_program(nod).await;
    world.chat.forget_files();
    let nod = world.start_program(NOD).await;
    world.wait_for_text("dm:ana", "I've read this. Ask me about it.").await;
    world.wait_until_idle().await;
    assert_kept_once(&world).await;
    world.read_new("dm:ana");
    world.kill_program(nod).await;
    world.finish().await;
}

async fn killed_while_it_is_read_again_it_is_kept_once(platform: Platform) {
    let mut world = World::with_real_clock_on(platform).await;
    let nod = world.start_program(NOD).await;
    let _ = world.chat.share_files("ana", "dm:ana", "keep this", &[&handbook()]);
    world.wait_for_text("dm:ana", "I've read this. Ask me about it.").await;
    world.wait_until_idle().await;
    world.chat.forget_files();
    world.chat.inject_fault(ChatOperation::UpdateMessage, Fault::HangBefore);
    world.chat.run_command("ana", "dm:ana", "knowledge again handbook.txt").await;
    world.kill_program(nod).await;
    let nod = world.start_program(NOD).await;
    world.wait_for_text("dm:ana", "I've read this again. Ask me about it.").await;
    world.wait_until_idle().await;
    assert_kept_once(&world).await;
    world.read_ephemerals("ana");
    world.read_new("dm:ana");
    world.kill_program(nod).await;
    world.finish().await;
}

fn handbook() -> SharedFile {
    let text = (0..400).map(|n| format!("Rule {n} is about subject {n}.\n")).collect::<String>();
    SharedFile::new("handbook.txt", "text/plain", text)
}

async fn keep_and_crash(platform: Platform, at: CrashPoint) {
    let mut world = World::with_real_clock_on(platform).await;
    let nod = world.start_program(NOD).await;
    let death = killed_case("while it keeps a document", UserAction::Ask, at);
    let drops = || {
        let _ = world.chat.share_files("ana", "dm:ana", "keep this", &[&handbook()]);
    };
    let nod = run_until_crash(&world, nod, &death, drops).await;
    wait_for_count(&world, "select count(*) from documents where status = 'indexed'", 1).await;
    world.wait_until_idle().await;
    assert_kept_once(&world).await;
    let said = world.read_new("dm:ana");
    assert_eq!(said.matches("I've read this. Ask me about it.").count(), 1, "{said}");
    world.kill_program(nod).await;
    world.finish().await;
}

async fn killed_while_it_is_removed_it_is_gone(platform: Platform) {
    let mut world = World::with_real_clock_on(platform).await;
    let nod = world.start_program(NOD).await;
    let _ = world.chat.share_files("ana", "dm:ana", "keep this", &[&handbook()]);
    world.wait_for_text("dm:ana", "I've read this. Ask me about it.").await;
    world.wait_until_idle().await;
    world.click("ana", "dm:ana", "Remove").await;
    world.chat.inject_fault(ChatOperation::UpdateMessage, Fault::HangBefore);
    world.chat.click_ephemeral("ana", "Yes, remove it").await;
    world.kill_program(nod).await;
    let nod = world.start_program(NOD).await;
    world.wait_for_text("dm:ana", "Removed.").await;
    world.wait_for_ephemeral("ana").await;
    world.wait_until_idle().await;
    assert_eq!(count(&world, "select count(*) from documents").await, 0);
    assert_all_agree(&world).await;
    world.read_new("dm:ana");
    world.kill_program(nod).await;
    world.finish().await;
}

async fn killed_between_its_points_and_its_publication_it_is_kept_once(platform: Platform) {
    let mut world = World::with_real_clock_on(platform).await;
    world.use_qdrant().await;
    let nod = world.start_program(NOD).await;
    world.qdrant().faults().next("points.upsert", Fault::HangAfter);
    let _ = world.chat.share_files("ana", "dm:ana", "keep this", &[&handbook()]);
    let until = tokio::time::Instant::now() + max_wait();
    while world.qdrant().point_count() == 0 && tokio::time::Instant::now() < until {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    world.kill_program(nod).await;
    // Its points are there, and nothing can be found yet.
    assert!(world.qdrant().point_count() > 0);
    assert_eq!(count(&world, "select count(*) from documents where generation > 0").await, 0);
    let nod = world.start_program(NOD).await;
    world.wait_for_text("dm:ana", "I've read this. Ask me about it.").await;
    world.wait_until_idle().await;
    assert_kept_once(&world).await;
    let chunks = count(&world, "select count(*) from document_chunks").await;
    assert_eq!(i64::try_from(world.qdrant().point_count()), Ok(chunks));
    world.read_new("dm:ana");
    world.kill_program(nod).await;
    world.finish().await;
}

/// Checks that there is one document, with exactly the chunks of its version.
async fn assert_kept_once(world: &World) {
    assert_all_agree(world).await;
    let kept = "select count(*) from documents d where d.chunk_count > 1 and d.chunk_count =
        (select count(*) from document_chunks c where c.document_id = d.id)";
    assert_eq!(count(world, kept).await, 1);
    assert_eq!(count(world, "select count(*) from documents").await, 1);
}

/// Checks that documents, chunks and bytes agree: none without the others.
async fn assert_all_agree(world: &World) {
    for stray in [
        "select count(*) from document_chunks c where not exists (
             select 1 from documents d where d.id = c.document_id and d.generation = c.generation)",
        "select count(*) from documents d where d.chunk_count <> (
             select count(*) from document_chunks c where c.document_id = d.id)",
        "select count(*) from documents d, unnest(array[d.digest, d.wanted_digest]) as wanted
         where wanted is not null and not exists (
             select 1 from blob_uses u where u.owner_id = d.id and u.digest = wanted)",
        "select count(*) from blob_uses u where not exists (
             select 1 from documents d where d.id = u.owner_id and u.digest in (d.digest, d.wanted_digest))",
        "select count(*) from blobs b where not exists (select 1 from blob_uses u where u.digest = b.digest)",
    ] {
        assert_eq!(count(world, stray).await, 0, "{stray}");
    }
}
