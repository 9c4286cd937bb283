/* test_rule_parse.c - what is a rule file, and where it is not, at which character */
#include "tests/harness.h"

#include "state/rules/rules.h"

#include <string.h>

static const struct good {
	const char *name, *text;
} good[] = {
	{"the requirements' lines in quotes",
	 "section *\n  \"section/pid = field/pid\"\n  \"section/cpu = field/cpu\"\n"
	 "event sched_schedule\n  \"cpu[section/cpu]/thread = field/next_pid\"\n"
	 "event syscall\n  \"thread[cpu[section/cpu]/thread]/syscall[field/syscall_id]/id\n"
	 "     = field/syscall_id\"\n"
	 "event thread_list\n  \"thread[field/pid]/pid = field/pid\"\n"
	 "event thread_mmap\n  \"thread[field/pid]/mmap[field/address]/address = field/address\"\n"
	 "  \"thread[field/pid]/mmap[field/address]/end = field/end\"\n"
	 "  \"thread[field/pid]/mmap[field/address]/flags = field/flags\"\n"
	 "  \"thread[field/pid]/mmap[field/address]/pgoff = field/pgoff\"\n"
	 "  \"thread[field/pid]/mmap[field/address]/inode = field/inode\"\n"},
	{"and without",
	 "section *\n  section/pid = field/pid\n  section/cpu = field/cpu\n"
	 "event sched_schedule\n  cpu[section/cpu]/thread = field/next_pid\n"
	 "event syscall\n  thread[cpu[section/cpu]/thread]/syscall[field/syscall_id]/id\n"
	 "     = field/syscall_id\n"
	 "event thread_mmap\n  thread[field/pid]/mmap[field/address]/end = field/end\n"},
	{"losses", "event @lost\n  unknown cpu[section/cpu]/thread\n"},
	{"nothing", ""},
	{"only a comment, no last newline", "# nothing"},
	{"words are not reserved",
	 "event a\n delete/x = 1\n x = field/event\n y = field/when when field/when == 1\n"
	 " event = 1\n was = 2\n view += 1\n was was = when when when\n delete delete\n"
	 " x = in in (1)\n map[1] = true/x\n"},
	{"quoted names",
	 "event a\n \"nr-pages\"/x = field/\"nr-pages\"\n x/\"a b\"[1] = \"text\"\n"},
	{"a quoted statement with strings",
	 "event a\n \"x = \\\"two words\\\"\" # and a comment\n"},
	{"patterns",
	 "event \"OU[\", \"6W*\", sys_[a,b]*, sched:*, @start, @end when field/x > 1\n"},
	{"sections of events",
	 "event a, \"b c\" in section sched*\n x = 1\nevent in in section \"a b\" when field/y\n"
	 " x = 1\nevent @lost in section [ab]*\n unknown x\nsection sched*\n section/x = 1\n"},
	{"a division has blanks", "event a\n x = field/a / field/b\n"},
	{"open brackets go on", "event a\n x = (1 +\n\n  # more\n  2)\n y[\n 1\n] = 3\n"},
	{"names of expressions",
	 "let n = 3\nlet both = (has(field/a) &&\n has(field/b))\nlet let = !both\nevent a\n"
	 " x = n + -n when both || let\n n = 1\n y/n = 2\n let = 3\n"},
	{"every verb",
	 "event a\n a = 1\n a += 1\n was a = 1\n delete a[*]/b\n delete a/**\n unknown a\n"
	 " push a[1] = 1 when b\n pop a[1]\n"},
	{"maps", "map m { 1 = \"a\", \"x\" = 2\n & 0x10 = none\n -3 = 1.5\n * = true }\n"
		 "map m for perf {\n}\nevent a\n x = m(field/x)\n"},
	{"aliases",
	 "alias event sw = sched_switch, \"sched:sched_switch\"\nalias field a = b, \"c-d\"\n"},
	{"initial and views", "initial a[*]/b = -1\ninitial a/** = \"x\"\nview c[?k]/s = "
			      "t[c[?k]/t]/s\nview d = c[1]/s\n"},
	{"captures", "event a_*_*\n x = $2\n"},
	{"precedence is unlike C", "event a when field/x & 3 != 0\n x = ~~1 << 2 << 3 ~ \"4\"\n"},
	{"functions",
	 "event a\n x = label(field/e)\n x = top(s[1])\n x = has(field/a) && has(b[1]/c)\n"
	 " x = min(1, 2, 3) + int(\"5\")\n x = hex(1) =~ \"^0x\"\n"},
	{"the byte order mark", "\xef\xbb\xbf"
				"event a\n"},
	{"lines that end like DOS", "event a\r\n x = 1\r\n"},
	{"a set is included", "include linux\ninclude linux # once\nevent a\n x = 1\n"},
	{"include is no reserved word", "event a\n include = 1\n include/x = 2\n"},
	{"an include in quotes", "\"include linux\"\n"},
	{"maps of one name for formats", "map m { }\nmap m for ctf { }\nmap m for perf { }\n"},
};

