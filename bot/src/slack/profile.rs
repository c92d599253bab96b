//! Converts Slack's users to profiles. Pure.

use nod_contract::chat::{Membership, Profile};
use serde_json::Value;

/// Slackbot looks like a person in every field.
const SLACKBOT: &str = "USLACKBOT";

/// Parses a user object; `None` without an id.
pub(super) fn read(user: &Value, team: &str) -> Option<Profile> {
    let id = user["id"].as_str()?;
    let told = |value: &Value| {
        let text = value.as_str().map(str::trim).filter(|text| !text.is_empty());
        text.map(str::to_owned)
    };
    let profile = &user["profile"];
    let handle = told(&user["name"]).unwrap_or_else(|| id.to_owned());
    let real = told(&profile["real_name"]).or_else(|| told(&user["real_name"]));
    Some(Profile {
        user: id.to_owned(),
        name: told(&profile["display_name"]).or_else(|| real.clone()).unwrap_or_else(|| handle.clone()),
        full_name: real.unwrap_or(handle),
        title: told(&profile["title"]),
        email: told(&profile["email"]),
        zone: told(&user["tz"]),
        membership: standing(user, team),
    })
}

fn standing(user: &Value, team: &str) -> Membership {
    let yes = |field: &str| user[field] == true;
    let elsewhere = user["team_id"].as_str().is_some_and(|other| other != team);
    if yes("is_bot") || yes("is_workflow_bot") || user["id"] == SLACKBOT {
        Membership::Bot
    } else if yes("deleted") {
        Membership::Deactivated
    } else if yes("is_stranger") || elsewhere {
        Membership::External
    } else if yes("is_restricted") || yes("is_ultra_restricted") {
        Membership::Guest
    } else {
        Membership::Member
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn memberships_are_parsed() {
        for (fields, expected) in [
            (json!({"team_id": "T1"}), Membership::Member),
            (json!({}), Membership::Member),
            (json!({"is_bot": true, "deleted": true}), Membership::Bot),
            (json!({"id": "USLACKBOT"}), Membership::Bot),
            (json!({"deleted": true}), Membership::Deactivated),
            (json!({"team_id": "T2"}), Membership::External),
            (json!({"is_stranger": true, "is_restricted": true}), Membership::External),
            (json!({"is_restricted": true}), Membership::Guest),
            (json!({"is_ultra_restricted": true}), Membership::Guest),
        ] {
            let mut user = json!({"id": "U1"});
            if let (Some(user), Some(fields)) = (user.as_object_mut(), fields.as_object()) {
                user.extend(fields.clone());
            }
            assert_eq!(read(&user, "T1").map(|p| p.membership), Some(expected), "{fields}");
        }
    }

    #[test]
    fn names_fall_back_to_what_is_there() {
        let user =
            json!({"id": "U1", "name": "ana", "profile": {"display_name": "", "real_name": "Ana Ruiz"}});
        let profile = read(&user, "T1").expect("a profile");
        assert_eq!((profile.name.as_str(), profile.full_name.as_str()), ("Ana Ruiz", "Ana Ruiz"));
        assert_eq!((profile.title, profile.email, profile.zone), (None, None, None));
        assert_eq!(read(&json!({"id": "U1"}), "T1").expect("a profile").name, "U1");
        assert_eq!(read(&json!(null), "T1"), None);
    }
}
