/*
 * test_traps.c - cases in which one way of evaluation is easily led astray
 *
 * Each row is a rule set, events, and a question with its answer. It is asked by replay, by the
 * backward pass, and from a checkpoint: all must say the same.
 */
#include "tests/harness.h"
#include "tests/state/all_ways.h"

#include <string.h>

enum { MAX_EVENTS = 8, NEVER = SINCE_NEVER };

static const struct fake_class classes[] = {{"X", {"v"}},   {"Y", {NULL}}, {"K", {"k"}},
					    {"D", {NULL}},  {"S", {NULL}}, {"T", {NULL}},
					    {"P", {"$buf"}}};
enum { X, Y, K, D, S, T, P };

#define AT(t, what, number)                                     \
	{                                                       \
		.time = t, .class = what, .numbers = { number } \
	}
#define ON(t, where, what, number)                                               \
	{                                                                        \
		.time = t, .stream = where, .class = what, .numbers = { number } \
	}
#define LOST(t, where, end)                                                  \
	{                                                                    \
		.time = t, .stream = where, .class = FAKE_LOSS, .until = end \
	}

#define MARK(t, text)                                    \
	{                                                \
		.time = t, .class = P, .texts = { text } \
	}
#define MARKERS                                                                               \
	"event P\n"                                                                           \
	" mark[int(captures(field/buf, \"^B[|](\\\\d+)\"))]/now = split(field/buf, \"|\", 2)" \
	" when field/buf ~ \"B|*\"\n"                                                         \
	" mark[int(split(field/buf, \"|\", 1))]/now = none when field/buf ~ \"E|*\"\n"        \
	" mark[int(split(field/buf, \"|\", 1))]/fps = int(split(field/buf, \"|\", 3))"        \
	" when captures(field/buf, \"^C[|]\\\\d+[|](\\\\w+)[|]\") == \"fps\"\n"

#define LOSS_RULES "event @lost\n unknown p\nevent X\n was p = 1\nevent S\n p = 9\n"
#define LOSS_EVENTS                                      \
	{                                                \
		AT(3, S, 0), LOST(5, 0, 8), AT(10, X, 0) \
	}
#define TWO_LOSSES                                                       \
	{                                                                \
		AT(3, S, 0), LOST(5, 0, 8), LOST(5, 1, 20), AT(10, X, 0) \
	}
#define BEGUN "event X\n was p = 1\n"
#define KEYED "event X\n was p[field/v] = 1\n"
#define NESTED "event K\n k = field/k\n t[7]/x = 4\n t[8]/x = 5\nevent D\n delete t[k]\n"
#define CHECKPOINTED "event X\n x = y\nevent D\n delete z\nevent S\n z = 1\nevent T\n other = 1\n"
#define TOTAL \
	"map m { true = 1, false = 2 }\nevent X\n x = m(y == field/v)\nevent K\n y = field/k\n"
#define TIES "event X\n p = field/v\n"
#define ONE_EVENT "event X\n was p = 1\n was p = 2\n"

