//! Time zones by the names that people use: IANA's, cities, and abbreviations such as CET if they have one meaning.

use jiff::Zoned;
use jiff::tz::{Offset, TimeZone};

use super::TimeError;

/// What a zone's name can mean.
#[derive(Debug, Clone)]
pub(super) enum NamedZone {
    /// The time of one place, in any season.
    Place(TimeZone),
    /// An abbreviation of one offset ("CET"), and its place. People also write it in the wrong season.
    Letters { place: TimeZone, offset: Offset },
    /// An abbreviation that several places use, with their names.
    Either(String, Vec<(TimeZone, &'static str)>),
}

/// Abbreviation, minutes east of UTC, and a place that uses it.
const LETTERS: &[(&str, i32, &str)] = &[
    ("pst", -480, "America/Los_Angeles"),
    ("pdt", -420, "America/Los_Angeles"),
    ("mst", -420, "America/Denver"),
    ("mdt", -360, "America/Denver"),
    ("cdt", -300, "America/Chicago"),
    ("est", -300, "America/New_York"),
    ("edt", -240, "America/New_York"),
    ("nst", -210, "America/St_Johns"),
    ("ndt", -150, "America/St_Johns"),
    ("akst", -540, "America/Anchorage"),
    ("akdt", -480, "America/Anchorage"),
    ("hst", -600, "Pacific/Honolulu"),
    ("brt", -180, "America/Sao_Paulo"),
    ("wet", 0, "Europe/Lisbon"),
    ("west", 60, "Europe/Lisbon"),
    ("cet", 60, "Europe/Berlin"),
    ("cest", 120, "Europe/Berlin"),
    ("eet", 120, "Europe/Helsinki"),
    ("eest", 180, "Europe/Helsinki"),
    ("msk", 180, "Europe/Moscow"),
    ("sast", 120, "Africa/Johannesburg"),
    ("eat", 180, "Africa/Nairobi"),
    ("pkt", 300, "Asia/Karachi"),
    ("npt", 345, "Asia/Kathmandu"),
    ("hkt", 480, "Asia/Hong_Kong"),
    ("sgt", 480, "Asia/Singapore"),
    ("awst", 480, "Australia/Perth"),
    ("jst", 540, "Asia/Tokyo"),
    ("kst", 540, "Asia/Seoul"),
    ("acst", 570, "Australia/Adelaide"),
    ("acdt", 630, "Australia/Adelaide"),
    ("aest", 600, "Australia/Sydney"),
    ("aedt", 660, "Australia/Sydney"),
    ("nzst", 720, "Pacific/Auckland"),
    ("nzdt", 780, "Pacific/Auckland"),
];

/// Abbreviations with several meanings.
const AMBIGUOUS_ABBREVIATIONS: &[(&str, &[(&str, &str)])] = &[
    ("ist", &[("Asia/Kolkata", "India"), ("Asia/Jerusalem", "Israel"), ("Europe/Dublin", "Ireland")]),
    ("cst", &[("America/Chicago", "US Central"), ("Asia/Shanghai", "China"), ("America/Havana", "Cuba")]),
    ("bst", &[("Europe/London", "Britain"), ("Asia/Dhaka", "Bangladesh")]),
    ("ast", &[("America/Halifax", "Atlantic Canada"), ("Asia/Riyadh", "Arabia")]),
    ("gst", &[("Asia/Dubai", "the Gulf"), ("Atlantic/South_Georgia", "South Georgia")]),
    ("sst", &[("Asia/Singapore", "Singapore"), ("Pacific/Pago_Pago", "Samoa")]),
];

/// What people call a place's time if IANA has another name for it.
const PLACES: &[(&str, &str)] = &[
    ("et", "America/New_York"),
    ("eastern", "America/New_York"),
    ("us eastern", "America/New_York"),
    ("ct", "America/Chicago"),
    ("central", "America/Chicago"),
    ("us central", "America/Chicago"),
    ("mt", "America/Denver"),
    ("mountain", "America/Denver"),
    ("pt", "America/Los_Angeles"),
    ("pacific", "America/Los_Angeles"),
    ("us pacific", "America/Los_Angeles"),
    ("uk", "Europe/London"),
    ("british", "Europe/London"),
    ("irish", "Europe/Dublin"),
    ("german", "Europe/Berlin"),
    ("germany", "Europe/Berlin"),
    ("french", "Europe/Paris"),
    ("france", "Europe/Paris"),
    ("spain", "Europe/Madrid"),
    ("italy", "Europe/Rome"),
    ("poland", "Europe/Warsaw"),
    ("switzerland", "Europe/Zurich"),
    ("austria", "Europe/Vienna"),
    ("india", "Asia/Kolkata"),
    ("indian", "Asia/Kolkata"),
    ("japan", "Asia/Tokyo"),
    ("china", "Asia/Shanghai"),
    ("korea", "Asia/Seoul"),
    ("israel", "Asia/Jerusalem"),
    ("nepal", "Asia/Kathmandu"),
    ("zürich", "Europe/Zurich"),
    ("geneva", "Europe/Zurich"),
    ("munich", "Europe/Berlin"),
    ("hamburg", "Europe/Berlin"),
    ("frankfurt", "Europe/Berlin"),
    ("cologne", "Europe/Berlin"),
    ("barcelona", "Europe/Madrid"),
    ("milan", "Europe/Rome"),
    ("lyon", "Europe/Paris"),
    ("edinburgh", "Europe/London"),
    ("manchester", "Europe/London"),
    ("kiev", "Europe/Kyiv"),
    ("new york city", "America/New_York"),
    ("nyc", "America/New_York"),
    ("boston", "America/New_York"),
    ("washington", "America/New_York"),
    ("philadelphia", "America/New_York"),
    ("atlanta", "America/New_York"),
    ("miami", "America/New_York"),
    ("montreal", "America/Toronto"),
    ("ottawa", "America/Toronto"),
    ("houston", "America/Chicago"),
    ("dallas", "America/Chicago"),
    ("austin", "America/Chicago"),
    ("salt lake city", "America/Denver"),
    ("calgary", "America/Edmonton"),
    ("san francisco", "America/Los_Angeles"),
    ("sf", "America/Los_Angeles"),
    ("la", "America/Los_Angeles"),
    ("san diego", "America/Los_Angeles"),
    ("seattle", "America/Los_Angeles"),
    ("portland", "America/Los_Angeles"),
    ("las vegas", "America/Los_Angeles"),
    ("são paulo", "America/Sao_Paulo"),
    ("rio", "America/Sao_Paulo"),
    ("rio de janeiro", "America/Sao_Paulo"),
    ("mumbai", "Asia/Kolkata"),
    ("delhi", "Asia/Kolkata"),
    ("new delhi", "Asia/Kolkata"),
    ("bangalore", "Asia/Kolkata"),
    ("bengaluru", "Asia/Kolkata"),
    ("chennai", "Asia/Kolkata"),
    ("hyderabad", "Asia/Kolkata"),
    ("beijing", "Asia/Shanghai"),
    ("shenzhen", "Asia/Shanghai"),
    ("osaka", "Asia/Tokyo"),
    ("kyoto", "Asia/Tokyo"),
    ("abu dhabi", "Asia/Dubai"),
    ("tel aviv", "Asia/Jerusalem"),
    ("hanoi", "Asia/Ho_Chi_Minh"),
    ("saigon", "Asia/Ho_Chi_Minh"),
    ("cape town", "Africa/Johannesburg"),
    ("canberra", "Australia/Sydney"),
    ("wellington", "Pacific/Auckland"),
];

/// Cities whose names mean nothing else, so they need no "in" and no "time".
const CITIES: &[&str] = &[
    "london",
    "dublin",
    "lisbon",
    "madrid",
    "paris",
    "brussels",
    "amsterdam",
    "berlin",
    "zurich",
    "vienna",
    "rome",
    "prague",
    "warsaw",
    "budapest",
    "copenhagen",
    "oslo",
    "stockholm",
    "helsinki",
    "athens",
    "kyiv",
    "istanbul",
    "bucharest",
    "new york",
    "toronto",
    "chicago",
    "denver",
    "los angeles",
    "vancouver",
    "mexico city",
    "bogota",
    "lima",
    "buenos aires",
    "sao paulo",
    "dubai",
    "karachi",
    "kolkata",
    "dhaka",
    "bangkok",
    "jakarta",
    "singapore",
    "hong kong",
    "shanghai",
    "taipei",
    "manila",
    "seoul",
    "tokyo",
    "sydney",
    "melbourne",
    "brisbane",
    "auckland",
    "cairo",
    "lagos",
    "nairobi",
    "johannesburg",
];

/// The regions under which IANA lists cities.
const REGIONS: &[&str] =
    &["Europe", "America", "Asia", "Africa", "Australia", "Pacific", "Atlantic", "Indian"];

/// Returns the zone with that name: IANA's ("Europe/Berlin", "UTC") or a city's ("Berlin", "New York").
///
/// # Errors
/// [`TimeError::UnknownZone`] with similar names.
pub fn find_zone(name: &str) -> Result<TimeZone, TimeError> {
    let name = name.trim();
    let lower = name.to_lowercase();
    find_iana_zone(name)
        .or_else(|| find_alias(&lower))
        .or_else(|| find_city(&lower))
        .ok_or_else(|| unknown_zone_error(name))
}

/// Finds a zone by IANA's name.
fn find_iana_zone(name: &str) -> Option<TimeZone> {
    // jiff also accepts old aliases without a region ("Cuba", "EST"); abbreviations are handled separately.
    let form = name.len() <= 40 && name.contains('/') && !name.starts_with('/') && !name.contains("..");
    match form {
        true => TimeZone::get(name).ok(),
        false => {
            matches!(name.to_lowercase().as_str(), "utc" | "gmt" | "z" | "zulu").then_some(TimeZone::UTC)
        }
    }
}

/// Finds names that mean a place's time in any context.
fn find_alias(name: &str) -> Option<TimeZone> {
    if let Some((_, zone)) = PLACES.iter().find(|(place, _)| *place == name) {
        return TimeZone::get(zone).ok();
    }
    if CITIES.contains(&name) { find_city(name) } else { None }
}

/// Finds a city in IANA's list. Only for words that name a city: Easter, Christmas and Center are listed too.
fn find_city(name: &str) -> Option<TimeZone> {
    let other = matches!(name, "easter" | "christmas" | "midway");
    if other || name.len() < 3 || name.contains('/') || !name.is_ascii() {
        return None;
    }
    let city = name.replace([' ', '-'], "_");
    let nested = ["America/Argentina", "America/Indiana", "America/Kentucky"];
    REGIONS.iter().chain(&nested).find_map(|region| TimeZone::get(&format!("{region}/{city}")).ok())
}

/// Returns what those words, in lower case, mean as a zone, if anything. `told` is set if they are marked as a place:
/// "in Dawson", "Dawson time". `now` is in the requester's zone.
pub(super) fn find_named_zone(words: &str, told: bool, now: &Zoned) -> Option<NamedZone> {
    // A requester in London who writes BST means London's, also in winter about a day in summer.
    let own = || {
        find_own_abbreviation(words, now)
            .map(|offset| NamedZone::Letters { place: now.time_zone().clone(), offset })
    };
    if let Some((letters, places)) = AMBIGUOUS_ABBREVIATIONS.iter().find(|(letters, _)| *letters == words) {
        let places = places.iter().filter_map(|(zone, name)| Some((TimeZone::get(zone).ok()?, *name)));
        return own().or_else(|| Some(NamedZone::Either(letters.to_uppercase(), places.collect())));
    }
    if let Some((_, minutes, place)) = LETTERS.iter().find(|(letters, ..)| *letters == words) {
        let there = || {
            let offset = Offset::from_seconds(minutes * 60).ok()?;
            Some(NamedZone::Letters { place: TimeZone::get(place).ok()?, offset })
        };
        return own().or_else(there);
    }
    let city = || if told { find_city(words) } else { None };
    find_iana_zone(words).or_else(|| find_alias(words)).or_else(city).map(NamedZone::Place)
}

/// Returns the offset that these letters have in the requester's zone, in any season.
fn find_own_abbreviation(letters: &str, now: &Zoned) -> Option<Offset> {
    let (zone, now) = (now.time_zone(), now.timestamp());
    let today = zone.to_offset_info(now);
    if today.abbreviation().eq_ignore_ascii_case(letters) {
        return Some(today.offset());
    }
    let next = zone.following(now).take(2);
    next.into_iter().find(|next| next.abbreviation().eq_ignore_ascii_case(letters)).map(|next| next.offset())
}

/// The error for an unknown name, with similar ones.
pub(super) fn unknown_zone_error(name: &str) -> TimeError {
    let shown: String = name.chars().take(60).collect();
    let wanted = shown.to_lowercase().replace(' ', "_");
    let mut near: Vec<(f64, String)> = jiff::tz::db()
        .available()
        .map(|zone| zone.as_str().to_owned())
        .filter(|zone| REGIONS.iter().any(|region| zone.starts_with(region)))
        .map(|zone| {
            let whole = zone.to_lowercase();
            let city = whole.rsplit('/').next().unwrap_or_default().to_owned();
            let typed = wanted.rsplit('/').next().unwrap_or_default();
            let likeness = strsim::jaro_winkler(&city, typed).max(strsim::jaro_winkler(&whole, &wanted));
            (likeness, zone)
        })
        .filter(|(likeness, _)| *likeness >= 0.85)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    near.truncate(3);
    TimeError::UnknownZone { name: shown, suggestions: near.into_iter().map(|(_, zone)| zone).collect() }
}
