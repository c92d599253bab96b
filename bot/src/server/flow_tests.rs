//! The whole flow of a browser, with a real database and a Google on loopback.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{COOKIE, LOCATION, SET_COOKIE};
use axum::http::{HeaderMap, Request};
use axum::{Router, http::StatusCode};
use chrono::TimeDelta;
use http_body_util::BodyExt;
use nod_accounts::connection::Grantor;
use nod_connectors::google::{GoogleOAuth, GoogleSettings};
use nod_connectors::llm::{OpenAi, TierSettings};
use nod_contract::chat::Adapters;
use nod_contract::clock::{Clock, SystemClock};
use nod_contract::ids::{Ids, SystemIds};
use nod_inbox::{Dependencies, Nod, Settings};
use nod_people::reading::{Program, Readers};
use nod_sandbox::google::{Account, Google, GoogleConfig};
use nod_store::vault::Vault;
use secrecy::SecretString;
use sqlx::PgPool;
use tower::ServiceExt;
use url::Url;
use uuid::Uuid;

use super::{ConnectPages, Readiness, router};
use crate::config::Config;
use crate::database::{self, Database};

const CALLBACK: &str = "https://nod.acme.test/oauth/google/callback";

struct Fixture {
    _folder: tempfile::TempDir,
    database: Database,
    google: Google,
    vault: Vault,
    tenant: Uuid,
    router: Router,
}

/// What a browser sees of a response.
struct BrowserResponse {
    status: StatusCode,
    headers: HeaderMap,
    page: String,
}

impl BrowserResponse {
    fn location(&self) -> String {
        self.headers[LOCATION].to_str().unwrap().to_owned()
    }

    fn cookie(&self) -> String {
        self.headers[SET_COOKIE].to_str().unwrap().split(';').next().unwrap().to_owned()
    }
}