static struct row {
	const char *name, *rules;
	struct fake_event events[MAX_EVENTS];
	const char *path;
	nstime t;
	bool before;
	const char *value;
	nstime since;
} rows[] = {
	{"1 a right side does not see its own event",
	 "event X\n a = 1\n b = a\n",
	 {AT(1, X, 0)},
	 "b",
	 1,
	 false,
	 "unknown",
	 1},
	{"2 a later delete wins inside the event",
	 "event X\n t[1]/x = 1\n delete t[1]\n",
	 {AT(1, X, 0)},
	 "t[1]/x",
	 1,
	 false,
	 "none",
	 1},
	{"2 a child that was never written finds the delete",
	 "event X\n t[1]/x = 1\n delete t[1]\n",
	 {AT(1, X, 0)},
	 "t[1]/never",
	 1,
	 false,
	 "none",
	 1},
	{"3 a delete with an open key holds back what is below",
	 NESTED,
	 {AT(1, K, 7), AT(2, D, 0)},
	 "t[7]/x",
	 2,
	 false,
	 "none",
	 2},
	{"3 and leaves the others", NESTED, {AT(1, K, 7), AT(2, D, 0)}, "t[8]/x", 2, false, "5", 1},
	{"4 a failing newer claim does not prune the older",
	 "event X, Y\n t[k]/x = field/v\nevent K\n k = field/k\n",
	 {AT(1, K, 7), AT(2, X, 1), AT(3, Y, 0)},
	 "t[7]/x",
	 3,
	 false,
	 "1",
	 2},
	{"5 a right side that fails does not close",
	 "event X\n x = y + 1\nevent K\n y = 1\nevent S\n y = \"s\"\n",
	 {AT(0, K, 0), AT(1, X, 0), AT(2, S, 0), AT(3, X, 0)},
	 "x",
	 3,
	 false,
	 "2",
	 1},
	{"6 unknown is written, and closes",
	 "initial x = 3\nevent X\n x = y\n",
	 {AT(4, X, 0)},
	 "x",
	 4,
	 false,
	 "unknown",
	 4},
	{"7 the oldest was counts",
	 "event X\n was p = 1\nevent S\n was p = 2\n",
	 {AT(1, X, 0), AT(2, S, 0)},
	 "p",
	 3,
	 false,
	 "1",
	 NEVER},
	{"8 also inside one event", ONE_EVENT, {AT(1, X, 0)}, "p", 1, false, "1", NEVER},
	{"8 and before it", ONE_EVENT, {AT(1, X, 0)}, "p", 0, false, "1", NEVER},
	{"9 was counts before all other lines: before",
	 "event X\n p = 5\n was p = 4\n",
	 {AT(3, X, 0)},
	 "p",
	 2,
	 false,
	 "4",
	 NEVER},
	{"9 was counts before all other lines: after",
	 "event X\n p = 5\n was p = 4\n",
	 {AT(3, X, 0)},
	 "p",
	 3,
	 false,
	 "5",
	 3},
	{"10 a was that reads what it fills",
	 "section *\n section/k = field/k\nevent X\n was t[1]/s = t[section/k]/s\nevent S\n"
	 " t[1]/s = 9\n",
	 {AT(1, K, 1), AT(2, S, 0), AT(3, X, 0)},
	 "t[1]/s",
	 3,
	 false,
	 "9",
	 2},
	{"11 before the loss", LOSS_RULES, LOSS_EVENTS, "p", 4, false, "9", 3},
	{"11 at the loss", LOSS_RULES, LOSS_EVENTS, "p", 5, false, "unknown", 5},
	{"11 while events are missing", LOSS_RULES, LOSS_EVENTS, "p", 7, false, "unknown", 5},
	{"11 the fill begins where the loss ends", LOSS_RULES, LOSS_EVENTS, "p", 8, false, "1", 8},
	{"11 and holds", LOSS_RULES, LOSS_EVENTS, "p", 9, false, "1", 8},
	{"11 just before its beginning", LOSS_RULES, LOSS_EVENTS, "p", 8, true, "unknown", 5},
	{"12 only the loss of the stream that says was limits it", LOSS_RULES, TWO_LOSSES, "p", 9,
	 false, "1", 8},
	{"13 rules do not see fills",
	 "event S\n p = q\nevent X\n was p = 1\nevent K\n t[p]/x = 1\n",
	 {AT(5, S, 0), AT(7, K, 0), AT(10, X, 0)},
	 "t[1]/x",
	 8,
	 false,
	 "unknown",
	 NEVER},
	{"14 a nested read gets its key further back",
	 "event X\n s = thread[cpu[0]/thread]/st\nevent K\n cpu[0]/thread = field/k\nevent S\n"
	 " thread[3]/st = 6\n",
	 {AT(1, K, 3), AT(2, S, 0), AT(9, X, 0)},
	 "s",
	 9,
	 false,
	 "6",
	 9},
	{"15 an undecided write between two questions",
	 "event X\n a = field/v when k == 1\nevent K\n k = field/k\nevent S\n b = a\n",
	 {AT(1, K, 1), AT(3, X, 5), AT(5, S, 0), AT(7, X, 6)},
	 "b",
	 9,
	 false,
	 "5",
	 5},
	{"16 an event that writes one key and reads another",
	 "event X\n cpu[1]/thread = cpu[2]/thread\nevent K\n cpu[2]/thread = field/k\n",
	 {AT(1, K, 3), AT(2, X, 0), AT(3, X, 0), AT(4, X, 0)},
	 "cpu[1]/thread",
	 4,
	 false,
	 "3",
	 4},
	{"17 a section line that fails leaves the older value",
	 "section *\n section/k = field/k\nevent X\n p = section/k\n",
	 {AT(1, K, 4), AT(2, X, 0)},
	 "p",
	 2,
	 false,
	 "4",
	 2},
	{"17 never written falls back to the format's own",
	 "section *\n section/cpu = field/k\nevent X\n p = section/cpu\n",
	 {ON(2, 1, X, 0)},
	 "p",
	 2,
	 false,
	 "1",
	 2},
	{"18 unknown by a write",
	 CHECKPOINTED,
	 {AT(2, S, 0), AT(3, X, 0), AT(4, D, 0), AT(5, T, 0)},
	 "x",
	 6,
	 false,
	 "unknown",
	 3},
	{"18 never written",
	 CHECKPOINTED,
	 {AT(2, S, 0), AT(3, X, 0), AT(4, D, 0), AT(5, T, 0)},
	 "y",
	 6,
	 false,
	 "unknown",
	 NEVER},
	{"18 under a delete",
	 CHECKPOINTED,
	 {AT(2, S, 0), AT(3, X, 0), AT(4, D, 0), AT(5, T, 0)},
	 "z/never",
	 6,
	 false,
	 "none",
	 4},
	{"a map that cannot fail closes", TOTAL, {AT(1, K, 5), AT(2, X, 5)}, "x", 3, false, "1", 2},
	{"and so does one of what differs",
	 TOTAL,
	 {AT(1, K, 5), AT(2, X, 5), AT(3, K, 6), AT(4, X, 5)},
	 "x",
	 5,
	 false,
	 "2",
	 4},
	{"of unknown it writes unknown", TOTAL, {AT(2, X, 5)}, "x", 3, false, "unknown", 2},
	{"19 ties go by stream", TIES, {ON(4, 1, X, 2), ON(4, 0, X, 1)}, "p", 4, false, "2", 4},
	{"19 just before both",
	 TIES,
	 {ON(4, 1, X, 2), ON(4, 0, X, 1)},
	 "p",
	 4,
	 true,
	 "unknown",
	 NEVER},
	{"a marker becomes state: its process and its name are parts of a text",
	 MARKERS,
	 {MARK(1, "B|7|draw"), MARK(2, "B|8|load"), MARK(3, "other")},
	 "mark[7]/now",
	 4,
	 false,
	 "\"draw\"",
	 1},
	{"a marker's end",
	 MARKERS,
	 {MARK(1, "B|7|draw"), MARK(2, "E|7")},
	 "mark[7]/now",
	 3,
	 false,
	 "none",
	 2},
	{"a marker's end is of its own process",
	 MARKERS,
	 {MARK(1, "B|7|draw"), MARK(2, "E|8")},
	 "mark[7]/now",
	 3,
	 false,
	 "\"draw\"",
	 1},
	{"a counter in a marker",
	 MARKERS,
	 {MARK(1, "C|7|fps|60"), MARK(2, "C|7|fps|"), MARK(3, "C|7|mem|9")},
	 "mark[7]/fps",
	 4,
	 false,
	 "60",
	 1},
	{"which part it is says the state",
	 "event X\n n = field/v\nevent P\n p = split(field/buf, \"|\", n)\n",
	 {AT(1, X, 2), MARK(2, "a|b|c"), AT(3, X, 0)},
	 "p",
	 4,
	 false,
	 "\"c\"",
	 2},
};