/* An explain_line: appends what a line writes, and how it is evaluated. */
static void add_explained(void *arg, const struct explained_line *line)
{
	buf_printf(arg, "%s %s: %s\n", line->verb, line->writes,
		   line->evaluation ? line->evaluation : "when asked");
}

static void is_good(void **state)
{
	const struct good *row = *state;
	struct rules *rules = rules_new();
	struct error err = {0};
	struct buf text = {0};
	bool ok = rules_add(rules, "t", row->text, strlen(row->text), &err) &&
		  rules_explain(rules, add_explained, &text, &err);

	if (!ok)
		print_error("%s\n", err.text);
	assert_true(ok);
	buf_release(&text);
	rules_free(rules);
}

static const struct bad {
	const char *name, *text;
	uint32_t line, column;
	const char *says; /* part of the first error */
	size_t errors;
} bad[] = {
	{"a value is missing", "event a\n\tx = 1 +\n", 2, 9, "expected a value", 1},
	{"a line without a head", "x = 1\n", 1, 1, "expected a head", 1},
	{"a key is missing", "event a\n y[] = 2\n", 2, 4, "expected a value", 1},
	{"two words", "event a\n x = 1 2\n", 2, 8, "found '2'", 1},
	{"in a quoted statement", "event a\n \"z = \\\"a\\\" 3\"\n", 2, 13, "found '3'", 1},
	{"blanks in a path", "event a\n cpu[1] / x = 1\n", 2, 9, "expected '='", 1},
	{"a division without blanks", "event a\n x = (1)/2\n", 2, 9, "blanks on both sides", 1},
	{"bit operators mixed", "event a\n x = 1 & 2 | 3\n", 2, 12, "brackets", 1},
	{"comparisons in a chain", "event a\n x = 1 < 2 < 3\n", 2, 12, "do not chain", 1},
	{"the event is read only", "event a\n field/x = 3\n", 2, 2, "only read", 1},
	{"section values in an event block", "event a\n section/x = 3\n", 2, 2, "section blocks",
	 1},
	{"state in a section block", "section *\n x = 3\n", 2, 2, "section/NAME", 1},
	{"a float as key of a target", "event a\n x[1.5] = 3\n", 2, 4, "as key", 1},
	{"none as key of a target", "event a\n delete x[none]\n", 2, 11, "as key", 1},
	{"a float as key of what is read", "event a\n y = x[1.5]\n", 2, 8, "as key", 1},
	{"a float as key of an initial value", "initial x[1.5]/y = 3\n", 1, 11, "as key", 1},
	{"none as key of a view", "view x[none] = 3\n", 1, 8, "as key", 1},
	{"a star as key of a value", "event a\n x[*] = 3\n", 2, 4, "only delete", 1},
	{"characters count, not bytes", "event a\n x = \"\xc3\xa9\" $\n", 2, 10, "found '$'", 1},
	{"an open string", "event a\n x = \"abc\n", 2, 6, "not closed", 1},
	{"an odd escape", "event a\n x = \"a\\q\"\n", 2, 8, "escapes", 1},
	{"a number too large", "event a\n x = 18446744073709551616\n", 2, 6, "64 bits", 1},
	{"a number before letters", "event a\n x = 12ab\n", 2, 6, "begin with a digit", 1},
	{"no such map", "event a\n x = f(1)\n", 2, 6,
	 "(functions: label int str hex top has each_has min max substr split choose captures)", 1},
	{"an argument too many", "event a\n x = hex(1, 2)\n", 2, 6, "expected one value", 1},
	{"part of a text without its place", "event a\n x = substr(\"a\")\n", 2, 6,
	 "expected a text, where its part begins", 1},
	{"split without a number", "event a\n x = split(\"a\", \"b\")\n", 2, 6,
	 "expected a text, a separator", 1},
	{"a pattern that is read", "event a\n x = captures(\"a\", field/x)\n", 2, 6,
	 "expected a text, a pattern in quotes", 1},
	{"a group that is none", "event a\n x = captures(\"a\", \"b\", 64)\n", 2, 6,
	 "expected a text, a pattern in quotes", 1},
	{"a pattern that is wrong", "event a\n x = captures(\"a\", \"(\")\n", 2, 20,
	 "bad regular expression", 1},
	{"label of a number", "event a\n x = label(1)\n", 2, 6, "a field", 1},
	{"a capture without a star", "event a\n x = $1\n", 2, 6, "has 0", 1},
	{"a variable outside a view", "event a\n x = ?a\n", 2, 6, "only in a view", 1},
	{"a view of fields", "view v[?a] = field/x\n", 1, 14, "state only", 1},
	{"a variable that is not bound", "view v[?a] = x[?b]\n", 1, 17, "variable of the view", 1},
	{"two expressions of one name", "let a = 1\nlet b = a\nlet a = 2\n", 3, 1,
	 "'a' is there already, at t:1", 1},
	{"an expression without a name", "let true = 1\n", 1, 5, "the name of the expression", 1},
	{"an expression that is not there", "let a =\nevent a\n x = 1\n", 1, 8, "a value", 1},
	{"a capture in an expression by name", "let a = $1\nevent a_*\n x = a\n", 1, 9,
	 "stands only in the lines", 1},
	{"a call of no function in an expression by name", "let a = hexx(1)\nevent a\n x = a\n", 1,
	 9, "did you mean \"hex\"?", 1},
	{"an expression by name in a view", "let a = field/x\nview v[?k] = a\n", 1, 9, "state only",
	 1},
	{"an expression of expressions is too long",
	 "let a = 1+1+1+1+1+1+1+1\nlet b = a+a+a+a+a+a+a+a\nlet c = b+b+b+b+b+b+b+b\n", 3, 21,
	 "at most 1000", 1},
	{"a view of itself", "view a[?k] = b[?k]\nview b[?k] = a[?k]\n", 1, 6, "uses itself", 1},
	{"a regular expression", "event a\n x = field/a =~ \"(\"\n", 2, 17, "regular", 1},
	{"keys too deep", "event a\n x = a[a[a[a[a[a[a[a[a[1]]]]]]]]]\n", 2, 24, "8 deep", 1},
	{"a zero byte is refused by name", "event a\n \"x\\x00y\"/z = 1\n", 2, 2, "zero byte", 1},
	{"in something else", "event a in part b\n x = 1\n", 1, 12, "expected section", 1},
	{"in no section", "event a in section\n x = 1\n", 1, 19, "a pattern of section names", 1},
	{"in a section's moment", "event a in section @lost\n x = 1\n", 1, 20, "sections have no",
	 1},
	{"a section in a section", "section a in section b\n section/x = 1\n", 1, 11,
	 "when or the end", 1},
	{"an unknown moment", "event @stop\n", 1, 7, "@start, @lost, @contradiction or @end", 1},
	{"a map's entry, then the rest is read",
	 "map m {\n 1 = 2\n 3\n 4 = 5\n}\nevent a\n x = )\n", 3, 3, "expected '='", 2},
	{"whose recording, outside has()", "event a\n x = 1 when recording/tasks\n", 2, 13,
	 "expected has(recording/tasks), has(recording/gap) or has(recording/loss)", 1},
	{"something else of a recording", "event a\n x = 1 when has(recording/cpus)\n", 2, 17,
	 "expected has(recording/tasks), has(recording/gap) or has(recording/loss)", 1},
	{"all errors of a file", "x = 1\nevent a\n x =\n field/x = 1\n y = $\n z = 1\n", 1, 1,
	 "expected a head", 4},
	{"two maps of one name", "map m { 1 = 2 }\n\nmap m { 1 = 3 }\n", 3, 1,
	 "there already, at t:1", 1},
	{"two maps of one name for a format", "map m for ctf { }\nmap m for ctf { }\n", 2, 1,
	 "'m' for ctf is there already, at t:1", 1},
	{"a map like one that comes with yore", "include linux\nmap prev_state { }\n", 2, 1,
	 "at linux.rules:", 1},
	{"fields of each event without a pattern",
	 "event a\n x = 1 when each_has(field/a, field/b)\n", 2, 13,
	 "expected a pattern of event names in quotes, and fields", 1},
	{"a map nearly of that name", "map prev_state { }\nevent a\n x = prev_stat(1)\n", 3, 6,
	 "did you mean \"prev_state\"?", 1},
	{"a function nearly of that name", "event a\n x = hexx(1)\n", 2, 6, "did you mean \"hex\"?",
	 1},
	{"a set that is not there", "include linus\n", 1, 9, "did you mean \"linux\"?", 1},
	{"an include without a name", "include\n", 1, 8, "the name of a rule set", 1},
	{"an include of two", "include linux, linux\n", 1, 14, "the end of the line", 1},
	{"an empty name of a file", "include \"\"\n", 1, 9, "the name of a file", 1},
	{"a file beside a text", "include \"x.rules\"\n", 1, 9, "only a file can include", 1},
	{"a line behind an include has no head", "event a\ninclude linux\n x = 1\n", 3, 2,
	 "expected a head", 1},
	{"a failed line takes its `=` lines along", "event a\n x[\n = 1\n y = )\n", 3, 2, "value",
	 2},
};

