//! Phrases with their expected results, in zones of several kinds, and properties that hold for every text.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use proptest::prelude::*;

use super::{ResolvedTime, TimeError, TimeSpec, resolve};
use nod_contract::clock::Timestamp;

/// "# zone, local time" begins a section; an asterisk means that the answer states an assumption.
const TABLE: &str = r#"
# Europe/Berlin 2026-03-04T09:00
next Friday at 3  =>  Fri 13 Mar, 15:00 CET *
Friday at 3  =>  Fri 6 Mar, 15:00 CET *
this Friday at 15:00  =>  Fri 6 Mar, 15:00 CET
next Monday at 10  =>  Mon 9 Mar, 10:00 CET *
next Thursday  =>  Thu 12 Mar *
next Sunday  =>  either: Sun 8 Mar | Sun 15 Mar
on Wednesday  =>  either: Wed 4 Mar | Wed 11 Mar
tomorrow afternoon  =>  within Thu 5 Mar, 12:00–18:00 CET
tomorrow at 3pm  =>  Thu 5 Mar, 15:00 CET
tomorrow 9-10:30  =>  Thu 5 Mar, 09:00–10:30 CET *
tomorrow  =>  Thu 5 Mar
today  =>  Wed 4 Mar
today at 5  =>  Wed 4 Mar, 17:00 CET *
today at 8  =>  past: Wed 4 Mar, 20:00 CET | Thu 5 Mar, 08:00 CET
at 7  =>  Wed 4 Mar, 19:00 CET
at 6  =>  Wed 4 Mar, 18:00 CET
at 3  =>  Wed 4 Mar, 15:00 CET *
3pm  =>  Wed 4 Mar, 15:00 CET
in two weeks  =>  Wed 18 Mar
in 2 weeks at 3  =>  Wed 18 Mar, 15:00 CET *
in a fortnight  =>  Wed 18 Mar
in a month  =>  Sat 4 Apr
in 20 minutes  =>  Wed 4 Mar, 09:20 CET
in half an hour  =>  Wed 4 Mar, 09:30 CET
in an hour and a half  =>  Wed 4 Mar, 10:30 CET
in 1h30  =>  Wed 4 Mar, 10:30 CET
in 3 days  =>  Sat 7 Mar
in three days at noon  =>  Sat 7 Mar, 12:00 CET
2 hours ago  =>  Wed 4 Mar, 07:00 CET
three days ago  =>  Sun 1 Mar
two weeks from now  =>  Wed 18 Mar
two weeks from Friday  =>  Fri 20 Mar
a week on Monday  =>  Mon 16 Mar
Monday 9-10:30  =>  Mon 9 Mar, 09:00–10:30 CET *
Monday 9am-10:30  =>  Mon 9 Mar, 09:00–10:30 CET
Monday from 9 to 10:30  =>  Mon 9 Mar, 09:00–10:30 CET *
Monday between 2 and 4  =>  within Mon 9 Mar, 14:00–16:00 CET *
Monday 2-4pm  =>  Mon 9 Mar, 14:00–16:00 CET
Monday 11-1pm  =>  Mon 9 Mar, 11:00–13:00 CET
Monday 22:00-02:00  =>  Mon 9 Mar, 22:00 – Tue 10 Mar, 02:00 CET
Monday 10pm-2am  =>  Mon 9 Mar, 22:00 – Tue 10 Mar, 02:00 CET
Monday 6-7  =>  either: Mon 9 Mar, 06:00–07:00 CET | Mon 9 Mar, 18:00–19:00 CET
Easter Monday at 10  =>  not: I don't know which day “easter” is. Give me the date, like “6 April”.
Good Friday  =>  not: I don't know which day “good friday” is. Give me the date, like “6 April”.
in Easter at 10  =>  not: I don't know which day “easter” is. Give me the date, like “6 April”.
Christmas at noon  =>  Fri 25 Dec, 12:00 CET
Christmas Eve 2027  =>  Fri 24 Dec 2027
New Year’s Day  =>  Fri 1 Jan 2027
tomorrow 3pm midway  =>  not: I don't understand “midway” as a time.
tomorrow 3pm center  =>  not: I don't understand “center” as a time.
tomorrow 3pm Christmas time  =>  not: That gives two different days.
tomorrow 3pm Tokyo  =>  Thu 5 Mar, 15:00 JST
tomorrow 3pm in Nairobi  =>  Thu 5 Mar, 15:00 EAT
tomorrow 3pm Maldives time  =>  Thu 5 Mar, 15:00 UTC+5
end of the year  =>  Thu 31 Dec
end of next year  =>  Fri 31 Dec 2027
Friday for 3 days  =>  Fri 6 Mar – Sun 8 Mar
9 to 5 on Friday  =>  Fri 6 Mar, 09:00–17:00 CET *
9-17  =>  Wed 4 Mar, 09:00–17:00 CET
Fri 6 Mar 15:00  =>  Fri 6 Mar, 15:00 CET
Fri 6 Mar at 3pm for 45 minutes  =>  Fri 6 Mar, 15:00–15:45 CET
Friday 5 March 2026  =>  either: Thu 5 Mar | Fri 6 Mar
Fri 6 Mar 2026, 15:00 CET  =>  Fri 6 Mar, 15:00 CET
6 March  =>  Fri 6 Mar
March 6  =>  Fri 6 Mar
6th of March  =>  Fri 6 Mar
March 6th, 2027  =>  Sat 6 Mar 2027
6 March 2027 at 10am  =>  Sat 6 Mar 2027, 10:00 CET
3 March  =>  past: Wed 3 Mar 2027 | Tue 3 Mar
5 January  =>  past: Tue 5 Jan 2027 | Mon 5 Jan
2026-03-06  =>  Fri 6 Mar
2026-03-06T15:00  =>  Fri 6 Mar, 15:00 CET
2026-03-06 15:00  =>  Fri 6 Mar, 15:00 CET
2026-03-06T15:00:00Z  =>  Fri 6 Mar, 16:00 CET
2026-03-06T15:00:00-05:00  =>  Fri 6 Mar, 21:00 CET
2026-03-06T15:00:00+01:00[Europe/Berlin]  =>  Fri 6 Mar, 15:00 CET
2026-03-06T15:00:00+05:00[Europe/Berlin]  =>  not: “2026-03-06T15:00:00+05:00[Europe/Berlin]” gives two different times: the offset doesn't match that zone.
2026-03-06T15:00[America/New_York]  =>  Fri 6 Mar, 15:00 EST
2026-02-30  =>  none: There's no 30 February in 2026.
2027-02-30  =>  none: Sun 28 Feb 2027 | Mon 1 Mar 2027
2026-04-31T15:00 for 90 minutes  =>  none: Thu 30 Apr, 15:00 CEST | Fri 1 May, 15:00 CEST
2026-04-31T15:00+05:00  =>  none: There's no 31 April in 2026.
2026-04-29/2026-04-31  =>  none: There's no 31 April in 2026.
2026-13-01  =>  none: There's no such day.
2026-03-06T25:00  =>  not: “2026-03-06T25:00” isn't a date in the calendar.
2026-03-06/2026-03-08  =>  Fri 6 Mar – Sun 8 Mar
6/3  =>  either: Fri 6 Mar | Wed 3 Jun
13/3  =>  Fri 13 Mar
3/13  =>  Fri 13 Mar
3/3  =>  past: Wed 3 Mar 2027 | Tue 3 Mar
6/3/2026  =>  either: Fri 6 Mar | Wed 3 Jun
6.3.  =>  Fri 6 Mar
06.03.2026  =>  Fri 6 Mar
6.3. 15:00  =>  Fri 6 Mar, 15:00 CET
2026/03/06 at 4pm  =>  Fri 6 Mar, 16:00 CET
06-03-2026  =>  either: Fri 6 Mar | Wed 3 Jun
noon  =>  Wed 4 Mar, 12:00 CET
tomorrow at noon  =>  Thu 5 Mar, 12:00 CET
midnight  =>  Thu 5 Mar, 00:00 CET
tomorrow at midnight  =>  either: Thu 5 Mar, 00:00 CET | Fri 6 Mar, 00:00 CET
Friday midnight  =>  either: Fri 6 Mar, 00:00 CET | Sat 7 Mar, 00:00 CET
tonight at midnight  =>  Thu 5 Mar, 00:00 CET
half past two  =>  Wed 4 Mar, 14:30 CET *
tomorrow half past two  =>  Thu 5 Mar, 14:30 CET *
quarter to 4  =>  Wed 4 Mar, 15:45 CET *
tomorrow at quarter past 9  =>  Thu 5 Mar, 09:15 CET *
ten to five  =>  either: Wed 4 Mar, 16:50 CET | Wed 4 Mar, 10:00–17:00 CET
at ten to five  =>  Wed 4 Mar, 16:50 CET *
ten minutes to five  =>  Wed 4 Mar, 16:50 CET *
twenty to five  =>  Wed 4 Mar, 16:40 CET *
ten to twelve tomorrow  =>  either: Thu 5 Mar, 11:50 CET | Thu 5 Mar, 10:00–12:00 CET
tomorrow five to four  =>  Thu 5 Mar, 15:55 CET
Monday from ten to twelve  =>  Mon 9 Mar, 10:00–12:00 CET *
Monday from five to six  =>  Mon 9 Mar, 17:00–18:00 CET *
Monday from quarter to four to five  =>  Mon 9 Mar, 15:45–17:00 CET *
10 past 3  =>  Wed 4 Mar, 15:10 CET *
half 3  =>  Wed 4 Mar, 15:30 CET *
end of day  =>  Wed 4 Mar, 17:00 CET *
EOD Friday  =>  Fri 6 Mar, 17:00 CET *
COB tomorrow  =>  Thu 5 Mar, 17:00 CET *
end of the week  =>  Fri 6 Mar, 17:00 CET *
end of the month  =>  Tue 31 Mar
end of March  =>  Tue 31 Mar
this evening  =>  within Wed 4 Mar, 18:00–22:00 CET
this evening at 8  =>  Wed 4 Mar, 20:00 CET
tonight  =>  within Wed 4 Mar, 18:00–24:00 CET
tonight at 9  =>  Wed 4 Mar, 21:00 CET
this morning  =>  within Wed 4 Mar, 08:00–12:00 CET
tomorrow morning at 9  =>  Thu 5 Mar, 09:00 CET
Friday night at 12  =>  Sat 7 Mar, 00:00 CET
tonight at 12:30  =>  Thu 5 Mar, 00:30 CET
Friday night at 1am  =>  Sat 7 Mar, 01:00 CET
Friday night at 11  =>  Fri 6 Mar, 23:00 CET
9 in the morning tomorrow  =>  Thu 5 Mar, 09:00 CET
the 14th  =>  Sat 14 Mar
on the 14th at 3pm  =>  Sat 14 Mar, 15:00 CET
the 4th  =>  Wed 4 Mar
the 31st  =>  Tue 31 Mar
the 32nd  =>  not: “32” isn't a time of day.
first Monday of May  =>  Mon 4 May
the last Friday of the month  =>  Fri 27 Mar
2nd Tuesday in April  =>  Tue 14 Apr
first Monday of next month at 10  =>  Mon 6 Apr, 10:00 CEST *
fifth Monday of April  =>  not: April 2026 doesn't have five of those.
next month  =>  within Wed 1 Apr – Thu 30 Apr
this month  =>  within Sun 1 Mar – Tue 31 Mar
in May  =>  within Fri 1 May – Sun 31 May
May 2027  =>  within Sat 1 May 2027 – Mon 31 May 2027
this week  =>  within Mon 2 Mar – Sun 8 Mar
next week  =>  within Mon 9 Mar – Sun 15 Mar
next week at 3  =>  either: Mon 9 Mar, 15:00 CET | Tue 10 Mar, 15:00 CET | Wed 11 Mar, 15:00 CET | Thu 12 Mar, 15:00 CET | Fri 13 Mar, 15:00 CET
next week on Friday  =>  Fri 13 Mar
Friday next week at 3  =>  Fri 13 Mar, 15:00 CET *
last week  =>  within Mon 23 Feb – Sun 1 Mar
last Friday  =>  Fri 27 Feb
yesterday  =>  Tue 3 Mar
yesterday at 15:00  =>  Tue 3 Mar, 15:00 CET
day after tomorrow  =>  Fri 6 Mar
the weekend  =>  within Sat 7 Mar – Sun 8 Mar
this weekend  =>  within Sat 7 Mar – Sun 8 Mar
next weekend  =>  either: Sat 7 Mar – Sun 8 Mar | Sat 14 Mar – Sun 15 Mar
all day  =>  Wed 4 Mar
all day Friday  =>  Fri 6 Mar
Friday all-day  =>  Fri 6 Mar
10-12 March  =>  Tue 10 Mar – Thu 12 Mar
March 10-12  =>  Tue 10 Mar – Thu 12 Mar
10 March to 12 March  =>  Tue 10 Mar – Thu 12 Mar
10 March - 2 April  =>  Tue 10 Mar – Thu 2 Apr
Monday to Wednesday  =>  Mon 9 Mar – Wed 11 Mar
Fri-Mon  =>  Fri 6 Mar – Mon 9 Mar
3pm CET  =>  Wed 4 Mar, 15:00 CET
3pm CEST  =>  either: Wed 4 Mar, 15:00 CET | Wed 4 Mar, 15:00 UTC+2
tomorrow 3pm London time  =>  Thu 5 Mar, 15:00 GMT
15:00 Europe/Berlin  =>  Wed 4 Mar, 15:00 CET
tomorrow at 3pm in New York  =>  Thu 5 Mar, 15:00 EST
tomorrow 15:00 America/New_York  =>  Thu 5 Mar, 15:00 EST
3pm Tokyo time tomorrow  =>  Thu 5 Mar, 15:00 JST
tomorrow 3pm IST  =>  either: Thu 5 Mar, 15:00 IST (India) | Thu 5 Mar, 15:00 IST (Israel) | Thu 5 Mar, 15:00 GMT (Ireland)
tomorrow 3pm CST  =>  either: Thu 5 Mar, 15:00 CST (US Central) | Thu 5 Mar, 15:00 CST (China) | Thu 5 Mar, 15:00 CST (Cuba)
tomorrow 3pm BST  =>  either: Thu 5 Mar, 15:00 GMT (Britain) | Thu 5 Mar, 15:00 UTC+6 (Bangladesh)
tomorrow 3pm EST  =>  Thu 5 Mar, 15:00 EST
tomorrow 3pm ET  =>  Thu 5 Mar, 15:00 EST
tomorrow 3pm UTC  =>  Thu 5 Mar, 15:00 UTC
tomorrow 3pm UTC+2  =>  Thu 5 Mar, 15:00 UTC+2
tomorrow 3pm GMT-03:30  =>  Thu 5 Mar, 15:00 UTC-3:30
tomorrow 3pm Atlantis time  =>  zone: I don't know the time zone or city “atlantis”. Did you mean Atlantic/Stanley, Atlantic/St_Helena, Atlantic/Faroe?
tomorrow 3pm Europe/Berln  =>  zone: I don't know the time zone or city “Europe/Berln”. Did you mean Europe/Berlin, Europe/Dublin, Europe/Belgrade?
6 July 3pm CET  =>  either: Mon 6 Jul, 15:00 CEST | Mon 6 Jul, 15:00 UTC+1
6 July 3pm CEST  =>  Mon 6 Jul, 15:00 CEST
29 March at 02:30  =>  gap: Sun 29 Mar, 01:30 CET | Sun 29 Mar, 03:30 CEST
29 March 2:30 am  =>  gap: Sun 29 Mar, 01:30 CET | Sun 29 Mar, 03:30 CEST
29 March 01:30-02:30  =>  gap: Sun 29 Mar, 01:30 CET – 03:30 CEST
29 March  =>  Sun 29 Mar
25 October at 02:30  =>  twice: Sun 25 Oct, 02:30 CEST | Sun 25 Oct, 02:30 CET
25 October 2:30am  =>  twice: Sun 25 Oct, 02:30 CEST | Sun 25 Oct, 02:30 CET
25 October 02:30-04:00  =>  twice: Sun 25 Oct, 02:30 CEST – 04:00 CET | Sun 25 Oct, 02:30–04:00 CET
25 October at 02:30 for 30 minutes  =>  twice: Sun 25 Oct, 02:30 CEST | Sun 25 Oct, 02:30 CET
30 February  =>  none: Sun 28 Feb 2027 | Mon 1 Mar 2027
30 Feb 2026  =>  none: There's no 30 February in 2026.
30.2.  =>  none: Sun 28 Feb 2027 | Mon 1 Mar 2027
30/2/2026  =>  none: There's no 30 February in 2026.
Saturday 31 April  =>  none: Thu 30 Apr | Fri 1 May
29-31 April  =>  none: There's no 31 April in 2026.
31 April at 3  =>  none: Thu 30 Apr, 15:00 CEST | Fri 1 May, 15:00 CEST
29 Feb  =>  Tue 29 Feb 2028
29 February 2027  =>  none: Sun 28 Feb 2027 | Mon 1 Mar 2027
5 March 3026  =>  not: The year 3026 is too far away.
13 o'clock pm  =>  not: “13 pm” isn't a time of day.
3 o'clock  =>  Wed 4 Mar, 15:00 CET *
25:00  =>  not: “25” isn't a time of day.
12:75  =>  not: “12:75” isn't a time of day.
24:00  =>  not: “24” isn't a time of day.
1500  =>  Wed 4 Mar, 15:00 CET
0930 tomorrow  =>  Thu 5 Mar, 09:30 CET
tomorrow 15h  =>  Thu 5 Mar, 15:00 CET
tomorrow 15h30  =>  Thu 5 Mar, 15:30 CET
3.30pm  =>  Wed 4 Mar, 15:30 CET
15.30  =>  Wed 4 Mar, 15:30 CET
14.03  =>  not: “14.03” could be a time or a date. For a time, write 14:03.
6.3  =>  Fri 6 Mar
9 yesterday at noon  =>  not: That gives two different times.
tomorrow at 3 or 4  =>  not: I don't understand “or” as a time.
soon  =>  not: I don't understand “soon” as a time.
asap  =>  not: I don't understand “asap” as a time.
blah  =>  not: I don't understand “blah” as a time.
a meeting with Bo tomorrow  =>  not: I don't understand “a” as a time.
3:00pm-4:00pm Friday  =>  Fri 6 Mar, 15:00–16:00 CET
Friday 3-4pm CET  =>  Fri 6 Mar, 15:00–16:00 CET
tomorrow before noon  =>  within Thu 5 Mar, 00:00–12:00 CET
tomorrow after 3  =>  within Thu 5 Mar, 15:00–24:00 CET *
tomorrow for 45 minutes  =>  Thu 5 Mar, for 45 minutes
45 minutes tomorrow afternoon  =>  within Thu 5 Mar, 12:00–18:00 CET, for 45 minutes
an hour on Friday  =>  Fri 6 Mar, for 60 minutes
1 hour Friday morning  =>  within Fri 6 Mar, 08:00–12:00 CET, for 60 minutes
at 15  =>  Wed 4 Mar, 15:00 CET
now  =>  Wed 4 Mar, 09:00 CET
tomorrow at three  =>  Thu 5 Mar, 15:00 CET *
twelve tomorrow  =>  Thu 5 Mar, 12:00 CET *
12 tomorrow  =>  Thu 5 Mar, 12:00 CET *
12am tomorrow  =>  Thu 5 Mar, 00:00 CET
12pm tomorrow  =>  Thu 5 Mar, 12:00 CET
0:30 tomorrow  =>  Thu 5 Mar, 00:30 CET
next year  =>  not: I don't understand “next” as a time.
Mon, 9 Mar  =>  Mon 9 Mar
Monday, March 9, 2026 at 10:00 AM  =>  Mon 9 Mar, 10:00 CET
March 9 10:00  =>  Mon 9 Mar, 10:00 CET *
March 9 10  =>  Mon 9 Mar, 10:00 CET *
Friday 3  =>  Fri 6 Mar, 15:00 CET *
tomorrow lunchtime  =>  within Thu 5 Mar, 12:00–14:00 CET
lunch on Friday  =>  within Fri 6 Mar, 12:00–14:00 CET
Friday or Monday  =>  not: I don't understand “or” as a time.
on Fridays  =>  not: I don't understand “fridays” as a time.
in 400 years  =>  not: The year 2426 is too far away.
in 0 minutes  =>  Wed 4 Mar, 09:00 CET
within 2026-03-06T12:00:00+01:00[Europe/Berlin]/2026-03-06T18:00:00+01:00[Europe/Berlin] for 30 minutes  =>  within Fri 6 Mar, 12:00–18:00 CET, for 30 minutes
today at 3 for 90 min  =>  Wed 4 Mar, 15:00–16:30 CET *
tomorrow 3pm for two hours  =>  Thu 5 Mar, 15:00–17:00 CET
tomorrow 3pm for 3 weeks  =>  not: I can plan anything from a minute to two weeks.
tomorrow 15:00 to midnight  =>  Thu 5 Mar, 15:00–24:00 CET
8:30 tomorrow  =>  Thu 5 Mar, 08:30 CET *
this Monday  =>  past: Mon 9 Mar
# Asia/Kolkata 2026-03-06T16:30
tomorrow 3pm IST  =>  Sat 7 Mar, 15:00 IST
Friday  =>  either: Fri 6 Mar | Fri 13 Mar
Friday at 5  =>  either: Fri 6 Mar, 17:00 IST | Fri 13 Mar, 17:00 IST
Friday at 3  =>  Fri 13 Mar, 15:00 IST *
next Friday at 3  =>  Fri 13 Mar, 15:00 IST *
this Friday at 3  =>  past: Fri 13 Mar, 15:00 IST
at 3  =>  past: Sat 7 Mar, 15:00 IST
at 9  =>  past: Fri 6 Mar, 21:00 IST | Sat 7 Mar, 09:00 IST
this afternoon  =>  within Fri 6 Mar, 12:00–18:00 IST
this morning  =>  past: Sat 7 Mar, 08:00–12:00 IST
tomorrow 3pm London time  =>  Sat 7 Mar, 15:00 GMT
in 20 minutes  =>  Fri 6 Mar, 16:50 IST
EOD  =>  Fri 6 Mar, 17:00 IST *
# Asia/Kathmandu 2026-12-20T23:30
tomorrow at 9  =>  Mon 21 Dec, 09:00 UTC+5:45 *
5 January  =>  Tue 5 Jan 2027
31 December  =>  Thu 31 Dec
tonight  =>  within Sun 20 Dec, 18:00–24:00 UTC+5:45
next Monday  =>  Mon 21 Dec
in 20 minutes  =>  Sun 20 Dec, 23:50 UTC+5:45
in 45 minutes  =>  Mon 21 Dec, 00:15 UTC+5:45
3pm NPT tomorrow  =>  Mon 21 Dec, 15:00 UTC+5:45
# Australia/Sydney 2026-09-30T10:00
Sunday at 2:30am  =>  gap: Sun 4 Oct, 01:30 AEST | Sun 4 Oct, 03:30 AEDT
4 October 2:30am  =>  gap: Sun 4 Oct, 01:30 AEST | Sun 4 Oct, 03:30 AEDT
5 April 2027 at 02:30  =>  Mon 5 Apr 2027, 02:30 AEST
4 April 2027 at 02:30  =>  twice: Sun 4 Apr 2027, 02:30 AEDT | Sun 4 Apr 2027, 02:30 AEST
Friday 3pm AEST  =>  Fri 2 Oct, 15:00 AEST
Sunday 3pm AEST  =>  either: Sun 4 Oct, 15:00 AEDT | Sun 4 Oct, 15:00 UTC+10
tomorrow 9am New York time  =>  Thu 1 Oct, 09:00 EDT
# Australia/Lord_Howe 2026-09-30T10:00
4 October 02:15  =>  gap: Sun 4 Oct, 01:45 UTC+10:30 | Sun 4 Oct, 02:45 UTC+11
4 October 02:30  =>  Sun 4 Oct, 02:30 UTC+11
5 April  =>  Mon 5 Apr 2027
# America/New_York 2026-03-07T20:00
tomorrow at 2:30am  =>  gap: Sun 8 Mar, 01:30 EST | Sun 8 Mar, 03:30 EDT
tomorrow 1am-4am  =>  Sun 8 Mar, 01:00 EST – 04:00 EDT
tomorrow 3pm EST  =>  either: Sun 8 Mar, 15:00 EDT | Sun 8 Mar, 15:00 UTC-5
tomorrow 3pm CST  =>  either: Sun 8 Mar, 15:00 CDT (US Central) | Sun 8 Mar, 15:00 CST (China) | Sun 8 Mar, 15:00 CDT (Cuba)
next Friday  =>  Fri 13 Mar
next Monday  =>  Mon 9 Mar
the weekend  =>  within Sat 7 Mar – Sun 8 Mar
next weekend  =>  within Sat 14 Mar – Sun 15 Mar
Sunday 1:30am EST  =>  Sun 8 Mar, 01:30 EST
tonight at 8  =>  Sat 7 Mar, 20:00 EST
tonight  =>  within Sat 7 Mar, 18:00–24:00 EST
# Europe/London 2026-01-15T10:00
6 July 15:00 BST  =>  Mon 6 Jul, 15:00 BST
Mon 6 Jul, 16:00–16:30 BST  =>  Mon 6 Jul, 16:00–16:30 BST
tomorrow 3pm BST  =>  either: Fri 16 Jan, 15:00 GMT | Fri 16 Jan, 15:00 UTC+1
tomorrow 3pm GMT  =>  Fri 16 Jan, 15:00 UTC
# Asia/Singapore 2026-03-04T12:00
Fri 6 Mar, 16:00–16:30 UTC+8  =>  Fri 6 Mar, 16:00–16:30 UTC+8
tomorrow 3pm UTC+2  =>  Thu 5 Mar, 15:00 UTC+2
# America/St_Johns 2026-03-04T12:00
tomorrow 9am  =>  Thu 5 Mar, 09:00 NST
tomorrow 3pm NST  =>  Thu 5 Mar, 15:00 NST
6/3  =>  either: Fri 6 Mar | Wed 3 Jun
"#;