static struct late_row {
	struct row row;
	nstime begins[2];     /* of the streams; 0: it holds from the start */
	uint64_t late_events; /* a bit per stream: each class begins with its own first event */
} late_rows[] = {
	{{"20 a stream tells nothing of the time before it begins",
	  BEGUN,
	  {AT(10, X, 0)},
	  "p",
	  4,
	  false,
	  "unknown",
	  NEVER},
	 {5},
	 0},
	{{"20 it tells of its begin", BEGUN, {AT(10, X, 0)}, "p", 5, false, "1", 5}, {5}, 0},
	{{"20 and not of just before that", BEGUN, {AT(10, X, 0)}, "p", 5, true, "unknown", NEVER},
	 {5},
	 0},
	{{"20 another stream's begin is no limit",
	  BEGUN,
	  {AT(10, X, 0)},
	  "p",
	  4,
	  false,
	  "1",
	  NEVER},
	 {0, 7},
	 0},
	{{"20 what another stream wrote before holds",
	  BEGUN "event S\n p = 9\n",
	  {ON(3, 1, S, 0), AT(10, X, 0)},
	  "p",
	  4,
	  false,
	  "9",
	  3},
	 {5},
	 0},
	{{"20 the begin after a loss is the later one",
	  LOSS_RULES,
	  {LOST(5, 0, 8), AT(10, X, 0)},
	  "p",
	  7,
	  false,
	  "unknown",
	  5},
	 {4},
	 0},
	{{"21 an event tells back to the first of its class",
	  KEYED,
	  {AT(4, S, 0), AT(6, X, 2), AT(10, X, 1)},
	  "p[1]",
	  6,
	  false,
	  "1",
	  6},
	 {3},
	 1},
	{{"21 and no further",
	  KEYED,
	  {AT(4, S, 0), AT(6, X, 2), AT(10, X, 1)},
	  "p[1]",
	  6,
	  true,
	  "unknown",
	  NEVER},
	 {3},
	 1},
	{{"21 the first tells of no time before it",
	  KEYED,
	  {AT(4, S, 0), AT(6, X, 2)},
	  "p[2]",
	  5,
	  false,
	  "unknown",
	  NEVER},
	 {3},
	 1},
	{{"21 another stream's first event is no limit",
	  KEYED,
	  {AT(4, S, 0), ON(5, 1, X, 2), AT(6, X, 2), ON(10, 1, X, 1)},
	  "p[1]",
	  5,
	  false,
	  "1",
	  5},
	 {3, 3},
	 3},
	{{"21 where events were enabled before the stream begins it does",
	  KEYED,
	  {AT(4, S, 0), AT(6, X, 2), AT(10, X, 1)},
	  "p[1]",
	  3,
	  false,
	  "1",
	  3},
	 {3},
	 2},
	{{"21 the end of a loss behind the first event is the limit",
	  KEYED "event @lost\n unknown p[*]\n",
	  {AT(4, X, 2), LOST(5, 0, 8), AT(10, X, 1)},
	  "p[1]",
	  7,
	  false,
	  "unknown",
	  5},
	 {3},
	 1},
};

