//! The HTTP client below Google's generated API client: plain http for loopback, otherwise TLS with the system's
//! certificates.

use std::time::Duration;

use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};

pub(super) type Connector = HttpsConnector<HttpConnector>;
pub(super) type HttpClient = google_gmail1::common::Client<Connector>;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Creates a client with its own connection pool.
pub(super) fn client<B>() -> hyper_util::client::legacy::Client<Connector, B>
where
    B: hyper::body::Body + Send,
    B::Data: Send,
{
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
    tcp.set_nodelay(true);
    let connector = HttpsConnectorBuilder::new()
        .with_tls_config(tls())
        .https_or_http()
        .enable_http1()
        .wrap_connector(tcp);
    hyper_util::client::legacy::Client::builder(TokioExecutor::new())
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(IDLE_TIMEOUT)
        .build(connector)
}

/// Without certificates on the machine, the demo on loopback still works, but no https server is trusted, not even
/// Google.
fn tls() -> ClientConfig {
    match ClientConfig::builder().with_native_roots() {
        Ok(config) => config.with_no_client_auth(),
        Err(error) => {
            tracing::warn!(%error, "no certificate store on this machine: https requests will fail");
            ClientConfig::builder().with_root_certificates(RootCertStore::empty()).with_no_client_auth()
        }
    }
}
