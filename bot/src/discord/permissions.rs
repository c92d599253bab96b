//! Who can read a channel (<https://discord.com/developers/docs/topics/permissions>).

use serde_json::Value;

const ADMINISTRATOR: u64 = 1 << 3;
const VIEW_CHANNEL: u64 = 1 << 10;
const READ_HISTORY: u64 = 1 << 16;

/// Returns whether a member sees a channel and its history. `guild` contains the owner and the roles.
pub(super) fn may_read(guild: &Value, channel: &Value, member: &Value) -> bool {
    let user = &member["user"]["id"];
    if guild["owner_id"] == *user {
        return true;
    }
    let everyone = &guild["id"];
    let has = |role: &Value| role == everyone || list(&member["roles"]).any(|own| own == role);
    let mut may = list(&guild["roles"])
        .filter(|role| has(&role["id"]))
        .fold(0, |may, role| may | bits(&role["permissions"]));
    if may & ADMINISTRATOR != 0 {
        return true;
    }
    // First the overwrites for everyone, then those of all roles together, then the member's.
    let overwrites = || list(&channel["permission_overwrites"]);
    let (mut deny, mut allow) = (0, 0);
    for own in overwrites().filter(|o| o["id"] == *everyone) {
        may = may & !bits(&own["deny"]) | bits(&own["allow"]);
    }
    for own in overwrites().filter(|o| o["type"] == 0 && o["id"] != *everyone && has(&o["id"])) {
        deny |= bits(&own["deny"]);
        allow |= bits(&own["allow"]);
    }
    may = may & !deny | allow;
    for own in overwrites().filter(|o| o["type"] == 1 && o["id"] == *user) {
        may = may & !bits(&own["deny"]) | bits(&own["allow"]);
    }
    may & VIEW_CHANNEL != 0 && may & READ_HISTORY != 0
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn bits(value: &Value) -> u64 {
    value.as_str().and_then(|bits| bits.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn who_may_read() {
        let both = (VIEW_CHANNEL | READ_HISTORY).to_string();
        let guild = |everyone: &str| {
            json!({"id": "1", "owner_id": "9", "roles": [
                {"id": "1", "permissions": everyone}, {"id": "5", "permissions": "0"},
                {"id": "6", "permissions": ADMINISTRATOR.to_string()}]})
        };
        let member = |user: &str, roles: &[&str]| json!({"user": {"id": user}, "roles": roles});
        let open = json!({});
        let hidden = json!({"permission_overwrites": [{"id": "1", "type": 0, "deny": both, "allow": "0"}]});
        let for_role = json!({"permission_overwrites": [
            {"id": "1", "type": 0, "deny": both, "allow": "0"}, {"id": "5", "type": 0, "deny": "0", "allow": both}]});
        let but_one = json!({"permission_overwrites": [{"id": "2", "type": 1, "deny": both, "allow": "0"}]});
        for (what, everyone, channel, member, may) in [
            ("open to all", both.as_str(), &open, member("2", &[]), true),
            ("nothing is open", "0", &open, member("2", &[]), false),
            ("the owner", "0", &hidden, member("9", &[]), true),
            ("an administrator", "0", &hidden, member("2", &["6"]), true),
            ("hidden", both.as_str(), &hidden, member("2", &[]), false),
            ("by a role", both.as_str(), &for_role, member("2", &["5"]), true),
            ("without the role", both.as_str(), &for_role, member("2", &[]), false),
            ("shut out alone", both.as_str(), &but_one, member("2", &[]), false),
            ("another is shut out", both.as_str(), &but_one, member("3", &[]), true),
        ] {
            assert_eq!(may_read(&guild(everyone), channel, &member), may, "{what}");
        }
    }
}
