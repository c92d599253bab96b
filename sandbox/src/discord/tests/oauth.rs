use serde_json::Value;

use super::{Raw, acme};

#[tokio::test]
async fn a_person_tells_who_he_is() {
    let mut config = acme();
    config.app.redirects = vec!["http://127.0.0.1:1/back".into()];
    let secret = config.app.client_secret.clone();
    let raw = Raw::start(config).await;
    let root = raw.discord.root_url();
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let (app, back) = (raw.app(), "http://127.0.0.1:1/back");
    let asked = [
        ("client_id", app.as_str()),
        ("redirect_uri", back),
        ("response_type", "code"),
        ("scope", "identify"),
        ("state", "s1"),
        ("as", "ana"),
    ];
    let agreed = http.get(format!("{root}/oauth2/authorize")).query(&asked).send().await.unwrap();
    let url = url::Url::parse(agreed.headers()["location"].to_str().unwrap()).unwrap();
    let answers: std::collections::BTreeMap<_, _> = url.query_pairs().into_owned().collect();
    assert_eq!(answers["state"], "s1");
    let form = [
        ("client_id", app.as_str()),
        ("client_secret", secret.as_str()),
        ("grant_type", "authorization_code"),
        ("code", answers["code"].as_str()),
        ("redirect_uri", back),
    ];
    let fetch = || raw.http.post(format!("{root}/api/oauth2/token")).form(&form).send();
    let token: Value = fetch().await.unwrap().json().await.unwrap();
    assert_eq!(fetch().await.unwrap().status(), 400);
    let me = raw.http.get(format!("{}/users/@me", raw.discord.url()));
    let me = me.bearer_auth(token["access_token"].as_str().unwrap()).send().await.unwrap();
    assert_eq!(me.json::<Value>().await.unwrap()["username"], "ana");
    raw.clean();
}

#[tokio::test]
async fn the_page_lets_one_choose_who_signs_in_or_nobody() {
    let mut config = acme();
    config.app.redirects = vec!["http://127.0.0.1:1/back".into()];
    let raw = Raw::start(config).await;
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let app = raw.app();
    let mut asked = vec![
        ("client_id", app.as_str()),
        ("redirect_uri", "http://127.0.0.1:1/back"),
        ("response_type", "code"),
        ("scope", "identify"),
        ("state", "\"><script>"),
    ];
    let ask = async |asked: &[(&str, &str)]| {
        let url = format!("{}/oauth2/authorize", raw.discord.root_url());
        http.get(url).query(asked).send().await.unwrap()
    };
    let page = ask(&asked).await.text().await.unwrap();
    assert!(page.contains(r#"name="as" value="ana""#) && page.contains("Bo Stone"), "{page}");
    assert!(!page.contains("Sam Strange") && !page.contains("<script>"), "{page}");
    // As the browser sends it: the selected user, and the button after it.
    asked.extend([("as", "ana"), ("as", "")]);
    let left = ask(&asked).await;
    let back = left.headers()["location"].to_str().unwrap().to_owned();
    assert!(back.contains("error=access_denied") && !back.contains("code="), "{back}");
    raw.clean();
}
