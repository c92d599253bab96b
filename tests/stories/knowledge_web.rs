//! A page of the web becomes a document by its address. What is not public is not read.

use nod_sandbox::model::Answer;
use nod_tests::World;
use nod_tests::chat::Platform;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

on_each_platform!(
    a_page_is_added_by_its_address,
    an_address_is_asked_as_it_was_written,
    a_page_is_read_again,
    what_is_not_public_is_not_read,
    a_page_with_the_same_bytes_says_so,
);

/// Serves these answers, one after another and then the last one again, and returns the origin.
async fn serve(answers: Vec<String>) -> String {
    serve_with_requests(answers).await.0
}

/// The same, and the first line of each request as it comes.
async fn serve_with_requests(answers: Vec<String>) -> (String, UnboundedReceiver<String>) {
    let (requests, asked) = unbounded_channel();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        for at in 0.. {
            let Ok((mut stream, _)) = listener.accept().await else { return };
            let mut request = [0; 4096];
            let length = stream.read(&mut request).await.unwrap_or_default();
            let text = String::from_utf8_lossy(&request[..length]);
            let _ = requests.send(text.lines().next().unwrap_or_default().to_owned());
            let _ = stream.write_all(answers[at.min(answers.len() - 1)].as_bytes()).await;
        }
    });
    (origin, asked)
}

fn page(text: &str) -> String {
    let html = format!("<!doctype html><title>Wiki</title><h1>Leave</h1><p>{text}</p>");
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{html}",
        html.len()
    )
}

async fn world_that_reads(platform: Platform, origin: &str) -> World {
    let mut world = World::without_nod_on(platform).await;
    world.env.insert("NOD_WEB__ALLOW_PRIVATE".to_owned(), origin.to_owned());
    world.start().await;
    world
}

async fn a_page_is_added_by_its_address(platform: Platform) {
    let origin = serve(vec![page("Everybody has 25 days of annual leave.")]).await;
    let mut world = world_that_reads(platform, &origin).await;
    let answered = world.run_command("ana", "dm:ana", &format!("knowledge add {origin}/leave#top")).await;
    assert!(answered.contains("I'm reading this page."), "{answered}");
    world.wait_until_idle().await;
    let listed = world.run_command("ana", "dm:ana", "knowledge").await;
    assert!(listed.contains("/leave") && listed.contains("1 passage"), "{listed}");
    world.script_model("retrieval", [Answer::text("I do not know.")]);
    world.say("ana", "dm:ana", "how many days of annual leave are there?").await;
    let asked = world.model.requests().pop().unwrap().to_string();
    assert!(asked.contains("25 days of annual leave"), "{asked}");
    world.read_new("dm:ana");
    world.finish().await;
}

/// The sign with which Slack divides an address from its text is also one of addresses.
async fn an_address_is_asked_as_it_was_written(platform: Platform) {
    let redirect =
        "HTTP/1.1 302 Found\r\nlocation: /b?cols=x|y\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let (origin, mut asked) = serve_with_requests(vec![redirect.to_owned(), page("25 days.")]).await;
    let mut world = world_that_reads(platform, &origin).await;
    world.run_command("ana", "dm:ana", &format!("knowledge add {origin}/a?title=Leave|2026")).await;
    world.wait_until_idle().await;
    assert_eq!(asked.recv().await.unwrap(), "GET /a?title=Leave|2026 HTTP/1.1");
    assert_eq!(asked.recv().await.unwrap(), "GET /b?cols=x|y HTTP/1.1");
    world.finish().await;
}

async fn a_page_is_read_again(platform: Platform) {
    let gone = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned();
    let origin = serve(vec![page("25 days."), page("28 days."), gone]).await;
    let mut world = world_that_reads(platform, &origin).await;
    world.run_command("ana", "dm:ana", &format!("knowledge add {origin}/leave")).await;
    world.wait_until_idle().await;
    let name = format!("{}/leave", origin.trim_start_matches("http://"));
    let text = || async {
        sqlx::query_scalar::<_, String>("select text from document_chunks")
            .fetch_all(&world.pool)
            .await
            .unwrap()
    };
    assert_eq!(text().await, ["25 days."]);
    // The second time it is gone, and what was read of it stays.
    for _ in 0..2 {
        world.chat.run_command("ana", "dm:ana", &format!("knowledge again {name}")).await;
        world.wait_until_idle().await;
        assert_eq!(text().await, ["28 days."]);
    }
    let listed = world.run_command("ana", "dm:ana", "knowledge").await;
    assert!(listed.contains("the address answered with status 404"), "{listed}");
    world.finish().await;
}

async fn what_is_not_public_is_not_read(platform: Platform) {
    let redirect = "HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/keys\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
    let origin = serve(vec![redirect.to_owned()]).await;
    let mut world = world_that_reads(platform, &origin).await;
    // A redirect is judged when it comes.
    world.run_command("ana", "dm:ana", &format!("knowledge add {origin}/leave")).await;
    world.wait_until_idle().await;
    let reason: String =
        sqlx::query_scalar("delete from documents returning reason").fetch_one(&world.pool).await.unwrap();
    assert_eq!(reason, "that address is not one of the public web");
    // An address that says so itself is refused at once.
    for address in
        ["http://127.0.0.1:9/keys", "http://localhost/keys", "http://10.0.0.1/", "http://localhost./"]
    {
        let answered = world.run_command("ana", "dm:ana", &format!("knowledge add {address}")).await;
        assert!(
            answered.contains("I added nothing: that address is not one of the public web."),
            "{answered}"
        );
    }
    let answered = world.run_command("ana", "dm:ana", "knowledge add file:///etc/passwd").await;
    assert!(answered.contains("I added nothing: that is no web address."), "{answered}");
    world.finish().await;
}

async fn a_page_with_the_same_bytes_says_so(platform: Platform) {
    let origin = serve(vec![page("Everybody has 25 days of annual leave.")]).await;
    let mut world = world_that_reads(platform, &origin).await;
    for path in ["Leave", "leave"] {
        world.run_command("ana", "dm:ana", &format!("knowledge add {origin}/{path}")).await;
        world.wait_until_idle().await;
    }
    let listed = world.run_command("ana", "dm:ana", "knowledge").await;
    assert!(listed.contains("failed: it says exactly what") && listed.contains("1 passage"), "{listed}");
    world.finish().await;
}