impl Fixture {
    async fn new() -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        let env = [("NOD_DATA__DIR".to_owned(), folder.path().display().to_string())];
        let config = Config::load(Some("/dev/null".as_ref()), env.into_iter()).unwrap();
        let database = Database::open(&config).await.unwrap();
        database::migrate(&database.pool).await.unwrap();
        let vault = config.vault(&SystemIds).unwrap();
        let google = Google::start(GoogleConfig {
            accounts: vec![Account::new("ana@acme.test", "Ana"), Account::new("ana@home.test", "Ana")],
            redirect_uris: vec![CALLBACK.to_owned()],
            ..GoogleConfig::default()
        })
        .await
        .unwrap();
        let settings = Settings::default();
        let tenant = settings.tenant.0;
        let nod = nod(database.pool.clone(), vault.clone(), settings, oauth(&google)).await;
        let connecting = ConnectPages {
            offers: nod.connect_requests(),
            google: oauth(&google),
            discord: None,
            clock: Arc::new(SystemClock),
            https: true,
        };
        let router = router(Readiness::new(database.pool.clone()), Some(connecting), Router::new());
        Self { _folder: folder, database, google, vault, tenant, router }
    }

    /// Creates a connect request for Ana; returns the token of her link.
    async fn create_link(&self, valid: TimeDelta) -> String {
        let (pool, tenant, now) = (&self.database.pool, self.tenant, SystemClock.now());
        let [person, channel, case, offer] = [(); 4].map(|()| SystemIds.next());
        for query in [
            sqlx::query(
                "insert into people (tenant_id, id, name, full_name, email, membership, created_at)
                 values ($1, $2, 'ana', 'Ana Ruiz', 'ana@acme.test', 'member', $3)",
            )
            .bind(tenant)
            .bind(person)
            .bind(now),
            sqlx::query(
                "insert into identities (tenant_id, platform, workspace, user_ref, person_id, membership)
                 values ($1, 'slack', 'T1', $2::text, $2, 'member')",
            )
            .bind(tenant)
            .bind(person),
            sqlx::query(
                "insert into channels (tenant_id, id, platform, workspace, channel_ref, is_dm, created_at)
                 values ($1, $2, 'slack', 'T1', $2::text, true, $3)",
            )
            .bind(tenant)
            .bind(channel)
            .bind(now),
            sqlx::query(
                "insert into conversations (tenant_id, id, channel_id, thread_ref, created_at)
                 values ($1, $2, $3, '', $4)",
            )
            .bind(tenant)
            .bind(case)
            .bind(channel)
            .bind(now),
            sqlx::query(
                "insert into connect_requests (tenant_id, id, person_id, provider, conversation_id, status, expires_at,
                   created_at)
                 values ($1, $2, $3, 'google', $4, 'open', $5, $6)",
            )
            .bind(tenant)
            .bind(offer)
            .bind(person)
            .bind(case)
            .bind(now + valid)
            .bind(now),
        ] {
            query.execute(pool).await.unwrap();
        }
        format!("{}.{}", offer.simple(), self.vault.sign(&format!("offer/{offer}")))
    }

    async fn send(&self, request: Request<Body>) -> BrowserResponse {
        let (parts, body) = self.router.clone().oneshot(request).await.unwrap().into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let page = String::from_utf8(bytes.to_vec()).unwrap();
        BrowserResponse { status: parts.status, headers: parts.headers, page }
    }

    async fn open_link(&self, token: &str) -> BrowserResponse {
        let path = format!("/oauth/google/start?t={token}");
        self.send(Request::get(path).body(Body::empty()).unwrap()).await
    }

    async fn submit_link(&self, token: &str) -> BrowserResponse {
        let request = Request::post("/oauth/google/start")
            .header("content-type", "application/x-www-form-urlencoded")
            .header("sec-fetch-site", "same-origin");
        self.send(request.body(Body::from(format!("t={token}"))).unwrap()).await
    }

    /// Calls the callback, with the cookie that the browser received before.
    async fn follow_callback(&self, address: &str, cookie: Option<&str>) -> BrowserResponse {
        let url = Url::parse(address).unwrap();
        assert!(address.starts_with(CALLBACK), "{address}");
        let mut request = Request::get(format!("{}?{}", url.path(), url.query().unwrap()));
        if let Some(cookie) = cookie {
            request = request.header(COOKIE, cookie);
        }
        self.send(request.body(Body::empty()).unwrap()).await
    }

    async fn accounts(&self) -> Vec<String> {
        let query = sqlx::query_scalar("select account from connections");
        query.fetch_all(&self.database.pool).await.unwrap()
    }
}

fn oauth(google: &Google) -> GoogleOAuth {
    let url = |text: String| Url::parse(&text).unwrap();
    let given = GoogleConfig::default();
    GoogleOAuth::new(&GoogleSettings {
        client_id: given.client_id,
        client_secret: SecretString::from(given.client_secret),
        auth_url: url(google.auth_url()),
        token_url: url(google.token_url()),
        revoke_url: url(format!("{}/revoke", google.url())),
        gmail_url: url(format!("{}/", google.url())),
        redirect_url: url(CALLBACK.to_owned()),
    })
    .unwrap()
}

