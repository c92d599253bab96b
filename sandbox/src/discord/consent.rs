//! The OAuth consent page, on which a person allows the app to read their identity. The browser has no signed-in user
//! here, so the page also asks who signs in.

use std::fmt::Write;

use super::entities::User;
use super::oauth::Fields;
use super::world::World;

impl World {
    /// Renders the page. Hidden fields repeat the parameters, which are validated again with the answer.
    pub(super) fn consent_page(&self, asked: &Fields) -> String {
        let mut fields = String::new();
        for (name, value) in asked {
            let _ = write!(
                fields,
                "<input type=\"hidden\" name=\"{}\" value=\"{}\">",
                escaped(name),
                escaped(value)
            );
        }
        let people = self.members().filter(|u| !u.is_bot);
        let people: String = people.enumerate().map(|(n, user)| self.person(user, n == 0)).collect();
        let app = escaped(&self.name(self.bot()));
        let back = asked.get("redirect_uri").and_then(|uri| url::Url::parse(uri).ok());
        let back = escaped(back.as_ref().and_then(url::Url::host_str).unwrap_or_default());
        format!(
            r#"<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Authorize {app} · Discord, played</title>
<style>{STYLE}</style>
<main>
<form>
{fields}
<h1><small>An application</small>{app}</h1>
<p>wants to access a Discord account. Discord is played by a sandbox on this machine: choose who signs in.</p>
<fieldset><legend>Signed in as</legend>{people}</fieldset>
<p><strong>This will allow {app} to</strong><br>✓ see the username and the display name<br>
<span class="no">✗ read or send anything as that person</span></p>
<p class="fine">Afterwards you are led back to {back}.</p>
<div class="ends"><button formnovalidate name="as" value="">Cancel</button><button class="main" id="go">Authorize</button></div>
</form>
</main>
</html>"#
        )
    }

    fn person(&self, user: &User, first: bool) -> String {
        let (handle, name) =
            (escaped(&user.name), escaped(user.global_name.as_deref().unwrap_or(&user.name)));
        let checked = if first { " checked" } else { "" };
        format!(
            r#"<label><input type="radio" name="as" value="{handle}"{checked} required> {name} <small>{handle}</small></label>"#
        )
    }
}

const STYLE: &str = "\
:root{color-scheme:dark}\
body{margin:0;min-height:100dvh;display:grid;place-items:center;background:#1e1f22;color:#dbdee1;font:16px/1.45 system-ui,sans-serif}\
main{width:min(28rem,calc(100vw - 3rem));padding:1.5rem;border-radius:.6rem;background:#313338;box-shadow:0 8px 30px #0008}\
h1{margin:0;text-align:center;color:#fff;font-size:1.4rem}h1 small{display:block;color:#b5bac1;font-size:.9rem;font-weight:400}\
fieldset{margin:0;padding:.3rem;border:1px solid #4e5058;border-radius:.4rem}legend{padding:0 .4rem;color:#b5bac1;font-size:.8rem}\
label{display:block;padding:.45rem .6rem;border-radius:.3rem}label:hover{background:#3f4147}label small,.no,.fine{color:#b5bac1}\
input{accent-color:#5865f2}.fine{font-size:.85rem}\
.ends{display:flex;justify-content:space-between}\
button{padding:.6rem 1.3rem;border:0;border-radius:.3rem;background:none;color:#fff;font:inherit;cursor:pointer}\
.main{background:#5865f2}.main:hover{background:#4752c4}:focus-visible{outline:2px solid #00a8fc}";

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
