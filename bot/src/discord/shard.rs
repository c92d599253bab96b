//! Which replica hears Discord: one for each shard, by a seat in the database. Two would hear everything twice, and
//! answer presses twice.

use std::time::Duration;

use nod_core::Nod;
use tokio_util::sync::CancellationToken;

use super::gateway::{self, Line};
use super::inbound::Identity;
use super::{PLATFORM, commands};
use crate::hearing::Hears;

/// How often the seat is taken anew; it is held for ten seconds.
const BEAT: Duration = Duration::from_secs(3);
/// How long the database may take to say whose the seat is.
const SOON: Duration = Duration::from_secs(2);
/// A database that is silent twice in a row may have given the seat to another: by then ten seconds are over.
const MOST_SILENT: u32 = 1;

/// Hears every shard whose seat is free, until `stop`.
pub(super) async fn own(line: Line, nod: Nod, identity: Identity, stop: CancellationToken) {
    let shards = loop {
        match line.web.get("gateway/bot", &[]).await {
            Ok(gateway) => break gateway["shards"].as_u64().unwrap_or(1).clamp(1, 1_000),
            Err(error) => tracing::warn!(%error, "Discord's gateway is not to be found yet"),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(BEAT) => {}
        }
    };
    match commands::register(&line.web, &identity).await {
        Ok(true) => tracing::info!("the commands were registered with Discord"),
        Ok(false) => {}
        Err(error) => tracing::error!(%error, "the commands could not be registered with Discord"),
    }
    let seats = (0..shards).filter_map(|shard| u32::try_from(shard).ok());
    let kept = seats.map(|shard| {
        let name = format!("{PLATFORM}:{}:{shard}", identity.application);
        seat(line.clone(), nod.clone(), name, shard, stop.clone())
    });
    futures::future::join_all(kept).await;
}

/// Takes the seat of one shard when it is free, hears while it is held, and leaves it at the end.
async fn seat(line: Line, nod: Nod, name: String, shard: u32, stop: CancellationToken) {
    let holder = nod.fresh_id();
    let mut hearing: Option<CancellationToken> = None;
    let mut silent = 0;
    loop {
        let held = match tokio::time::timeout(SOON, nod.take_seat(&name, holder)).await {
            Ok(Ok(held)) => {
                silent = 0;
                held
            }
            answer => {
                let error = match answer {
                    Ok(answer) => answer.err().map(|error| error.to_string()),
                    Err(late) => Some(late.to_string()),
                };
                tracing::warn!(?error, seat = name, "the database does not say whose the seat is");
                silent += 1;
                hearing.is_some() && silent <= MOST_SILENT
            }
        };
        match (held, &hearing) {
            (true, None) => {
                let ends = stop.child_token();
                match gateway::keep(line.clone(), shard, ends.clone()) {
                    Ok(()) => hearing = Some(ends),
                    Err(error) => tracing::error!(%error, shard, "no thread for the gateway"),
                }
            }
            (false, None) => _ = line.hears.send_replace(Hears::Elsewhere),
            (false, Some(ends)) => {
                tracing::warn!(shard, "another replica hears Discord now");
                ends.cancel();
                hearing = None;
            }
            _ => {}
        }
        tokio::select! {
            () = stop.cancelled() => break,
            () = tokio::time::sleep(BEAT) => {}
        }
    }
    if let Err(error) = nod.leave_seat(&name, holder).await {
        tracing::warn!(%error, seat = name, "the seat stays taken until it runs out");
    }
}
