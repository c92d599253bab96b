use std::sync::Mutex;

use nod_contract::chat::{self, InteractionResponse};
use nod_contract::clock::SystemClock;
use serde_json::json;
use url::Url;

use super::super::atlas::Atlas;
use super::super::files::Files;
use super::super::guilds::Guilds;
use super::super::inbound::Identity;
use super::super::web::Web;
use super::*;

/// A door whose database accepts a message only from this attempt on, and what it was asked to store.
fn door(takes_from: usize) -> (Door, watch::Receiver<Storing>, Arc<Mutex<Vec<Inbound>>>) {
    // Two tests of one process can both be first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    // Nothing listens there.
    let url = Url::parse("http://127.0.0.1:1/api/v10/").unwrap();
    let web = Arc::new(Web::new(url.clone(), "token".to_owned().into(), Arc::new(SystemClock)).unwrap());
    let identity = Identity { application: "7".to_owned(), name: "Nod".to_owned(), user: "9".to_owned() };
    let guilds = Guilds::new(Arc::clone(&web), Vec::new());
    let files = Files::new(&url).unwrap();
    let adapter = DiscordAdapter::new(web, identity, Arc::new(Atlas::default()), guilds, files);
    let tried = Arc::new(Mutex::new(Vec::new()));
    let tries = Arc::clone(&tried);
    let accept: Accept = Arc::new(move |arrival| {
        let mut tries = tries.lock().unwrap();
        if let Arrival::Inbound(inbound) = arrival {
            tries.push(inbound);
        }
        let taken = tries.len() >= takes_from;
        Box::pin(
            async move { if taken { Ok(InteractionResponse::Ack) } else { Err(NotStored("no".to_owned())) } },
        )
    });
    let (door, storing) = Door::new(Arc::new(adapter), accept);
    (door, storing, tried)
}

fn said() -> Event {
    let author = json!({"id": "5", "username": "ana"});
    let event = json!({"id": "100", "channel_id": "3", "type": 0, "content": "hello", "author": author});
    ("MESSAGE_CREATE".to_owned(), event)
}

fn inbound() -> Inbound {
    let identity = Identity { application: "7".to_owned(), name: "Nod".to_owned(), user: "9".to_owned() };
    let place = ChannelRef { channel: "3".to_owned(), is_dm: true, thread: None };
    match inbound::said(&said().1, place, &identity) {
        Heard::Inbound(inbound) => *inbound,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn late_storage_holds_back_the_ingest_watermark() {
    let (door, mut storing, tried) = door(3);
    let seen = async {
        let waits = storing.wait_for(|now| now.waits).await.map(|now| *now);
        let stored = storing.wait_for(|now| !now.waits).await.map(|now| *now);
        (waits.unwrap(), stored.unwrap())
    };
    let pauses = [Duration::from_millis(1); 5].into_iter();
    let taken = async {
        door.insist(inbound(), pauses).await;
        assert!(door.storing.borrow().waits, "what came behind it is not stored yet");
        door.caught_up();
    };
    let (seen, ()) = tokio::join!(seen, taken);
    let waits = Storing { waits: true, given_up: 0 };
    assert_eq!((seen, tried.lock().unwrap().len()), ((waits, Storing::default()), 3));
}

#[tokio::test]
async fn message_never_stored_is_dropped_and_counted() {
    let (door, storing, tried) = door(usize::MAX);
    door.insist(inbound(), [Duration::ZERO; 4].into_iter()).await;
    assert_eq!(*storing.borrow(), Storing { waits: false, given_up: 1 });
    assert_eq!(tried.lock().unwrap().len(), 4);
}

#[test]
fn storing_is_retried_for_about_ten_minutes() {
    let all: Duration = pauses().sum();
    assert!((8..=10).contains(&(all.as_secs() / 60)), "{all:?}");
}

#[tokio::test]
async fn what_a_bot_says_counts_in_threads_alone_and_in_private_ones_too() {
    let (door, _storing, tried) = door(0);
    let channel = |id: &str, kind: u8| json!({"id": id, "type": kind, "parent_id": "2", "guild_id": "1"});
    for (id, kind, expected) in [("2", 0, None), ("3", 11, Some("2")), ("4", 12, Some("4"))] {
        door.adapter.atlas.learn("CHANNEL_CREATE", &channel(id, kind));
        let (event, mut told) = said();
        told["channel_id"] = id.into();
        told["author"]["bot"] = true.into();
        door.take_event(&event, told, &mut JoinSet::new()).await;
        let heard = std::mem::take(&mut *tried.lock().unwrap());
        let places = heard.iter().filter_map(|inbound| match &inbound.event {
            chat::Event::Message { place, .. } => Some(place.channel.as_str()),
            _ => None,
        });
        assert_eq!(places.collect::<Vec<_>>(), Vec::from_iter(expected), "{kind}");
    }
}
