//! Addresses: who is at home where an account is, and who is outside.

/// Providers at which anybody has an address: whoever else is there is no colleague for it.
pub(crate) const PUBLIC_MAIL_DOMAINS: [&str; 8] = [
    "gmail.com",
    "googlemail.com",
    "outlook.com",
    "live.com",
    "icloud.com",
    "proton.me",
    "protonmail.com",
    "aol.com",
];

/// The same under the endings of many countries.
pub(crate) const PUBLIC_MAIL_NAMES: [&str; 3] = ["gmx", "yahoo", "hotmail"];

pub fn domain(address: &str) -> String {
    address.rsplit('@').next().unwrap_or_default().to_lowercase()
}

/// The domain at which an account's colleagues have their addresses; `None` where anybody may have one there.
pub fn organisation_domain(account: &str) -> Option<String> {
    let home = domain(account);
    let provider = home.split('.').next().unwrap_or_default();
    let free = PUBLIC_MAIL_DOMAINS.contains(&home.as_str()) || PUBLIC_MAIL_NAMES.contains(&provider);
    (!free).then_some(home)
}

/// Whether somebody else's address is not at the account's home.
#[must_use]
pub fn is_outside(address: &str, account: &str) -> bool {
    !address.eq_ignore_ascii_case(account) && Some(domain(address)) != organisation_domain(account)
}
