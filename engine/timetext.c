/*
 * timetext.c - reading time words by exact decimal arithmetic, and writing times fast
 *
 * A word is first parsed to a struct time_word, since only some forms need the trace's first or
 * last event. Writing caches the text of the last second: most times differ from the one written
 * before only in the nine digits behind it.
 */
#include "engine/timetext.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { NS = 1000000000, DAY = 86400, ZONE_STEP = 900 /* zones change at quarter hours */ };

/* Reading ------------------------------------------------------------------------------------- */

struct text { /* what is left to read */
	const char *at;
};

bool time_looks_negative(const char *word)
{
	return word[0] == '-' &&
	       (char_is_digit(word[1]) || (word[1] == '.' && char_is_digit(word[2])));
}

static bool bad(struct error *err, const char *word, const char *why)
{
	return error_set(err, ERR_QUERY,
			 "time '%s': %s (12:03:04.5, 2024-05-01T12:03:04, seconds.fraction, "
			 "@nanoseconds, +1.5s after the start, -200ms before the end)",
			 word, why);
}

/* Digits as a number, of too many one that no time has; false when there is none. */
static bool digits(struct text *in, __int128 *out)
{
	const __int128 most = (__int128)UINT64_MAX + 1;

	if (!char_is_digit(*in->at))
		return false;
	for (*out = 0; char_is_digit(*in->at); in->at++) {
		*out = *out * 10 + (*in->at - '0');
		*out = *out < most ? *out : most;
	}
	return true;
}

/* Exactly `count` digits. */
static bool fixed(struct text *in, int count, int *out)
{
	for (*out = 0; count--; in->at++) {
		if (!char_is_digit(*in->at))
			return false;
		*out = *out * 10 + (*in->at - '0');
	}
	return true;
}

/* ".123" of a unit of `unit` ns, a power of ten or a multiple; digits below 1 ns must be zeros. */
static bool fraction(struct text *in, __int128 unit, __int128 *out)
{
	__int128 sum = 0, scale = 1;

	*out = 0;
	if (*in->at != '.' && *in->at != ',')
		return true;
	in->at++;
	if (!char_is_digit(*in->at))
		return false;
	for (int n = 0; char_is_digit(*in->at); in->at++, n++) {
		if (n >= 18) {
			if (*in->at != '0')
				return false;
			continue;
		}
		sum = sum * 10 + (*in->at - '0');
		scale *= 10;
	}
	*out = sum * unit / scale;
	return *out * scale == sum * unit;
}

static bool timetext_fits(__int128 ns, nstime *out)
{
	*out = (nstime)ns;
	return ns > NSTIME_MIN && ns < NSTIME_MAX;
}

static bool parse_span(const char *word, struct text in, struct time_word *out, struct error *err)
{
	static const struct {
		const char *name;
		int64_t ns;
	} units[] = {{"s", NS},           {"", NS},  {"ms", 1000000},    {"us", 1000},
		     {"\xc2\xb5s", 1000}, {"ns", 1}, {"min", 60LL * NS}, {"m", 60LL * NS},
		     {"h", 3600LL * NS}};
	struct text number = in;

	while (char_is_digit(*in.at) || *in.at == '.' || *in.at == ',')
		in.at++;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		__int128 whole = 0, part;
		if (strcmp(in.at, units[i].name) != 0)
			continue;
		if (*number.at != '.' && !digits(&number, &whole))
			return bad(err, word, "no number");
		if (!fraction(&number, units[i].ns, &part) || number.at != in.at)
			return bad(err, word, "not a number of whole nanoseconds");
		if (!timetext_fits(whole * units[i].ns + part, &out->ns))
			return bad(err, word, "out of range");
		return true;
	}
	return bad(err, word, "units are s, ms, us, ns, m and h");
}

static bool parse_plain(const char *word, struct text in, bool seconds, struct time_word *out,
			struct error *err)
{
	bool minus = *in.at == '-';
	__int128 whole, part = 0;

	in.at += minus;
	if (!digits(&in, &whole))
		return bad(err, word, "not a time");
	if (seconds) {
		whole *= NS;
		if (!fraction(&in, NS, &part))
			return bad(err, word, "not a number of whole nanoseconds");
	}
	if (*in.at)
		return bad(err, word, "not a time");
	if (!timetext_fits(minus ? -(whole + part) : whole + part, &out->ns))
		return bad(err, word, "out of range");
	return true;
}

