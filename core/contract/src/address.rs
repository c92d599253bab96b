//! Email addresses: which belong to an account's organisation, and which are outside it.

/// Providers where anyone can get an address, so two people with the same domain are not colleagues.
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

/// The same for providers with domains in many countries, by the first label of the domain.
pub(crate) const PUBLIC_MAIL_NAMES: [&str; 3] = ["gmx", "yahoo", "hotmail"];

pub fn domain(address: &str) -> String {
    address.rsplit('@').next().unwrap_or_default().to_lowercase()
}

/// Returns the domain of an account's colleagues; `None` if anyone can have an address there.
pub fn organisation_domain(account: &str) -> Option<String> {
    let home = domain(account);
    let provider = home.split('.').next().unwrap_or_default();
    let free = PUBLIC_MAIL_DOMAINS.contains(&home.as_str()) || PUBLIC_MAIL_NAMES.contains(&provider);
    (!free).then_some(home)
}

/// Returns the addresses in lower case and in order, to compare whom two requests reach.
#[must_use]
pub fn sorted_addresses(addresses: &[String]) -> Vec<String> {
    let mut all: Vec<String> = addresses.iter().map(|one| one.to_lowercase()).collect();
    all.sort();
    all
}

/// Returns whether the address is not the account itself and is outside the account's organisation.
#[must_use]
pub fn is_outside(address: &str, account: &str) -> bool {
    !address.eq_ignore_ascii_case(account) && Some(domain(address)) != organisation_domain(account)
}