static size_t count_events(const struct row *row)
{
	size_t count = 0;

	for (size_t i = 0; i < MAX_EVENTS; i++)
		if (row->events[i].class || row->events[i].time || row->events[i].stream ||
		    row->events[i].until || i == 0)
			count = i + 1;
	return count;
}

static void ask_row(const struct row *row, const nstime begins[2], uint64_t late_events)
{
	struct fake_trace *trace =
		fake_trace_new(2, classes, COUNT(classes), row->events, count_events(row));
	struct rules *rules = rules_new();
	struct error err;

	if (begins)
		fake_trace_begins(trace, begins);
	fake_trace_late_events(trace, late_events);
	if (!rules_add(rules, "trap.rules", row->rules, strlen(row->rules), &err))
		fail_msg("%s", err.text);
	ask_all_ways(trace, rules,
		     &(struct asked){row->path, row->t, row->before, row->value, row->since});
	rules_free(rules);
	fake_trace_free(trace);
}

static void all_ways(void **state)
{
	ask_row(*state, NULL, 0);
}

static void late_streams(void **state)
{
	const struct late_row *late = *state;
	nstime begins[2];

	for (int i = 0; i < 2; i++)
		begins[i] = late->begins[i] ? late->begins[i] : NSTIME_MIN;
	ask_row(&late->row, begins, late->late_events);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + COUNT(late_rows)];
	size_t n = 0;

	for (size_t i = 0; i < COUNT(rows); i++)
		tests[n++] = (struct CMUnitTest){rows[i].name, all_ways, NULL, NULL, &rows[i]};
	for (size_t i = 0; i < COUNT(late_rows); i++)
		tests[n++] = (struct CMUnitTest){late_rows[i].row.name, late_streams, NULL, NULL,
						 &late_rows[i]};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