/* H:MM[:SS[.frac]]; hours may be any number where `days` is false. */
static bool clock_part(struct text *in, bool days, __int128 *ns)
{
	__int128 hours, part = 0;
	int minutes, seconds = 0;

	if (!digits(in, &hours) || (days && hours > 24) || hours > 1 << 24 || *in->at++ != ':' ||
	    !fixed(in, 2, &minutes) || minutes > 59)
		return false;
	if (*in->at == ':') {
		in->at++;
		if (!fixed(in, 2, &seconds) || seconds > 60 || !fraction(in, NS, &part))
			return false;
	}
	*ns = (hours * 3600 + minutes * 60 + seconds) * NS + part;
	return true;
}

/* Days since 1970-01-01 of a date of the Gregorian calendar, for any year. */
static int64_t days_of(int64_t year, int month, int day)
{
	year -= month <= 2;
	int64_t era = (year >= 0 ? year : year - 399) / 400;
	int64_t of_era = year - era * 400;
	int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static bool date_exists(int year, int month, int day)
{
	bool december = month == 12;

	return month >= 1 && month <= 12 && day >= 1 &&
	       days_of(year, month, day) <
		       days_of(december ? year + 1 : year, december ? 1 : month + 1, 1);
}

static bool zone_part(struct text *in, struct time_word *out, __int128 *ns)
{
	int hours, minutes = 0;
	char sign = *in->at;

	if (sign == 'Z' || sign == 'z') {
		in->at++;
		out->zoned = true;
		return true;
	}
	if (sign != '+' && sign != '-')
		return true;
	in->at++;
	if (!fixed(in, 2, &hours) || hours > 23)
		return false;
	if (*in->at == ':')
		in->at++;
	if (char_is_digit(*in->at) && (!fixed(in, 2, &minutes) || minutes > 59))
		return false;
	__int128 off = ((__int128)hours * 3600 + minutes * 60) * NS;
	*ns += sign == '+' ? -off : off;
	out->zoned = true;
	return true;
}

static bool parse_date(const char *word, struct text in, struct time_word *out, struct error *err)
{
	__int128 ns = 0;
	int year, month, day;

	if (!fixed(&in, 4, &year) || *in.at++ != '-' || !fixed(&in, 2, &month) || *in.at++ != '-' ||
	    !fixed(&in, 2, &day) || !date_exists(year, month, day))
		return bad(err, word, "not a date");
	if (*in.at == 'T' || *in.at == 't' || *in.at == ' ') {
		in.at++;
		if (!clock_part(&in, true, &ns))
			return bad(err, word, "not a time of day");
	}
	ns += (__int128)days_of(year, month, day) * DAY * NS;
	if (!zone_part(&in, out, &ns) || *in.at)
		return bad(err, word, "not a zone");
	if (!timetext_fits(ns, &out->ns))
		return bad(err, word, "out of range");
	return true;
}

static bool parse_clock(const char *word, struct text in, struct time_word *out, struct error *err)
{
	bool minus = *in.at == '-';
	__int128 ns;

	in.at += minus;
	if (!clock_part(&in, false, &ns) || *in.at || !timetext_fits(minus ? -ns : ns, &out->ns))
		return bad(err, word, "not a time of day");
	return true;
}

const char *time_raw(nstime t, char text[TIME_TEXT_MAX])
{
	if (t <= NSTIME_MIN + 1) /* no event is as early as that */
		return "the begin";
	if (t == NSTIME_MAX)
		return "the end";
	snprintf(text, TIME_TEXT_MAX, "@%lld", (long long)t);
	return text;
}

bool time_parse(const char *text, struct time_word *out, struct error *err)
{
	struct text in = {text}, rest = {text + (*text == '@' || *text == '+' || *text == '-')};
	size_t number = strspn(text, "0123456789");

	*out = (struct time_word){.from = FROM_ORIGIN};
	if (*text == '@')
		return parse_plain(text, rest, false, out, err);
	if (strchr(text, ':') && number != 4 && strcspn(text, ":") < 12) {
		out->from = FROM_DAY;
		return parse_clock(text, in, out, err);
	}
	if (*text == '+' || *text == '-') {
		out->from = *text == '+' ? FROM_START : FROM_END;
		return parse_span(text, rest, out, err);
	}
	if (number == 4 && text[4] == '-') {
		out->from = FROM_DATE;
		return parse_date(text, in, out, err);
	}
	if (text[number] == ':') {
		out->from = FROM_DAY;
		return parse_clock(text, in, out, err);
	}
	return parse_plain(text, in, true, out, err);
}

bool ordinal_parse(const char *text, struct time_word *out, struct error *err)
{
	const char *begin = text + (*text == '@' || *text == '+' || *text == '-'), *at = begin;
	uint64_t number = decimal_take(&at, NULL);

	*out = (struct time_word){.from = *text == '+'   ? FROM_START
					  : *text == '-' ? FROM_END
							 : FROM_ORIGIN};
	if (*at || at == begin || number >= NSTIME_MAX)
		return error_set(err, ERR_QUERY,
				 "'%s': the trace has no clock: the number of an event is expected, "
				 "or +N from the first, or -N from the last",
				 text);
	out->ns = (nstime)number;
	return true;
}

bool time_needs_bounds(const struct time_word *word)
{
	return word->from == FROM_DAY || word->from == FROM_START || word->from == FROM_END;
}

/* Zones --------------------------------------------------------------------------------------- */

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* Seconds to add to UTC at that moment; 0 for UTC and for clocks without an epoch. */
static int64_t zone_at(struct times *times, int64_t second)
{
	struct tm tm;
	time_t at = (time_t)second;

	if (times->utc || !times->epoch)
		return 0;
	if (second >= times->zone_from && second < times->zone_until)
		return times->zone;
	times->zone = localtime_r(&at, &tm) ? tm.tm_gmtoff : 0;
	times->zone_from = floor_div(second, ZONE_STEP) * ZONE_STEP;
	times->zone_until = times->zone_from + ZONE_STEP;
	return times->zone;
}

int64_t time_zone(struct times *times, nstime t)
{
	return zone_at(times, floor_div(t, NS));
}

/* The moment whose local clock shows `local` (ns as if the zone were UTC). */
static nstime from_local(const struct times *times, __int128 local)
{
	int64_t second = (int64_t)(local / NS) - (local % NS < 0);
	time_t at = (time_t)second;
	struct tm tm;

	if (times->utc || !times->epoch || !gmtime_r(&at, &tm))
		return (nstime)local;
	tm.tm_isdst = -1;
	return (nstime)((__int128)mktime(&tm) * NS + (local - (__int128)second * NS));
}

void times_init(struct times *times, enum time_style style, bool utc, bool epoch, nstime first,
		nstime last)
{
	*times = (struct times){.style = style, .utc = utc, .epoch = epoch};
	times->first = first;
	times->last = last;
	times->day = times->second = INT64_MIN;
	if (first == NSTIME_MIN)
		return;
	int64_t second = floor_div(first, NS);
	times->day = floor_div(second + zone_at(times, second), DAY);
}

bool time_resolve(const struct time_word *word, struct times *times, nstime *out, struct error *err)
{
	__int128 t = word->ns;

	if (word->from == FROM_DATE && !times->epoch)
		return error_set(err, ERR_QUERY,
				 "a date means nothing here: the trace's clock has no epoch; use "
				 "+1.5s, @nanoseconds or hours since its origin");
	if (time_needs_bounds(word) && times->first == NSTIME_MIN)
		return error_set(err, ERR_RANGE, "the trace has no event to count times from");
	if (word->from == FROM_START)
		t = (__int128)times->first + word->ns;
	else if (word->from == FROM_END)
		t = (__int128)times->last - word->ns;
	else if (word->from == FROM_DATE && !word->zoned)
		t = from_local(times, word->ns);
	else if (word->from == FROM_DAY && times->epoch) {
		int64_t second = floor_div(times->first, NS);
		int64_t day = floor_div(second + zone_at(times, second), DAY);
		t = from_local(times, (__int128)day * DAY * NS + word->ns);
	}
	if (!timetext_fits(t, out))
		return error_set(err, ERR_RANGE, "a time out of range");
	return true;
}

/* Writing ------------------------------------------------------------------------------------- */

static char *put2(char *to, int64_t number)
{
	to[0] = (char)('0' + number / 10 % 10);
	to[1] = (char)('0' + number % 10);
	return to + 2;
}

static char *put_digits(char *to, uint64_t number, int least)
{
	for (uint64_t power = 10; least > 1; least--, power *= 10)
		if (number < power) /* one digit too few for each */
			*to++ = '0';
	return decimal_put(to, number);
}

static char *put_date(char *to, int64_t day)
{
	/* the inverse of days_of() */
	int64_t z = day + 719468, era = floor_div(z, 146097), of_era = z - era * 146097;
	int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
	int64_t shifted = (5 * of_year + 2) / 153;
	int64_t month = shifted < 10 ? shifted + 3 : shifted - 9;

	year += era * 400 + (month <= 2);
	if (year < 0)
		*to++ = '-';
	to = put_digits(to, (uint64_t)(year < 0 ? -year : year), 4);
	*to++ = '-';
	to = put2(to, month);
	*to++ = '-';
	return put2(to, of_year - (153 * shifted + 2) / 5 + 1);
}

static char *put_clock(char *to, int64_t of_day)
{
	to = put_digits(to, (uint64_t)(of_day / 3600), 2);
	*to++ = ':';
	to = put2(to, of_day / 60 % 60);
	*to++ = ':';
	return put2(to, of_day % 60);
}

/* Writes the text before the nanoseconds to times->text. False: only this time has it (a date). */
static bool second_text(struct times *times, int64_t second)
{
	char *to = times->text;
	bool keep = true;

	if (!times->epoch) {
		to = put_clock(to, second);
	} else {
		int64_t local = second + zone_at(times, second), day = floor_div(local, DAY);
		if (times->style == TIME_ISO || day != times->day) {
			to = put_date(to, day);
			*to++ = times->style == TIME_ISO ? 'T' : ' ';
			keep = times->style == TIME_ISO;
			times->day = day;
		}
		to = put_clock(to, local - day * DAY);
	}
	*to++ = '.';
	times->ntext = (uint8_t)(to - times->text);
	return keep;
}

static char *put_seconds(char *to, nstime t)
{
	uint64_t size = t < 0 ? 0 - (uint64_t)t : (uint64_t)t;

	if (t < 0)
		*to++ = '-';
	to = put_digits(to, size / NS, 1);
	*to++ = '.';
	return decimal_put_nanos(to, (uint32_t)(size % NS));
}

static char *put_relative(char *to, const struct times *times, nstime t)
{
	uint64_t size = t < times->first ? time_span(t, times->first) : time_span(times->first, t);

	*to++ = t < times->first ? '-' : '+';
	to = put_digits(to, size / NS, 1);
	*to++ = '.';
	return decimal_put_nanos(to, (uint32_t)(size % NS));
}

static char *put_zone(char *to, struct times *times, int64_t second)
{
	int64_t zone = zone_at(times, second);

	if (times->utc) {
		*to++ = 'Z';
		return to;
	}
	*to++ = zone < 0 ? '-' : '+';
	zone = zone < 0 ? -zone : zone;
	to = put2(to, zone / 3600);
	*to++ = ':';
	return put2(to, zone / 60 % 60);
}

char *time_put_any(struct times *times, nstime t, char *to)
{
	if (times->style == TIME_NS || times->style == TIME_ORDINAL) {
		if (t < 0)
			*to++ = '-';
		return put_digits(to, t < 0 ? 0 - (uint64_t)t : (uint64_t)t, 1);
	}
	if (times->style == TIME_SECONDS)
		return put_seconds(to, t);
	if (times->style == TIME_RELATIVE)
		return put_relative(to, times, t);
	if (!times->epoch && t < 0) { /* before the origin: the size with a sign */
		*to++ = '-';
		t = t == NSTIME_MIN ? NSTIME_MAX : -t;
	}
	int64_t second = floor_div(t, NS);
	if (second != times->second) {
		times->second = second_text(times, second) ? second : INT64_MIN;
		times->begin = (nstime)((uint64_t)second * NS); /* may lie below the least time */
		times->nanos = times->style == TIME_CLOCK && times->second == second &&
					       second > NSTIME_MIN / NS
				       ? NS
				       : 0;
	}
	memcpy(to, times->text, times->ntext);
	to = decimal_put_nanos(to + times->ntext, (uint32_t)((uint64_t)t - (uint64_t)second * NS));
	return times->style == TIME_ISO && times->epoch ? put_zone(to, times, second) : to;
}

char *span_put(__int128 span, char *to)
{
	static const struct {
		int64_t ns;
		const char *name;
	} units[] = {{NS, " s"}, {1000000, " ms"}, {1000, " us"}, {1, " ns"}};
	unsigned __int128 size = span < 0 ? 0 - (unsigned __int128)span : (unsigned __int128)span;
	size_t i = 0;

	if (span < 0)
		*to++ = '-';
	while (i < 3 && size < (uint64_t)units[i].ns)
		i++;
	uint64_t unit = (uint64_t)units[i].ns, rest = (uint64_t)(size % unit);
	to = put_digits(to, (uint64_t)(size / unit), 1);
	if (rest)
		*to++ = '.';
	for (unit /= 10; rest; rest %= unit, unit /= 10)
		*to++ = (char)('0' + rest / unit);
	return stpcpy(to, units[i].name);
}

char *time_span_put(const struct times *times, __int128 span, char *to)
{
	if (times->style != TIME_ORDINAL)
		return span_put(span, to);
	if (span < 0)
		*to++ = '-';
	return put_digits(to, (uint64_t)(span < 0 ? -span : span), 1);
}
