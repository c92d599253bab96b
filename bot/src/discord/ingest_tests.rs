use std::sync::Mutex;

use nod_contract::chat::{self, InteractionResponse};
use nod_contract::clock::SystemClock;
use serde_json::json;
use url::Url;

use super::super::channel_index::ChannelIndex;
use super::super::files::FileDownloader;
use super::super::guilds::Guilds;
use super::super::inbound::Identity;
use super::super::web::ApiClient;
use super::*;

/// A door whose database accepts a message only from this attempt on, and what it was asked to store.
fn ingestor_fixture(
    takes_from: usize,
) -> (Ingestor, watch::Receiver<StorageStatus>, Arc<Mutex<Vec<Inbound>>>) {
    // Two tests of one process can both be first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Nothing listens there.
    let url = Url::parse("http://127.0.0.1:1/api/v10/").unwrap();
    let web =
        Arc::new(ApiClient::new(url.clone(), "token".to_owned().into(), Arc::new(SystemClock)).unwrap());
    let identity = Identity { application: "7".to_owned(), name: "Nod".to_owned(), user: "9".to_owned() };
    let guilds = Guilds::new(Arc::clone(&web), Vec::new());
    let files = FileDownloader::new(&url).unwrap();
    let adapter = DiscordAdapter::new(web, identity, Arc::new(ChannelIndex::default()), guilds, files);
    let tried = Arc::new(Mutex::new(Vec::new()));
    let tries = Arc::clone(&tried);
    let accept: Accept = Arc::new(move |arrival| {
        let mut tries = tries.lock().unwrap();
        if let IncomingPayload::Inbound(inbound) = arrival {
            tries.push(inbound);
        }
        let taken = tries.len() >= takes_from;
        Box::pin(async move {
            if taken { Ok(InteractionResponse::Ack) } else { Err(StoreError("no".to_owned())) }
        })
    });
    let (door, storing) = Ingestor::new(Arc::new(adapter), accept);
    (door, storing, tried)
}

fn message_event() -> GatewayEvent {
    let author = json!({"id": "5", "username": "ana"});
    let event = json!({"id": "100", "channel_id": "3", "type": 0, "content": "hello", "author": author});
    ("MESSAGE_CREATE".to_owned(), event)
}

fn inbound() -> Inbound {
    let identity = Identity { application: "7".to_owned(), name: "Nod".to_owned(), user: "9".to_owned() };
    let place = ChannelRef { channel: "3".to_owned(), is_dm: true, thread: None };
    match inbound::parse_message(&message_event().1, place, &identity) {
        ParseOutcome::Inbound(inbound) => *inbound,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn late_storage_holds_back_the_ingest_watermark() {
    let (door, mut storing, tried) = ingestor_fixture(3);
    let seen = async {
        let waits = storing.wait_for(|now| now.has_pending).await.map(|now| *now);
        let stored = storing.wait_for(|now| !now.has_pending).await.map(|now| *now);
        (waits.unwrap(), stored.unwrap())
    };
    let pauses = [Duration::from_millis(1); 5].into_iter();
    let taken = async {
        door.store_with_retry(inbound(), pauses).await;
        assert!(door.storing.borrow().has_pending, "what came behind it is not stored yet");
        door.caught_up();
    };
    let (seen, ()) = tokio::join!(seen, taken);
    let waits = StorageStatus { has_pending: true, dropped_count: 0 };
    assert_eq!((seen, tried.lock().unwrap().len()), ((waits, StorageStatus::default()), 3));
}

#[tokio::test]
async fn message_never_stored_is_dropped_and_counted() {
    let (door, storing, tried) = ingestor_fixture(usize::MAX);
    door.store_with_retry(inbound(), [Duration::ZERO; 4].into_iter()).await;
    assert_eq!(*storing.borrow(), StorageStatus { has_pending: false, dropped_count: 1 });
    assert_eq!(tried.lock().unwrap().len(), 4);
}

#[test]
fn storing_is_retried_for_about_ten_minutes() {
    let all: Duration = pauses().sum();
    assert!((8..=10).contains(&(all.as_secs() / 60)), "{all:?}");
}

#[tokio::test]
async fn what_a_bot_says_counts_in_threads_alone_and_in_private_ones_too() {
    let (door, _storing, tried) = ingestor_fixture(0);
    let channel = |id: &str, kind: u8| json!({"id": id, "type": kind, "parent_id": "2", "guild_id": "1"});
    for (id, kind, expected) in [("2", 0, None), ("3", 11, Some("2")), ("4", 12, Some("4"))] {
        door.adapter.channel_index.apply_event("CHANNEL_CREATE", &channel(id, kind));
        let (event, mut told) = message_event();
        told["channel_id"] = id.into();
        told["author"]["bot"] = true.into();
        door.handle_event(&event, told, &mut JoinSet::new()).await;
        let heard = std::mem::take(&mut *tried.lock().unwrap());
        let places = heard.iter().filter_map(|inbound| match &inbound.event {
            chat::Event::Message { place, .. } => Some(place.channel.as_str()),
            _ => None,
        });
        assert_eq!(places.collect::<Vec<_>>(), Vec::from_iter(expected), "{kind}");
    }
}