fn at(local: &str, zone: &TimeZone) -> Timestamp {
    let local: DateTime = local.parse().unwrap();
    let second = local.to_zoned(zone.clone()).unwrap().timestamp().as_second();
    Timestamp::from_timestamp(second, 0).unwrap()
}

fn zone_for<'a>(when: &'a TimeSpec, asker: &'a TimeZone) -> &'a TimeZone {
    match when {
        TimeSpec::At(at) | TimeSpec::Span { from: at, .. } | TimeSpec::Within { from: at, .. } => {
            at.time_zone()
        }
        TimeSpec::Day(_) | TimeSpec::Days { .. } => asker,
    }
}

fn format_phrase(text: &str, now: Timestamp, zone: &TimeZone) -> String {
    match resolve(text, now, zone) {
        Ok(said) => {
            let within = if matches!(said.time, TimeSpec::Within { .. }) { "within " } else { "" };
            let assumed = if said.assumption.is_some() { " *" } else { "" };
            format!("{within}{}{assumed}", said.format(zone_for(&said.time, zone), now))
        }
        Err(unclear) => {
            let kind = match &unclear {
                TimeError::NotUnderstood { .. } => "not",
                TimeError::NoSuchDay { .. } => "none",
                TimeError::SkippedHour { .. } => "gap",
                TimeError::RepeatedHour { .. } => "twice",
                TimeError::Ambiguous { .. } => "either",
                TimeError::Past { .. } => "past",
                TimeError::UnknownZone { .. } => "zone",
            };
            let labels: Vec<&str> = unclear.choices().iter().map(|choice| choice.label.as_str()).collect();
            let said = if labels.is_empty() { unclear.message() } else { labels.join(" | ") };
            format!("{kind}: {said}")
        }
    }
}

