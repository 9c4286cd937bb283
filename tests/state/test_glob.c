/* test_glob.c - names against patterns: * ? [..], and what each star stands for */
#include "state/model/glob.h"

#include "engine/base/buf.h"
#include "fixtures/rng.h"
#include "tests/harness.h"

#include <fnmatch.h>
#include <string.h>

static const struct row {
	const char *name, *pattern, *text, *captured; /* between commas; NULL: no match */
} rows[] = {
	{"nothing matches nothing", "", "", ""},
	{"nothing does not match a text", "", "a", NULL},
	{"a text is not matched by its beginning", "sched", "sched_switch", NULL},
	{"a text that is too short", "sched_switch", "sched", NULL},
	{"bytes are themselves", "a.b+c\\d", "a.b+c\\d", ""},
	{"? is one byte", "a?c", "abc", ""},
	{"? is not none", "a?", "a", NULL},
	{"a star captures", "sys_*", "sys_open", "open"},
	{"a star may stand for nothing", "a*b", "ab", ""},
	{"a star at the end takes all", "*", "anything", "anything"},
	{"two stars", "*_*", "irq_handler", "irq,handler"},
	{"each star takes as little as lets the rest match", "*_*_exit", "a_b_c_exit", "a,b_c"},
	{"only the last star is tried again", "a*b*c", "abbbbc", ",bbb"},
	{"the rest of a star stands twice", "*ab", "aabab", "aab"},
	{"stars in a row", "**", "xy", ",xy"},
	{"a star and what is not there", "*z", "abc", NULL},
	{"stars around", "*wak*", "sched_waking", "sched_,ing"},
	{"a class", "cpu[0-3]", "cpu2", ""},
	{"the class ends at its bound", "cpu[0-3]", "cpu4", NULL},
	{"bytes of a class", "[abc]x", "bx", ""},
	{"! negates a class", "[!abc]", "d", ""},
	{"! negates what is in it", "[!abc]", "a", NULL},
	{"^ negates a class", "[^a-c]", "b", NULL},
	{"] at the beginning is in the class", "[]a]", "]", ""},
	{"] behind ! too", "[!]a]", "]", NULL},
	{"- at the end is in the class", "[a-]", "-", ""},
	{"a range that goes down has nothing", "[z-a]", "m", NULL},
	{"bytes above 127 are in ranges", "[\x80-\xff]", "\xe4", ""},
	{"[ without ] is itself", "[abc", "[abc", ""},
	{"[ without ] is nothing else", "[abc", "a", NULL},
	{"a class behind a star", "*[0-9]", "cpu12", "cpu1"},
	{"nine stars are captured, the tenth is not", "*a*a*a*a*a*a*a*a*a*", "1a2a3a4a5a6a7a8a9a0",
	 "1,2,3,4,5,6,7,8,9"},
};

static bool match(const char *pattern, const char *text, struct captures *captures)
{
	return glob_match(pattern, strlen(pattern), text, strlen(text), captures);
}

static void is_matched(void **state)
{
	const struct row *row = *state;
	struct captures captures = {.n = 77};
	struct buf found = {0};

	assert_int_equal(match(row->pattern, row->text, &captures), row->captured != NULL);
	assert_int_equal(match(row->pattern, row->text, NULL), row->captured != NULL);
	if (!row->captured)
		return;
	for (uint32_t i = 0; i < captures.n; i++) {
		if (i)
			buf_add_char(&found, ',');
		buf_add(&found, captures.text[i], captures.len[i]);
	}
	assert_string_equal(buf_text(&found), row->captured);
	buf_release(&found);
}

static void random_text(struct rng *rng, const char *letters, char *out, uint32_t most)
{
	uint32_t len = rng_below(rng, most + 1);

	for (uint32_t i = 0; i < len; i++)
		out[i] = letters[rng_below(rng, (uint32_t)strlen(letters))];
	out[len] = 0;
}

/* Letters, stars, and classes that are closed: of others libc has an opinion of its own. */
static void random_pattern(struct rng *rng, struct buf *out)
{
	static const char *const pieces[] = {"a",    "b",     "*",     "*",      "?",     "[a-c]",
					     "[]b]", "[!]a]", "[^bc]", "[c-a-]", "[!-a]", "[a!^]"};

	buf_clear(out);
	for (uint32_t n = rng_below(rng, 8); n > 0; n--)
		buf_add_text(out, pieces[rng_below(rng, COUNT(pieces))]);
}

static void random_patterns_match_as_in_libc(void **state)
{
	struct rng rng = {1};
	struct buf pattern = {0};
	size_t matches = 0;

	(void)state;
	for (int round = 0; round < 200000; round++) {
		char text[16];

		random_pattern(&rng, &pattern);
		random_text(&rng, round % 2 ? "ab" : "abc[]!^-", text, 8);
		bool expected = !fnmatch(buf_text(&pattern), text, FNM_NOESCAPE);
		if (match(buf_text(&pattern), text, NULL) != expected)
			fail_msg("'%s' and '%s': fnmatch() says %d", pattern.data, text, expected);
		matches += expected;
	}
	assert_true(matches > 10000);
	buf_release(&pattern);
}

/* Of a pattern of letters and stars. */
static void captures_in_place_of_stars_are_the_text(void **state)
{
	struct rng rng = {2};
	size_t matches = 0;

	(void)state;
	for (int round = 0; round < 100000; round++) {
		char pattern[16], text[16];
		struct captures captures;
		struct buf filled = {0};
		uint32_t star = 0;

		random_text(&rng, "ab*", pattern, 8);
		random_text(&rng, "ab", text, 12);
		if (!match(pattern, text, &captures))
			continue;
		matches++;
		for (const char *p = pattern; *p; p++) {
			if (*p != '*')
				buf_add_char(&filled, *p);
			else
				buf_add(&filled, captures.text[star], captures.len[star]);
			star += *p == '*';
		}
		assert_string_equal(buf_text(&filled), text);
		assert_int_equal(captures.n, star);
		buf_release(&filled);
	}
	assert_true(matches > 10000);
}

/* At most pattern times text: retrying all stars would take longer than anybody waits. */
static void many_stars_end_in_time(void **state)
{
	enum { PAIRS = 500, LEN = 20000 };
	struct buf pattern = {0}, text = {0};

	(void)state;
	for (int i = 0; i < PAIRS; i++)
		buf_add_text(&pattern, "*a");
	buf_add_char(&pattern, 'b');
	for (int i = 0; i < LEN; i++)
		buf_add_char(&text, 'a');
	assert_false(glob_match(pattern.data, pattern.len, text.data, text.len, NULL));
	buf_release(&pattern);
	buf_release(&text);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + 3];
	size_t n = 0;

	ADD_ROWS(tests, n, rows, is_matched);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(random_patterns_match_as_in_libc);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(captures_in_place_of_stars_are_the_text);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(many_stars_end_in_time);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