static void is_bad(void **state)
{
	const struct bad *row = *state;
	struct rules *rules = rules_new();
	struct error err = {0};
	size_t n;

	assert_false(rules_add(rules, "t", row->text, strlen(row->text), &err) &&
		     rules_check(rules, &err));
	const struct rule_error *errors = rules_errors(rules, &n);
	struct buf text = {0};
	rules_add_error_text(rules, &text);
	if (n != row->errors || errors[0].column != row->column || errors[0].line != row->line)
		print_error("%s", buf_text(&text));
	buf_release(&text);
	assert_int_equal(errors[0].line, row->line);
	assert_int_equal(errors[0].column, row->column);
	assert_non_null(strstr(errors[0].text, row->says));
	assert_int_equal(n, row->errors);
	rules_free(rules);
}

static void caret_stands_below(void **state)
{
	struct rules *rules = rules_new();
	struct error err = {0};
	struct buf text = {0};
	const char *lines = "event a\n\tx = \"\xc3\xa9\" $\n";

	(void)state;
	assert_false(rules_add(rules, "my.rules", lines, strlen(lines), &err));
	rules_add_error_text(rules, &text);
	assert_non_null(strstr(buf_text(&text), "my.rules:2:10: "));
	assert_non_null(strstr(buf_text(&text), "\n  \tx = \"\xc3\xa9\" $\n  \t        ^\n"));
	buf_release(&text);
	rules_free(rules);
}

