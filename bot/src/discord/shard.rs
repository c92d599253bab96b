//! Which replica connects to Discord: one for each shard, by a leader lease in the database. Two would receive every
//! event twice and answer clicks twice.

use std::time::Duration;

use nod_contract::command::CommandSpec;
use nod_inbox::Nod;
use tokio_util::sync::CancellationToken;

use super::gateway::{self, Line, Told};
use super::inbound::Identity;
use super::{PLATFORM, commands};
use crate::hearing::Hears;

/// How often the lease is renewed; it lasts ten seconds.
const BEAT: Duration = Duration::from_secs(3);
/// The delay between two attempts to register the commands.
const AGAIN: Duration = Duration::from_secs(60);
/// How long the database can take to answer who holds the lease.
const SOON: Duration = Duration::from_secs(2);
/// If the database does not answer twice in a row, another replica can hold the lease: ten seconds have passed by then.
const MOST_SILENT: u32 = 1;

/// Connects every shard whose lease is free, until `stop`, and reports the state of each.
pub(super) async fn own(
    line: Line,
    nod: Nod,
    identity: Identity,
    shards: Vec<Told>,
    stop: CancellationToken,
) {
    let commands = nod.commands();
    let registered = registers(&line, &identity, &commands, &stop);
    let kept = (0..).zip(shards).map(|(shard, hears)| {
        let name = format!("{PLATFORM}:{}:{shard}", identity.application);
        seat(line.clone(), nod.clone(), name, shard, hears, stop.clone())
    });
    tokio::join!(registered, futures::future::join_all(kept));
}

/// Registers the commands; retries if Discord refuses.
async fn registers(line: &Line, identity: &Identity, abilities: &[CommandSpec], stop: &CancellationToken) {
    loop {
        match commands::register(&line.web, identity, abilities).await {
            Ok(true) => return tracing::info!("registered the commands with Discord"),
            Ok(false) => return,
            Err(error) => tracing::error!(%error, "could not register the commands with Discord"),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(AGAIN) => {}
        }
    }
}

/// Acquires the lease of one shard when it is free, stays connected while it is held, and releases it at the end.
async fn seat(line: Line, nod: Nod, name: String, shard: u32, hears: Told, stop: CancellationToken) {
    let holder = nod.new_id();
    let mut hearing: Option<CancellationToken> = None;
    let mut silent = 0;
    loop {
        let (held, otherwise) =
            match tokio::time::timeout(SOON, nod.acquire_leader_lease(&name, holder)).await {
                Ok(Ok(held)) => {
                    silent = 0;
                    (held, Hears::Elsewhere)
                }
                answer => {
                    let error = match answer {
                        Ok(answer) => answer.err().map(|error| error.to_string()),
                        Err(late) => Some(late.to_string()),
                    };
                    tracing::warn!(?error, seat = name, "could not check the shard lease");
                    silent += 1;
                    (hearing.is_some() && silent <= MOST_SILENT, Hears::No)
                }
            };
        match (held, &hearing) {
            (true, None) => {
                let ends = stop.child_token();
                match gateway::keep(line.clone(), shard, Told::clone(&hears), ends.clone()) {
                    Ok(()) => hearing = Some(ends),
                    Err(error) => tracing::error!(%error, shard, "could not start the gateway thread"),
                }
            }
            (false, _) => {
                if let Some(ends) = hearing.take() {
                    tracing::warn!(shard, "this replica lost the shard lease; disconnecting");
                    ends.cancel();
                }
                hears.send_if_modified(|now| std::mem::replace(now, otherwise) != otherwise);
            }
            (true, Some(_)) => {}
        }
        tokio::select! {
            () = stop.cancelled() => break,
            () = tokio::time::sleep(BEAT) => {}
        }
    }
    if let Err(error) = nod.release_leader_lease(&name, holder).await {
        tracing::warn!(%error, seat = name, "could not release the shard lease; it will expire");
    }
}
