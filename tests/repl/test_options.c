/* test_options.c - words of a command line to options; each row is what a user types */
#include "repl/options.h"

#include "engine/base/buf.h"
#include "repl/cmd.h"
#include "tests/harness.h"

#include <string.h>

struct row {
	const char *name;
	const char *line; /* words parted by blanks */
	bool prompt;
	const char *wanted;  /* what describe() says; NULL: refused */
	const char *message; /* part of it */
} rows[] = {
	{"a command", "events /tmp", false, "events trace=/tmp", NULL},
	{"a trace alone", "/tmp", false, "- trace=/tmp", NULL},
	{"options before the command", "--utc events /tmp", false, "events trace=/tmp utc", NULL},
	{"options anywhere", "events --limit 3 /tmp --reverse", false,
	 "events trace=/tmp reverse limit=3", NULL},
	{"value after =", "events /tmp --limit=3", false, "events trace=/tmp limit=3", NULL},
	{"a negative word is a time", "at /tmp -200ms cpu[0]/thread", false,
	 "at trace=/tmp words=-200ms,cpu[0]/thread", NULL},
	{"a negative value", "events /tmp --begin -200ms", false, "events trace=/tmp begin=-200ms",
	 NULL},
	{"a dash is a word", "at /tmp - x", false, "at trace=/tmp words=-,x", NULL},
	{"lists by commas", "events /tmp --cpu 0,2-3", false, "events trace=/tmp cpus=0,2-3", NULL},
	{"lists by repeating", "events /tmp --name a --name b", false,
	 "events trace=/tmp names=a,b", NULL},
	{"lists by words", "events /tmp --name a b --cpu 1 2", false,
	 "events trace=/tmp names=a,b cpus=1,2", NULL},
	{"lists by words before the trace", "events --name a b --utc /tmp", false,
	 "events trace=/tmp names=a,b utc", NULL},
	{"a comma in brackets", "events /tmp --name x[,]y", false, "events trace=/tmp names=x[,]y",
	 NULL},
	{"lists do not take a command's words", "state /tmp --limit 2 a b", false,
	 "state trace=/tmp words=a,b limit=2", NULL},
	{"formats", "events /tmp --format json --time ns", false,
	 "events trace=/tmp format=3 time=3", NULL},
	{"csv counts in ns", "events /tmp --format csv", false, "events trace=/tmp format=2 time=3",
	 NULL},
	{"-- ends options", "at /tmp -- --x", false, "at trace=/tmp words=--x", NULL},
	{"the only beginning of a name", "long /tmp x", false, "longest trace=/tmp words=x", NULL},
	{"a script's words are its own", "run s.lua /tmp --top 3", false,
	 "run trace=/tmp words=s.lua,--top,3", NULL},
	{"options before the script", "run --begin +1s s.lua /tmp", false,
	 "run trace=/tmp words=s.lua begin=+1s", NULL},
	{"run lists", "run --list", false, "run list", NULL},
	{"no trace needed", "rules linux", false, "rules words=linux", NULL},
	{"explain", "explain at /tmp +1s x", false, "at trace=/tmp words=+1s,x explained", NULL},
	{"in the prompt", "at +1s x", true, "at words=+1s,x", NULL},
	{"in the prompt a script's words", "run s.lua --top 3", true, "run words=s.lua,--top,3",
	 NULL},
	{"help of a command", "events --help", false, "events help", NULL},

	{"ambiguous", "re /tmp", false, "repl trace=/tmp", NULL},
	{"ambiguous names", "r /tmp", false, NULL, "ambiguous: 'r' may be run, rules, repl"},
	{"neither command nor trace", "evnts /tmp", false, NULL, "evnts: neither"},
	{"trace is missing", "events", false, NULL, "TRACE is missing"},
	{"script is missing", "run", false, NULL, "SCRIPT is missing"},
	{"no such option", "events /tmp --nonsense", false, NULL, "--nonsense: no such option"},
	{"another command's option", "events /tmp --why", false, NULL, "--why: no such option of"},
	{"value is missing", "events /tmp --limit", false, NULL, "--limit: N is missing"},
	{"no number", "events /tmp --limit many", false, NULL, "'many' is not a number"},
	{"number too great", "events /tmp --limit 18446744073709551616", false, NULL,
	 "is not a number"},
	{"no such format", "events /tmp --format xml", false, NULL, "'xml' is none of"},
	{"a flag with a value", "events /tmp --reverse=1", false, NULL, "takes no value"},
	{"a word too many", "info /tmp more", false, NULL, "'more' is too much"},
	{"a path is missing", "state /tmp", false, NULL, "more is needed"},
};

