//! Which replica connects to Discord: one for each shard, by a leader lease in the database. Two would receive every
//! event twice and answer clicks twice.

use std::time::Duration;

use nod_inbox::Nod;
use tokio_util::sync::CancellationToken;

use super::PLATFORM;
use super::commands::{self, AbilityCommands};
use super::gateway::{self, GatewayConfig, Told};
use super::inbound::Identity;
use crate::ingest_status::IngestStatus;

/// How often the lease is renewed; it lasts ten seconds.
const RENEW_INTERVAL: Duration = Duration::from_secs(3);
/// The delay between two attempts to register the commands.
const REGISTER_RETRY_DELAY: Duration = Duration::from_secs(60);
/// How long the database can take to answer who holds the lease.
const LEASE_TIMEOUT: Duration = Duration::from_secs(2);
/// If the database does not answer twice in a row, another replica can hold the lease: ten seconds have passed by then.
const MAX_FAILED_RENEWALS: u32 = 1;

/// Connects every shard whose lease is free, until `stop`, and reports the state of each.
pub(super) async fn run_shards(
    line: GatewayConfig,
    nod: Nod,
    identity: Identity,
    shards: Vec<Told>,
    stop: CancellationToken,
) {
    let commands = AbilityCommands { commands: nod.commands(), menu: nod.menu_entries() };
    let registered = register_commands(&line, &identity, &commands, &stop);
    let kept = (0..).zip(shards).map(|(shard, hears)| {
        let name = format!("{PLATFORM}:{}:{shard}", identity.application);
        run_with_lease(line.clone(), nod.clone(), name, shard, hears, stop.clone())
    });
    tokio::join!(registered, futures::future::join_all(kept));
}

/// Registers the commands; retries if Discord refuses.
async fn register_commands(
    line: &GatewayConfig,
    identity: &Identity,
    abilities: &AbilityCommands,
    stop: &CancellationToken,
) {
    loop {
        match commands::register(&line.web, identity, abilities).await {
            Ok(true) => return tracing::info!("registered the commands with Discord"),
            Ok(false) => return,
            Err(error) => tracing::error!(%error, "could not register the commands with Discord"),
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(REGISTER_RETRY_DELAY) => {}
        }
    }
}

/// Acquires the lease of one shard when it is free, stays connected while it is held, and releases it at the end.
async fn run_with_lease(
    line: GatewayConfig,
    nod: Nod,
    name: String,
    shard: u32,
    hears: Told,
    stop: CancellationToken,
) {
    let holder = nod.new_id();
    let mut hearing: Option<CancellationToken> = None;
    let mut silent = 0;
    loop {
        let (held, otherwise) =
            match tokio::time::timeout(LEASE_TIMEOUT, nod.acquire_leader_lease(&name, holder)).await {
                Ok(Ok(held)) => {
                    silent = 0;
                    (held, IngestStatus::OtherReplica)
                }
                answer => {
                    let error = match answer {
                        Ok(answer) => answer.err().map(|error| error.to_string()),
                        Err(late) => Some(late.to_string()),
                    };
                    tracing::warn!(?error, seat = name, "could not check the shard lease");
                    silent += 1;
                    (hearing.is_some() && silent <= MAX_FAILED_RENEWALS, IngestStatus::Disconnected)
                }
            };
        match (held, &hearing) {
            (true, None) => {
                let ends = stop.child_token();
                match gateway::run_shard(line.clone(), shard, Told::clone(&hears), ends.clone()) {
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
            () = tokio::time::sleep(RENEW_INTERVAL) => {}
        }
    }
    if let Err(error) = nod.release_leader_lease(&name, holder).await {
        tracing::warn!(%error, seat = name, "could not release the shard lease; it will expire");
    }
}
