//! Files dropped with a mention are read into the conversation; unreadable ones are reported, and do no harm.
use nod_sandbox::model::Answer;
use nod_tests::chat::Platform;
use nod_tests::{SharedFile, World, hostile};

on_each_platform!(
    a_dropped_file_is_read_and_stays_in_the_conversation,
    a_dropped_pdf_is_read_too,
    what_cannot_be_read_is_said_and_the_rest_is_answered,
    a_file_without_a_word_is_a_message,
    a_pdf_that_eats_memory_is_told_and_nod_lives,
    files_that_never_end_do_not_hold_up_others,
);

async fn a_dropped_file_is_read_and_stays_in_the_conversation(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let file = SharedFile::new("sales.csv", "text/csv", "month,sum\nMay,120\nJune,200");
    world.script_model("conversational", [Answer::text("June was best.")]);
    let ts = world.share_file("ana", "general", "@nod which month was best?", &file).await;
    let asked = world.model.requests().pop().unwrap().to_string();
    assert!(asked.contains("begins (the file sales.csv)") && asked.contains("June,200"), "{asked}");
    world.script_model("conversational", [Answer::text("120.")]);
    world.reply("bo", "general", &ts, "and May?").await;
    assert!(world.model.requests().pop().unwrap().to_string().contains("May,120"));
    let said = world.read_new("general");
    assert!(said.contains("nod: June was best.") && said.contains("nod: 120."), "{said}");
    world.finish().await;
}

async fn a_dropped_pdf_is_read_too(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let file = SharedFile::new("offer.pdf", "application/pdf", hostile::pdf_of("The offer ends on Friday."));
    world.script_model("conversational", [Answer::text("On Friday.")]);
    world.share_file("ana", "general", "@nod when does it end?", &file).await;
    let asked = world.model.requests().pop().unwrap().to_string();
    assert!(asked.contains("begins (the file offer.pdf)") && asked.contains("ends on Friday"), "{asked}");
    assert!(world.read_new("general").contains("nod: On Friday."));
    world.finish().await;
}

async fn what_cannot_be_read_is_said_and_the_rest_is_answered(platform: Platform) {
    let zip = [&b"PK\x03\x04"[..], &[0; 64]].concat();
    for (name, kind, bytes) in [
        ("plan.txt", "text/plain", zip),
        ("report.pdf", "application/pdf", b"%PDF-1.7".to_vec()),
        ("huge.csv", "text/csv", vec![b'x'; 3 * 1024 * 1024]),
        ("endless.csv", "text/csv", vec![b'x'; 64 * 1024]),
        ("elsewhere.csv", "text/csv", b"stolen".to_vec()),
        ("picture.md", "text/markdown", b"\x89PNG\r\n\x1A\n\0\0".to_vec()),
    ] {
        let mut world = World::new_on(platform).await;
        let file = SharedFile::new(name, kind, bytes);
        world.script_model("conversational", [Answer::text("42.")]);
        world.share_file("ana", "general", "@nod what is the answer?", &file).await;
        let said = world.read_new("general");
        let last = said.lines().last().unwrap_or_default().trim().to_owned();
        assert!(said.contains("nod: 42."), "{said}");
        assert!(last.starts_with(&format!("· I couldn't read {name}: ")), "{last}");
        world.finish().await;
    }
}

async fn a_file_without_a_word_is_a_message(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let file = SharedFile::new("note.md", "text/markdown", "# Buy milk");
    world.script_model("conversational", [Answer::text("A note about milk.")]);
    world.share_file("ana", "dm:ana", "", &file).await;
    assert!(world.read_new("dm:ana").contains("nod: A note about milk."));
    world.finish().await;
}

async fn a_pdf_that_eats_memory_is_told_and_nod_lives(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let bomb = SharedFile::new("offer.pdf", "application/pdf", hostile::pdf_that_eats_memory());
    // Either of the two can be answered first: each gets one of them.
    for _ in 0..2 {
        world.script_model("conversational", [Answer::text("I am here.")]);
    }
    let _ = world.chat.share_files("ana", "dm:ana", "when does it end?", &[&bomb]);
    world.say("bo", "dm:bo", "are you there?").await;
    assert!(world.read_new("dm:bo").contains("nod: I am here."));
    const WHY: &str = "reading it took more memory than I give to a file";
    let said = world.read_new("dm:ana");
    assert!(said.contains(&format!("· I couldn't read offer.pdf: {WHY}")), "{said}");
    let asked = world.model.requests().into_iter().map(|request| request.to_string());
    assert!(asked.into_iter().any(|asked| asked.contains(WHY)));
    world.finish().await;
}

async fn files_that_never_end_do_not_hold_up_others(platform: Platform) {
    let mut world = World::new_on(platform).await;
    let endless = SharedFile::new("offer.pdf", "application/pdf", hostile::pdf_without_end());
    let good = SharedFile::new("plan.pdf", "application/pdf", hostile::pdf_of("The plan is late."));
    for _ in 0..3 {
        world.script_model("conversational", [Answer::text("I have seen it.")]);
    }
    let _ = world.chat.share_files("ana", "dm:ana", "look", &[&endless]);
    let _ = world.chat.share_files("cho", "dm:cho", "look", &[&endless]);
    let _ = world.chat.share_files("bo", "dm:bo", "look", &[&good]);
    world.wait_for_text("dm:bo", "I have seen it.").await;
    // If its turn had not come within the ten seconds, it would not have been read.
    world.wait_until_idle().await;
    let asked = world.model.requests().into_iter().map(|request| request.to_string());
    assert!(asked.into_iter().any(|asked| asked.contains("The plan is late.")));
    for channel in ["dm:ana", "dm:cho"] {
        let said = world.read_new(channel);
        assert!(said.contains("I couldn't read offer.pdf: reading it took too long"), "{said}");
    }
    world.read_new("dm:bo");
    world.finish().await;
}