/// The core, of which only the connect requests are used; its model is never called.
async fn nod(pool: PgPool, vault: Vault, settings: Settings, google: GoogleOAuth) -> Nod {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let tier = TierSettings {
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        api_key: SecretString::from(""),
        model: "none".to_owned(),
        temperature: None,
        timeout: std::time::Duration::from_secs(1),
        max_tokens: None,
        dialect: nod_connectors::llm::Dialect::default(),
        fallback: None,
    };
    let model = Arc::new(OpenAi::new(tier.clone(), tier.clone(), tier, clock.clone()).unwrap());
    let (adapters, abilities) = (Adapters::new([]), Vec::new());
    let ids = Arc::new(SystemIds);
    let (contacts, door) = (Vec::new(), pool.clone());
    let grantors: Vec<Arc<dyn Grantor>> = vec![Arc::new(google)];
    let reading = Arc::new(Readers::new(Program::new(None), pool.clone(), clock.clone()));
    Nod::new(Dependencies {
        ingest_pool: door,
        pool,
        clock,
        ids,
        adapters,
        abilities,
        contacts,
        reading,
        grantors,
        model,
        vault,
        settings,
    })
    .await
    .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_connects_the_one_account_it_was_made_for() {
    let at = Fixture::new().await;
    let token = at.create_link(TimeDelta::hours(1)).await;
    for _ in 0..2 {
        let page = at.open_link(&token).await.page;
        assert!(page.contains("Ana Ruiz") && page.contains("ana@acme.test"), "{page}");
    }
    let sent = at.submit_link(&token).await;
    assert_eq!(sent.status, StatusCode::SEE_OTHER);
    assert!(sent.location().contains("login_hint=ana%40acme.test"), "{}", sent.location());
    let back = at.google.consent(&sent.location(), "ana@acme.test", None).unwrap();

    let elsewhere = at.follow_callback(&back, None).await;
    assert!(elsewhere.page.contains("started in another browser"), "{}", elsewhere.page);
    assert!(at.accounts().await.is_empty());
    let done = at.follow_callback(&back, Some(&sent.cookie())).await;
    assert!(done.page.contains("Nod can now use ana@acme.test"), "{}", done.page);
    assert!(done.headers[SET_COOKIE].to_str().unwrap().contains("Max-Age=0"));
    assert_eq!(at.accounts().await, ["ana@acme.test"]);

    let again = at.follow_callback(&back, Some(&sent.cookie())).await;
    assert_eq!(again.status, StatusCode::GONE, "{}", again.page);
    assert_eq!(at.submit_link(&token).await.status, StatusCode::GONE);
    assert_eq!(at.open_link(&token).await.status, StatusCode::GONE);
    at.database.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_account_empty_consent_and_refusal_connect_nothing() {
    let at = Fixture::new().await;
    for (consent, sentence) in [
        ("ana@home.test", "You signed in as ana@home.test, but this link is for ana@acme.test."),
        ("nothing", "No permission was ticked"),
        ("no", "You said no, so nothing was connected."),
    ] {
        let sent = at.submit_link(&at.create_link(TimeDelta::hours(1)).await).await;
        let back = match consent {
            "no" => at.google.refuse_consent(&sent.location()),
            "nothing" => at.google.consent(&sent.location(), "ana@acme.test", Some(&[])),
            email => at.google.consent(&sent.location(), email, None),
        };
        let seen = at.follow_callback(&back.unwrap(), Some(&sent.cookie())).await;
        assert!(seen.page.contains(sentence) && seen.page.contains("Not connected"), "{}", seen.page);
    }
    assert!(at.accounts().await.is_empty());
    at.database.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_forged_and_foreign_links_are_rejected() {
    let at = Fixture::new().await;
    let old = at.create_link(TimeDelta::seconds(-1)).await;
    assert_eq!(at.open_link(&old).await.status, StatusCode::GONE);
    assert_eq!(at.submit_link(&old).await.status, StatusCode::GONE);
    let good = at.create_link(TimeDelta::hours(1)).await;
    let (id, code) = good.split_once('.').unwrap();
    let forged = format!("{id}.{}", code.chars().rev().collect::<String>());
    for token in ["", "nonsense", forged.as_str()] {
        assert_eq!(at.open_link(token).await.status, StatusCode::NOT_FOUND, "{token}");
        assert_eq!(at.submit_link(token).await.status, StatusCode::NOT_FOUND, "{token}");
    }
    let request = Request::post("/oauth/google/start")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "cross-site");
    let pressed = at.send(request.body(Body::from(format!("t={good}"))).unwrap()).await;
    assert_eq!(pressed.status, StatusCode::BAD_REQUEST);
    assert_eq!(at.submit_link(&good).await.status, StatusCode::SEE_OTHER, "the link is still good");
    at.database.close().await;
}
