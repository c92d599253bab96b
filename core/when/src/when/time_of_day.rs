//! Hours of a day: the meaning of "3", "9–5" and "evening".

use jiff::civil::Time;

use super::TimeError;

/// A time of day as written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClockTime {
    pub(super) hour: i8,
    pub(super) minute: i8,
    pub(super) half: DayHalf,
}

/// Which half of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DayHalf {
    Am,
    Pm,
    /// On the 24-hour clock: "15:00", "03:00".
    TwentyFourHour,
    /// Not given.
    Unspecified,
}

/// The hours of a phrase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpokenHours {
    At(ClockTime),
    Range(ClockTime, ClockTime),
    /// "ten to five": ten minutes before five, or from ten until five.
    Either(ClockTime, (ClockTime, ClockTime)),
    Between(ClockTime, ClockTime),
    After(ClockTime),
    Before(ClockTime),
    Midnight,
    EndOfDay,
}

/// A part of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Morning,
    Lunch,
    Afternoon,
    Evening,
    Night,
}

impl Part {
    /// Start and end hour; 24 is the next midnight.
    pub(super) fn hours(self) -> (i8, i8) {
        match self {
            Self::Morning => (8, 12),
            Self::Lunch => (12, 14),
            Self::Afternoon => (12, 18),
            Self::Evening => (18, 22),
            Self::Night => (18, 24),
        }
    }
}

/// Start and end; `true` if it ends on the next day.
pub(super) type ClockSpan = (Time, Time, bool);

impl ClockTime {
    /// Fails if there is no such time.
    pub(super) fn new(hour: i64, minute: i64, half: DayHalf) -> Result<Self, TimeError> {
        let twelve = matches!(half, DayHalf::Am | DayHalf::Pm);
        let hours = if twelve { 1..=12 } else { 0..=23 };
        if !hours.contains(&hour) || !(0..=59).contains(&minute) {
            let half = match half {
                DayHalf::Am => " am",
                DayHalf::Pm => " pm",
                _ => "",
            };
            let said =
                if minute == 0 { format!("{hour}{half}") } else { format!("{hour}:{minute:02}{half}") };
            return Err(TimeError::not_understood(format!("“{said}” isn't a time of day.")));
        }
        let half = if half == DayHalf::Unspecified && (hour == 0 || hour > 12) {
            DayHalf::TwentyFourHour
        } else {
            half
        };
        Ok(Self { hour: hour as i8, minute: minute as i8, half })
    }

    fn am(self) -> Time {
        time(self.hour % 12, self.minute)
    }

    fn pm(self) -> Time {
        time(self.hour % 12 + 12, self.minute)
    }

    /// Returns all readings.
    fn both_readings(self) -> Vec<Time> {
        match self.half {
            DayHalf::Am => vec![self.am()],
            DayHalf::Pm => vec![self.pm()],
            DayHalf::TwentyFourHour => vec![time(self.hour, self.minute)],
            DayHalf::Unspecified => vec![self.am(), self.pm()],
        }
    }

    /// Applies the rules at the head of [`super`]; returns two times if they ask.
    pub(super) fn candidate_times(self, part: Option<Part>) -> Vec<Time> {
        if self.half != DayHalf::Unspecified {
            return self.both_readings();
        }
        match (part, self.hour) {
            (Some(Part::Morning), _) | (Some(Part::Night), 1..=4) => vec![self.am()],
            (Some(Part::Night), 12) => vec![self.am()],
            (Some(_), _) => vec![self.pm()],
            (None, 8..=11) => vec![self.am()],
            (None, 6 | 7) => self.both_readings(),
            (None, _) => vec![self.pm()],
        }
    }

    /// Returns the assumption that [`Self::candidate_times`] made.
    pub(super) fn assumption(self, part: Option<Part>) -> Option<String> {
        if self.half != DayHalf::Unspecified || part.is_some() || matches!(self.hour, 6 | 7) {
            return None;
        }
        let said = if self.minute == 0 { format!("{}", self.hour) } else { self.twelve() };
        let taken = self.candidate_times(part)[0].strftime("%H:%M");
        Some(format!("“{said}” without am or pm: I took {taken}, within working hours"))
    }

    fn twelve(self) -> String {
        format!("{}:{:02}", self.hour, self.minute)
    }

    /// "6 can be in the morning or in the evening."
    pub(super) fn am_pm_question(self) -> String {
        let said = if self.minute == 0 { format!("{}", self.hour) } else { self.twelve() };
        format!("{said} could be morning or evening.")
    }
}

/// Returns the shortest range between them.
pub(super) fn range(from: ClockTime, to: ClockTime, part: Option<Part>) -> Result<Vec<ClockSpan>, TimeError> {
    let whole = |clock: ClockTime, other: ClockTime| match (clock.half, other.half) {
        (DayHalf::Unspecified, DayHalf::TwentyFourHour) => {
            ClockTime { half: DayHalf::TwentyFourHour, ..clock }
        }
        _ => clock,
    };
    let (from, to) = (whole(from, to), whole(to, from));
    let starts = if from.half == DayHalf::Unspecified && to.half != DayHalf::Unspecified {
        from.both_readings()
    } else {
        from.candidate_times(part)
    };
    let shortest = |start: Time| {
        to.both_readings().into_iter().min_by_key(|end| minutes_between(start, *end)).map(|e| (start, e))
    };
    let mut both: Vec<(Time, Time)> = starts.into_iter().filter_map(shortest).collect();
    if to.half != DayHalf::Unspecified {
        both.sort_by_key(|(start, end)| minutes_between(*start, *end));
        both.truncate(1);
    }
    both.retain(|(start, end)| minutes_between(*start, *end) <= 14 * 60);
    if both.is_empty() {
        return Err(TimeError::not_understood("That ends before it starts."));
    }
    Ok(both.into_iter().map(|(start, end)| (start, end, end <= start)).collect())
}

/// Returns the minutes to the next occurrence of `to`.
fn minutes_between(from: Time, to: Time) -> i64 {
    let minutes = |time: Time| i64::from(time.hour()) * 60 + i64::from(time.minute());
    let between = minutes(to) - minutes(from);
    if between <= 0 { between + 24 * 60 } else { between }
}

fn time(hour: i8, minute: i8) -> Time {
    Time::new(hour, minute, 0, 0).unwrap_or(Time::midnight())
}
