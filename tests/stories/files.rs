//! Files dropped with a mention are read into the conversation; unreadable ones are reported, and do no harm.
use nod_sandbox::model::Answer;
use nod_tests::chat::On;
use nod_tests::{Dropped, World, hostile};

on_each_platform!(
    a_dropped_file_is_read_and_stays_in_the_conversation,
    a_dropped_pdf_is_read_too,
    what_cannot_be_read_is_said_and_the_rest_is_answered,
    a_file_without_a_word_is_a_message,
    a_pdf_that_eats_memory_is_told_and_nod_lives,
    files_that_never_end_do_not_hold_up_others,
);

async fn a_dropped_file_is_read_and_stays_in_the_conversation(platform: On) {
    let mut world = World::on(platform).await;
    let file = Dropped::new("sales.csv", "text/csv", "month,sum\nMay,120\nJune,200");
    world.model_will("conversational", [Answer::text("June was best.")]);
    let ts = world.drops_file("ana", "general", "@nod which month was best?", &file).await;
    let asked = world.model.requests().pop().unwrap().to_string();
    assert!(asked.contains("begins (the file sales.csv)") && asked.contains("June,200"), "{asked}");
    world.model_will("conversational", [Answer::text("120.")]);
    world.replies("bo", "general", &ts, "and May?").await;
    assert!(world.model.requests().pop().unwrap().to_string().contains("May,120"));
    let said = world.reads("general");
    assert!(said.contains("nod: June was best.") && said.contains("nod: 120."), "{said}");
    world.ends().await;
}

async fn a_dropped_pdf_is_read_too(platform: On) {
    let mut world = World::on(platform).await;
    let file = Dropped::new("offer.pdf", "application/pdf", hostile::pdf_of("The offer ends on Friday."));
    world.model_will("conversational", [Answer::text("On Friday.")]);
    world.drops_file("ana", "general", "@nod when does it end?", &file).await;
    let asked = world.model.requests().pop().unwrap().to_string();
    assert!(asked.contains("begins (the file offer.pdf)") && asked.contains("ends on Friday"), "{asked}");
    assert!(world.reads("general").contains("nod: On Friday."));
    world.ends().await;
}

async fn what_cannot_be_read_is_said_and_the_rest_is_answered(platform: On) {
    let zip = [&b"PK\x03\x04"[..], &[0; 64]].concat();
    for (name, kind, bytes) in [
        ("plan.txt", "text/plain", zip),
        ("report.pdf", "application/pdf", b"%PDF-1.7".to_vec()),
        ("huge.csv", "text/csv", vec![b'x'; 3 * 1024 * 1024]),
        ("endless.csv", "text/csv", vec![b'x'; 64 * 1024]),
        ("elsewhere.csv", "text/csv", b"stolen".to_vec()),
        ("picture.md", "text/markdown", b"\x89PNG\r\n\x1A\n\0\0".to_vec()),
    ] {
        let mut world = World::on(platform).await;
        let file = Dropped::new(name, kind, bytes);
        world.model_will("conversational", [Answer::text("42.")]);
        world.drops_file("ana", "general", "@nod what is the answer?", &file).await;
        let said = world.reads("general");
        let last = said.lines().last().unwrap_or_default().trim().to_owned();
        assert!(said.contains("nod: 42."), "{said}");
        assert!(last.starts_with(&format!("· I could not read {name}: ")), "{last}");
        world.ends().await;
    }
}

async fn a_file_without_a_word_is_a_message(platform: On) {
    let mut world = World::on(platform).await;
    let file = Dropped::new("note.md", "text/markdown", "# Buy milk");
    world.model_will("conversational", [Answer::text("A note about milk.")]);
    world.drops_file("ana", "dm:ana", "", &file).await;
    assert!(world.reads("dm:ana").contains("nod: A note about milk."));
    world.ends().await;
}

async fn a_pdf_that_eats_memory_is_told_and_nod_lives(platform: On) {
    let mut world = World::on(platform).await;
    let bomb = Dropped::new("offer.pdf", "application/pdf", hostile::pdf_that_eats_memory());
    // Either of the two can be answered first: each gets one of them.
    for _ in 0..2 {
        world.model_will("conversational", [Answer::text("I am here.")]);
    }
    let _ = world.chat.drop_file("ana", "dm:ana", "when does it end?", &bomb);
    world.says("bo", "dm:bo", "are you there?").await;
    assert!(world.reads("dm:bo").contains("nod: I am here."));
    const WHY: &str = "reading it took more memory than I give to a file";
    let said = world.reads("dm:ana");
    assert!(said.contains(&format!("· I could not read offer.pdf: {WHY}")), "{said}");
    let asked = world.model.requests().into_iter().map(|request| request.to_string());
    assert!(asked.into_iter().any(|asked| asked.contains(WHY)));
    world.ends().await;
}

async fn files_that_never_end_do_not_hold_up_others(platform: On) {
    let mut world = World::on(platform).await;
    let endless = Dropped::new("offer.pdf", "application/pdf", hostile::pdf_without_end());
    let good = Dropped::new("plan.pdf", "application/pdf", hostile::pdf_of("The plan is late."));
    for _ in 0..3 {
        world.model_will("conversational", [Answer::text("I have seen it.")]);
    }
    let _ = world.chat.drop_file("ana", "dm:ana", "look", &endless);
    let _ = world.chat.drop_file("cho", "dm:cho", "look", &endless);
    let _ = world.chat.drop_file("bo", "dm:bo", "look", &good);
    world.stands("dm:bo", "I have seen it.").await;
    // If its turn had not come within the ten seconds, it would not have been read.
    world.settles().await;
    let asked = world.model.requests().into_iter().map(|request| request.to_string());
    assert!(asked.into_iter().any(|asked| asked.contains("The plan is late.")));
    for channel in ["dm:ana", "dm:cho"] {
        let said = world.reads(channel);
        assert!(said.contains("I could not read offer.pdf: reading it took too long"), "{said}");
    }
    world.reads("dm:bo");
    world.ends().await;
}