fn each(mut check: impl FnMut(&str, &str, Timestamp, &TimeZone)) -> usize {
    let (mut zone, mut now, mut count) = (TimeZone::UTC, Timestamp::UNIX_EPOCH, 0);
    for line in TABLE.lines().filter(|line| !line.is_empty()) {
        if let Some((name, local)) = line.strip_prefix("# ").and_then(|head| head.split_once(' ')) {
            zone = TimeZone::get(name).unwrap();
            now = at(local, &zone);
        } else {
            let (text, expected) = line.split_once("  =>  ").unwrap();
            check(text, expected, now, &zone);
            count += 1;
        }
    }
    count
}

#[test]
fn phrases_resolve_as_expected() {
    let mut wrong = Vec::new();
    let count = each(|text, expected, now, zone| {
        let is = format_phrase(text, now, zone);
        if is != expected {
            wrong.push(format!("{text}\n   is  {is}\n  not  {expected}"));
        }
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 120, "{count}");
}

#[test]
fn exact_times_and_choices_round_trip_in_every_zone() {
    each(|text, _, now, zone| {
        let elsewhere = TimeZone::get("Pacific/Chatham").unwrap();
        match resolve(text, now, zone) {
            Ok(said) => {
                let again = resolve(&said.to_parseable_text(), now, zone).unwrap();
                assert_eq!((again.time, again.duration), (said.time.clone(), said.duration), "{text}");
                let far = resolve(&said.to_parseable_text(), now, &elsewhere).unwrap();
                assert_eq!(far.time, said.time, "{text}");
            }
            Err(unclear) => {
                for choice in unclear.choices() {
                    let picked = resolve(&choice.value, now, zone);
                    assert!(picked.is_ok(), "{text}: {choice:?} {picked:?}");
                }
            }
        }
    });
}

#[test]
fn own_offset_is_read_as_own_zone() {
    for (own, text, zone) in [
        ("Asia/Singapore", "Fri 6 Mar, 16:00–16:30 UTC+8", Some("Asia/Singapore")),
        ("America/Sao_Paulo", "Fri 6 Mar, 16:00 UTC-3", Some("America/Sao_Paulo")),
        ("Europe/Berlin", "Fri 6 Mar, 16:00 UTC+1", None),
        ("Asia/Singapore", "Fri 6 Mar, 16:00 UTC+9", None),
    ] {
        let own = TimeZone::get(own).unwrap();
        let said = resolve(text, at("2026-03-04T09:00", &own), &own).unwrap();
        assert_eq!(zone_for(&said.time, &own).iana_name(), zone, "{text}");
    }
}

#[test]
fn invisible_characters_are_rejected() {
    let zone = TimeZone::get("Europe/Berlin").unwrap();
    let now = at("2026-03-04T09:00", &zone);
    let long = "tomorrow ".repeat(10_000);
    for text in
        ["٣pm", "tomorrow\u{200b} at 3", "to\u{202e}morrow", "３pm", "½ past 3", "😀", "", "  ", "\0", &long]
    {
        assert!(matches!(resolve(text, now, &zone), Err(TimeError::NotUnderstood { .. })), "{text:?}");
    }
}

#[test]
fn typographic_dashes_and_spaces_are_read() {
    let zone = TimeZone::get("Europe/Berlin").unwrap();
    let now = at("2026-03-04T09:00", &zone);
    assert_eq!(format_phrase("Friday 3–4\u{202f}pm", now, &zone), "Fri 6 Mar, 15:00–16:00 CET");
    assert_eq!(format_phrase("tomorrow, 3 o’clock p.m.", now, &zone), "Thu 5 Mar, 15:00 CET");
}

#[test]
fn assumptions_are_reported() {
    let zone = TimeZone::get("Europe/Berlin").unwrap();
    let ResolvedTime { assumption: assumed, .. } =
        resolve("next Friday at 3", at("2026-03-04T09:00", &zone), &zone).unwrap();
    assert_eq!(
        assumed.unwrap(),
        "“next Friday”: I took the one next week; “3” without am or pm: I took 15:00, within working hours"
    );
}

/// Words that the parser knows, so that random phrases get far into it.
const VOCABULARY: &[&str] = &[
    "next",
    "this",
    "last",
    "friday",
    "mon",
    "tomorrow",
    "today",
    "at",
    "3",
    "15:00",
    "9-10:30",
    "2:30",
    "am",
    "pm",
    "noon",
    "midnight",
    "in",
    "two",
    "weeks",
    "for",
    "45",
    "minutes",
    "first",
    "of",
    "may",
    "29",
    "march",
    "oct",
    "25",
    "the",
    "14th",
    "6/3",
    "2026",
    "cet",
    "ist",
    "london",
    "time",
    "evening",
    "all",
    "day",
    "half",
    "past",
    "quarter",
    "to",
    "-",
    "/",
    "+",
    "ago",
    "end",
    "month",
    "week",
    "weekend",
    "between",
    "and",
    "31",
    "from",
    "now",
    "999999",
    "utc+5",
    "europe/berlin",
    "4",
    "november",
    "8",
    "1:30",
];

const ZONES: &[&str] = &[
    "Europe/Berlin",
    "America/New_York",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "America/St_Johns",
    "Africa/Casablanca",
    "Pacific/Apia",
    "UTC",
];

fn check_round_trip(text: &str, now: Timestamp, zone: &TimeZone) {
    match resolve(text, now, zone) {
        Ok(said) => {
            let again = resolve(&said.to_parseable_text(), now, zone).map(|again| again.time);
            assert_eq!(again, Ok(said.time.clone()), "{text:?} {}", said.to_parseable_text());
            if let TimeSpec::At(at) | TimeSpec::Span { from: at, .. } = &said.time {
                // A real instant: it is among the readings of its civil time in its zone.
                let civil = at.time_zone().to_ambiguous_zoned(at.datetime());
                let both = [civil.clone().earlier().unwrap(), civil.later().unwrap()];
                assert!(both.contains(at), "{text:?} {at}");
            }
            if let TimeSpec::Span { from, to } | TimeSpec::Within { from, to } = &said.time {
                assert!(from < to, "{text:?}");
            }
            assert!(!said.format(zone, now).is_empty());
        }
        Err(unclear) => {
            assert!(!unclear.message().is_empty());
            for choice in unclear.choices() {
                assert!(resolve(&choice.value, now, zone).is_ok(), "{text:?} {choice:?}");
            }
        }
    }
}

proptest! {
    #[test]
    fn resolve_never_panics(text in any::<String>(), second in 0_i64..4_000_000_000, zone in 0..ZONES.len()) {
        let zone = TimeZone::get(ZONES[zone]).unwrap();
        check_round_trip(&text, Timestamp::from_timestamp(second, 0).unwrap(), &zone);
    }

    #[test]
    fn resolved_time_exists_in_its_zone(
        words in prop::collection::vec(0..VOCABULARY.len(), 1..7),
        second in 1_500_000_000_i64..2_000_000_000,
        zone in 0..ZONES.len(),
    ) {
        let words: Vec<&str> = words.into_iter().map(|at| VOCABULARY[at]).collect();
        let zone = TimeZone::get(ZONES[zone]).unwrap();
        check_round_trip(&words.join(" "), Timestamp::from_timestamp(second, 0).unwrap(), &zone);
    }
}