static void builtin_sets_are_good(void **state)
{
	size_t n;
	const struct rules_builtin *sets = rules_builtins(&n);

	(void)state;
	assert_true(n > 0);
	for (size_t i = 0; i < n; i++) {
		struct rules *rules = rules_new();
		struct error err = {0};
		assert_true(rules_add_builtin(rules, sets[i].name, &err));
		assert_true(rules_check(rules, &err));
		rules_free(rules);
	}
}

static size_t count_of(const char *text, const char *what)
{
	size_t n = 0;

	while ((text = strstr(text, what))) {
		text += strlen(what);
		n++;
	}
	return n;
}

/*
 * Nothing of the Linux rules needs to be evaluated forward, but for what pushes and pops calls, and
 * where many wakers wait for the interrupt that their CPU handled, and what perf's switch records
 * tell of threads that end, that have no records, or that are woken while they leave.
 */
static void linux_is_backward(void **state)
{
	struct rules *rules = rules_new();
	struct error err = {0};
	struct buf text = {0};

	(void)state;
	assert_true(rules_add_builtin(rules, "linux", &err));
	assert_true(rules_explain(rules, add_explained, &text, &err));
	assert_int_equal(count_of(buf_text(&text), "forward: "), 2);
	assert_int_equal(count_of(buf_text(&text), "push thread[*]/stack: forward: "), 1);
	assert_int_equal(count_of(buf_text(&text), "pop thread[*]/stack: forward: "), 1);
	assert_int_equal(count_of(buf_text(&text), "else forward"), 7);
	assert_int_equal(count_of(buf_text(&text), "thread[*]/state: backward while few"), 1);
	assert_int_equal(
		count_of(buf_text(&text), "thread[*]/state and all below: backward while few"), 2);
	assert_int_equal(count_of(buf_text(&text), "thread[*]/waker: backward while few"), 4);
	buf_release(&text);
	rules_free(rules);
}

int main(void)
{
	struct CMUnitTest tests[COUNT(good) + COUNT(bad) + 3];
	size_t n = 0;

	for (size_t i = 0; i < COUNT(good); i++)
		tests[n++] = (struct CMUnitTest){good[i].name, is_good, NULL, NULL,
						 (void *)(uintptr_t)&good[i]};
	for (size_t i = 0; i < COUNT(bad); i++)
		tests[n++] = (struct CMUnitTest){bad[i].name, is_bad, NULL, NULL,
						 (void *)(uintptr_t)&bad[i]};
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(caret_stands_below);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(builtin_sets_are_good);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(linux_is_backward);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
