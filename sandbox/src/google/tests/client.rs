//! The real client.

use std::io::Cursor;

use google_gmail1::api::{Draft, Message, Scope};
use google_gmail1::{Gmail, hyper_rustls, hyper_util};

use super::{ANA, BO, fixture, raw_mail};

#[tokio::test]
async fn the_real_client_drafts_sends_and_reads() {
    let world = fixture().await;
    let connector = hyper_rustls::HttpsConnectorBuilder::new()
        .with_native_roots()
        .unwrap()
        .https_or_http()
        .enable_http1()
        .build();
    let http =
        hyper_util::client::legacy::Client::builder(hyper_util::rt::TokioExecutor::new()).build(connector);
    let mut hub = Gmail::new(http, world.token.clone());
    hub.base_url(format!("{}/", world.google.url()));
    hub.root_url(format!("{}/", world.google.url()));
    let kind = || "message/rfc822".parse().unwrap();

    let raw = raw_mail(BO, "Lunch", "At one?");
    let draft = Draft { message: Some(Message::default()), ..Draft::default() };
    let create = hub.users().drafts_create(draft, "me").clear_scopes().add_scope(Scope::Compose);
    let (_, draft) = create.upload(Cursor::new(raw.clone().into_bytes()), kind()).await.unwrap();
    let id = draft.id.unwrap();

    let send = Draft { id: Some(id.clone()), ..Draft::default() };
    let send = hub.users().drafts_send(send, "me").clear_scopes().add_scope(Scope::Compose);
    let (_, sent) = send.upload(Cursor::new(raw.into_bytes()), kind()).await.unwrap();
    assert!(sent.label_ids.unwrap().contains(&"SENT".to_owned()));
    assert_eq!(world.google.inbox(BO)[0].body, "At one?");

    let get = hub.users().messages_get("me", &sent.id.unwrap()).format("full");
    let (_, message) = get.clear_scopes().add_scope(Scope::Readonly).doit().await.unwrap();
    let payload = message.payload.unwrap();
    assert_eq!(payload.body.unwrap().data.unwrap(), b"At one?");
    let gone = hub.users().drafts_get("me", &id).clear_scopes().add_scope(Scope::Readonly).doit().await;
    assert!(gone.is_err());
    assert!(world.google.drafts(ANA).is_empty());
    assert!(world.google.violations().is_empty(), "{:?}", world.google.violations());
}