static void add_words(struct buf *out, const char *name, const struct words *words)
{
	for (size_t i = 0; i < words->count; i++) {
		if (i)
			buf_add_text(out, ",");
		else
			buf_printf(out, " %s=", name);
		buf_add_text(out, words->items[i]);
	}
}

static void describe(const struct options *o, struct buf *out)
{
	buf_add_text(out, o->cmd ? o->cmd->name : "-");
	if (o->help) {
		buf_add_text(out, " help");
		return;
	}
	if (o->trace)
		buf_printf(out, " trace=%s", o->trace);
	add_words(out, "words", &o->words);
	add_words(out, "names", &o->names);
	add_words(out, "cpus", &o->cpus);
	if (o->begin)
		buf_printf(out, " begin=%s", o->begin);
	if (o->format)
		buf_printf(out, " format=%d", (int)o->format);
	if (o->time)
		buf_printf(out, " time=%d", (int)o->time);
	buf_add_text(out, o->reverse ? " reverse" : "");
	buf_add_text(out, o->utc ? " utc" : "");
	buf_add_text(out, o->list ? " list" : "");
	buf_add_text(out, o->explain_only ? " explained" : "");
	if (o->has_limit)
		buf_printf(out, " limit=%llu", (unsigned long long)o->limit);
}

static void parses(void **state)
{
	const struct row *row = *state;
	char line[256], *words[32];
	int n = 0;
	struct options options;
	struct error err = {0};
	struct buf text = {0};

	strcpy(line, row->line);
	for (char *word = strtok(line, " "); word; word = strtok(NULL, " "))
		words[n++] = word;
	bool ok = options_parse(n, words, row->prompt, &options, &err);
	if (row->wanted) {
		assert_string_equal(err.text, "");
		assert_true(ok);
		describe(&options, &text);
		assert_string_equal(buf_text(&text), row->wanted);
	} else {
		assert_false(ok);
		assert_int_equal(err.kind, ERR_QUERY);
		if (!strstr(err.text, row->message))
			fail_msg("'%s' does not say '%s'", err.text, row->message);
	}
	buf_release(&text);
	options_release(&options);
}

/* Every command's help has examples, and every example parses. */
static void examples_parse(void **state)
{
	(void)state;
	for (size_t i = 0; commands[i]; i++) {
		const char *at = commands[i]->help;
		assert_non_null(strstr(at, "  $ "));
		while ((at = strstr(at, "$ yore "))) {
			char line[512], *words[32];
			struct options options;
			struct error err = {0};
			size_t len = strcspn(at += 7, "\n");
			int n = 0;
			memcpy(line, at, len);
			line[len] = 0;
			for (char *c = line; *c; c++) /* one word inside quotes */
				if (*c == '\'')
					for (*c++ = ' '; *c && *c != '\''; c++)
						*c = *c == ' ' ? '_' : *c;
			for (char *c = line; *c; c++)
				*c = *c == '\'' ? ' ' : *c;
			for (char *word = strtok(line, " "); word; word = strtok(NULL, " "))
				words[n++] = word;
			bool ok = options_parse(n, words, false, &options, &err);
			options_release(&options);
			/* the example trace need not be below this folder */
			if (!ok && !strstr(err.text, "neither a command nor a trace"))
				fail_msg("%.*s: %s", (int)len, at, err.text);
		}
	}
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + 1];

	for (size_t i = 0; i < COUNT(rows); i++)
		tests[i] = (struct CMUnitTest){rows[i].name, parses, NULL, NULL, &rows[i]};
	tests[COUNT(rows)] =
		(struct CMUnitTest){"examples of help parse", examples_parse, NULL, NULL, NULL};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
