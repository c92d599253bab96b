//! Looks up names. The addresses that are returned are those that are connected to, so a name cannot be public when it is
//! judged and private when it is used.

use std::net::SocketAddr;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::addresses::is_public;

/// A name whose addresses are all private.
#[derive(Debug, thiserror::Error)]
#[error("no public address")]
pub(crate) struct PrivateNetworkError;

pub(crate) struct PublicResolver;

impl Resolve for PublicResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let public: Vec<SocketAddr> = found.filter(|address| is_public(address.ip())).collect();
            if public.is_empty() {
                return Err(PrivateNetworkError.into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}
