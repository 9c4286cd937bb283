/*
 * test_oneliner.c - one-liners without a trace: mistakes and their places, values, formats, limits
 *
 * Formats are compared with the C library's printf(), buckets of hist() with a search of them all.
 */
#include "engine/base/mem.h"
#include "oneliner/format.h"
#include "oneliner/oneliner.h"

#include <stdio.h>
#include <string.h>

#include "tests/harness.h"

/* ---- mistakes ---- */

static struct mistake {
	const char *name, *text, *told; /* `told` begins the message */
} mistakes[] = {
	{"nothing", "  // only a comment\n", "line 1, column 1: the program is empty"},
	{"no name", "{ @ = count(); }", "column 1: expected the name of an event"},
	{"no block", "a", "column 2: expected '{', found the end"},
	{"block not closed", "a { @ = count()", "column 16: expected ';' or '}', found the end"},
	{"no semicolon", "a { @ = count() @ = count(); }",
	 "column 17: expected ';' or '}', found '@'"},
	{"comment not closed", "a { /* }", "column 5: the comment has no end"},
	{"text not closed", "a { print(\"x); }", "column 11: the text has no closing quote"},
	{"escape", "a { print(\"\\q\"); }", "column 12: no such escape"},
	{"number too large", "a { print(18446744073709551616); }",
	 "column 11: the number does not fit"},
	{"number with a point", "a { print(1.5); }", "column 11: not a whole number"},
	{"second line", "a {\n  @ = cout();\n}",
	 "line 2, column 7: there is no function cout(): did you mean "
	 "\"count\"?"},
	{"function unknown", "a { foo(1); }", "column 5: there is no function foo()"},
	{"acts on a system", "a { system(\"ls\"); }",
	 "column 5: system(): acts on a system that runs"},
	{"reads memory", "a { @ = count(); print(kaddr(\"x\")); }",
	 "column 24: kaddr(): reads the memory"},
	{"a pointer", "a { print(*x); }", "column 11: a recording has no memory"},
	{"not told", "a { @[curtask] = count(); }", "column 7: curtask: no trace tells it"},
	{"loop", "a { while (1) { } }", "column 5: 'while': there are no loops"},
	{"unroll too often", "a { unroll(101) { } }", "column 12: unroll goes from 1 to 100"},
	{"unroll of unroll", "a { unroll(100) { unroll(100) { } } }",
	 "column 19: blocks are unrolled at most"},
	{"value alone", "a { 3; }", "column 5: a value alone does nothing"},
	{"call alone", "a { strlen(\"a\"); }", "column 5: strlen() does nothing alone"},
	{"assigned to a number", "a { 3 = 4; }", "column 7: only a map"},
	{"count alone", "a { count(); }", "column 5: count() can only be assigned to a map"},
	{"count in a variable", "a { $x = count(); }",
	 "column 10: count() can only be assigned to a map"},
	{"count of a value", "a { @ = count(1); }", "column 9: count() takes 0 values"},
	{"too many values of printf",
	 "a { printf(\"%d\", 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7); }",
	 "column 5: printf() takes 1 to 16 values, here are 17"},
	{"brackets without end",
	 "END { print(((((((((((((((((((((((((((((((((((((((((((((((((((((((((1",
	 "column 62: the expression is nested too deeply"},
	{"a large pattern",
	 "a { @[captures(x, \"((((a{1,1000}){1,1000}){1,1000}){1,1000})\")] = count(); }",
	 "column 19: captures(): the pattern is wrong"},
	{"sum of nothing", "a { @ = sum(); }", "column 9: sum() takes 1 value"},
	{"sum of a text", "a { @ = sum(\"a\"); }",
	 "column 13: sum: expected a number, found a text"},
	{"two aggregations", "a { @ = count(); @ = sum(1); }",
	 "column 18: @ is of count() elsewhere"},
	{"map without value", "a { print(@x); }", "column 11: nothing gives @x a value"},
	{"map without value, near one", "a { @ab = count(); print(@abc); }",
	 "column 26: nothing gives @abc a value: did you mean \"@ab\"?"},
	{"histogram as a number", "a { @h = hist(1); print(@h + 1); }",
	 "column 25: @h is of hist()"},
	{"keys differ", "a { @[1] = count(); @[1, 2] = count(); }",
	 "column 21: @ has 1 key elsewhere, here 2"},
	{"key types differ", "a { @[1] = count(); @[\"a\"] = count(); }",
	 "column 23: key 1 of @ is a number"},
	{"too many keys", "a { @[1,2,3,4,5,6,7,8,9] = count(); }",
	 "column 5: a map has at most 8 keys"},
	{"value types differ", "a { @ = 1; @ = \"a\"; }", "column 12: @ has a number elsewhere"},
	{"variable unknown", "a { print($x); }", "column 11: $x has no value yet"},
	{"positional parameter", "a { print($1); }", "column 11: '$1': words of the command line"},
	{"text and number", "a { print(1 == \"a\"); }",
	 "column 13: a number is compared with a text"},
	{"sum of texts", "a { print(\"a\" + \"b\"); }", "column 15: the operator is for numbers"},
	{"field in BEGIN", "BEGIN { print(x); }", "column 15: there is no event here"},
	{"thread in END", "END { print(tid); }", "column 13: there is no event here"},
	{"BEGIN and an event", "a, BEGIN { }", "column 4: 'BEGIN': events have fields"},
	{"headers alone", "#include <linux/sched.h>", "column 1: the program is empty"},
	{"the preprocessor", "#define X 1\nEND { }",
	 "line 1, column 1: '#define': there is no preprocessor"},
	{"interval of another unit", "interval:5h { }", "column 1: 'interval:5h': an interval is"},
	{"interval with two units", "i:5s:1 { }", "column 1: 'i:5s:1': an interval is"},
	{"let without a value", "a { let $x; }", "column 9: let gives a variable its value"},
	{"let of a map", "a { let @x = 1; }", "column 9: let gives a variable its value"},
	{"function at an address in END", "END { print(ksym(1)); }",
	 "column 13: ksym(): there is no event here"},
	{"samples by their short name", "p:hz:99 { }", "column 1: p: samples were taken"},
	{"interval without unit", "interval:5 { }", "column 1: 'interval:5': an interval is"},
	{"profile", "profile:hz:99 { }", "column 1: profile: samples were taken"},
	{"printf without format", "a { printf(1); }", "column 12: printf: its format is a text"},
	{"conversion unknown", "a { printf(\"%q\", 1); }", "column 12: '%q': conversions are"},
	{"width too large", "a { printf(\"%99999d\", 1); }", "column 12: '%99999d': conversions"},
	{"conversion without value", "a { printf(\"%d %d\", 1); }",
	 "column 5: printf: the format has 2"},
	{"text as %d", "a { printf(\"%d\", \"a\"); }", "column 18: printf: expected a number"},
	{"lhist without steps", "a { @ = lhist(1, 0, 10, 20); }",
	 "column 9: lhist(): from 1 to 1000 steps"},
	{"lhist of a field", "a { @ = lhist(1, x, 10, 20); }",
	 "column 9: lhist(): least, greatest"},
	{"hist of many bits", "a { @ = hist(1, 6); }", "column 17: hist(): its second value"},
	{"two lhists", "a { @ = lhist(1, 0, 10, 5); @ = lhist(1, 0, 10, 2); }",
	 "column 33: @ has another lhist()"},
	{"pattern wrong", "a { @[captures(x, \"(\")] = count(); }",
	 "column 19: captures(): the pattern is wrong"},
	{"match of a wrong pattern", "a /x =~ \"(\"/ { }", "column 9: =~: the pattern is wrong"},
	{"glob of a number", "a { print(5 ~ \"5\"); }", "column 11: ~: expected a text"},
	{"in of several types", "a { print(5 in (5, \"5\")); }",
	 "column 20: in: expected a number"},
	{"in without a bracket", "a { print(5 in 5); }", "column 16: expected '(' behind in"},
	{"unit of nothing", "a { print(5min); }", "column 11: not a whole number; units of time"},
	{"span that is too long", "a { print(9999999999999s); }",
	 "column 11: the number does not fit"},
	{"label of a number", "a { print(label(1)); }", "column 17: label(): it is of a field"},
	{"group that is none", "a { @[captures(x, \"a\", 64)] = count(); }",
	 "column 24: captures(): its group is a number from 0 to 63"},
	{"least of two alone", "a { min(1, 2); }", "column 5: min() does nothing alone"},
	{"least of two in a map", "a { @ = min(1); @ = min(1, 2); }",
	 "column 17: @ is of min() elsewhere"},
	{"step before in", "a { $x = 1; print($x++ in (1, 2)); }", "column 19: in: ++ and --"},
	{"tuple", "a { @[(1, 2)] = count(); }", "column 9: there are no tuples"},
	{"element in brackets", "a { print(args.x[0]); }", "column 16: an element of an array"},
	{"bracket of a path", "a { print(cpu[1); }", "column 11: the path's bracket is not closed"},
	{"predicate not ended", "a /1 > 0 { }",
	 "column 10: expected '/' and '{' behind the predicate"},
	{"odd character", "a { ` }", "column 5: a character that means nothing"},
	{"rows of a value", "a { print(1, 2); }", "column 14: print(): a number of rows"},
	{"column counts characters", "a { print(\"\303\244\303\266\") print(1); }",
	 "column 17: expected ';'"},
};

static void is_told(void **state)
{
	const struct mistake *row = *state;
	struct oneliner program;
	struct error err = {0};

	assert_false(oneliner_read(row->text, strlen(row->text), &program, &err));
	oneliner_release(&program);
	if (strncmp(err.text, row->told, strlen(row->told)) != 0)
		fail_msg("%s: told is %s", row->text, err.text);
	assert_int_equal(err.kind, ERR_QUERY);
}

/* ---- values ---- */

static struct value_row {
	const char *name, *text, *out;
} values[] = {
	{"order of binding", "END { print(1 + 2 * 3 - 8 / 4 % 3 << 1 | 1); }", "11\n"},
	{"comparisons", "END { print(1 < 2 == 1 && 3 != 4 && !(5 > 6)); }", "1\n"},
	{"difference below 0", "END { print(3 - 5); }", "-2\n"},
	{"greatest number", "END { print(0xffffffffffffffff); print(0xffffffffffffffff + 0); }",
	 "18446744073709551615\n18446744073709551615\n"},
	{"underscores and powers", "END { print(1_000); print(2e3); print(0xFf); }",
	 "1000\n2000\n255\n"},
	{"division by zero is not known", "END { print(1 / 0); @ = 1 % 0; }", "?\n"},
	{"casts",
	 "END { print((uint8)300); print((int8)200); print((uint64)-1); print((int32_t)5); }",
	 "44\n-56\n18446744073709551615\n5\n"},
	{"choice", "END { print(1 ? 2 : 3); print(0 ? 2 : \"a\" == \"a\" ? 4 : 5); }", "2\n4\n"},
	{"unary", "END { print(-3); print(~0); print(!5); }", "-3\n-1\n0\n"},
	{"shift", "END { print(1 << 63); print(-8 >> 1); }", "9223372036854775808\n-4\n"},
	{"and does not look on", "END { @a = 1; print(0 && @a++); print(1 || @a++); }",
	 "0\n1\n@a: 1\n"},
	{"increments",
	 "END { $x = 5; $y = $x++; $z = ++$x; print($y); print($z); print($x--); print($x); }",
	 "5\n7\n7\n6\n"},
	{"increments of maps", "END { @[1]++; ++@[1]; print(@[1]--); @[\"no\" == \"no\"] += 5; }",
	 "2\n@[1]: 6\n"},
	{"assignments",
	 "END { $x = 10; $x += 5; $x -= 1; $x *= 3; $x /= 2; $x %= 8; $x <<= 3; $x |= 1; "
	 "$x ^= 2; $x &= 0xff; $x >>= 1; print($x); }",
	 "21\n"},
	{"if, else if, else",
	 "END { unroll(3) { @i++; if (@i == 1) { print(\"one\"); } else if @i == 2 { "
	 "print(\"two\"); } else { print(\"more\"); } } clear(@i); }",
	 "one\ntwo\nmore\n"},
	{"return ends the block", "END { print(1); return; print(2); } END { print(3); }",
	 "1\n3\n"},
	{"let", "END { let $x = 5; let $y = $x + 1; print($y); }", "6\n"},
	{"first line of a program's file", "#!/usr/bin/yore do -f\nEND { print(1); }", "1\n"},
	{"headers of the kernel",
	 "#!/usr/bin/bpftrace\n#include <linux/sched.h>\n\n// x\n#include \"a.h\"\n"
	 "END { print(TASK_RUNNING); print(TASK_UNINTERRUPTIBLE); print(true); }",
	 "0\n2\n1\n"},
	{"errors of system calls", "END { print(strerror(2)); print(strerror(-1)); }",
	 "No such file or directory\nUnknown error -1\n"},
	{"exit, and END", "BEGIN { print(1); exit(); print(2); } END { print(3); }", "1\n3\n"},
	{"missing keys",
	 "END { print(@[7] + 0); print(@s[1] == \"\"); @[1] = 2; @s[2] = \"x\"; clear(@); "
	 "clear(@s); }",
	 "0\n1\n"},
	{"maps print themselves by name, values rise",
	 "END { @b[\"x\"] = 3; @b[\"y\"] = 1; @a = 7; }", "@a: 7\n@b[y]: 1\n@b[x]: 3\n"},
	{"equal values go by key", "END { @[2, \"b\"] = 1; @[10, \"a\"] = 1; @[2, \"a\"] = 1; }",
	 "@[2, a]: 1\n@[2, b]: 1\n@[10, a]: 1\n"},
	{"the greatest alone",
	 "END { @[1] = 1; @[2] = 2; @[3] = 30; print(@, 2); print(@, 1, 10); clear(@); }",
	 "@[2]: 2\n@[3]: 30\n@[3]: 3\n"},
	{"one entry", "END { @[1] = 1; @[2] = 2; print(@[2]); print(@[3]); clear(@); }",
	 "@[2]: 2\n"},
	{"delete, has_key, len",
	 "END { @[1] = 1; @[2] = 2; delete(@[1]); print(len(@)); print(has_key(@, 1)); "
	 "print(has_key(@, 2)); delete(@, 2); print(len(@)); }",
	 "1\n0\n1\n0\n"},
	{"zero",
	 "END { @c = count(); @c = count(); zero(@c); @h = hist(3); zero(@h); @s = \"x\"; "
	 "zero(@s); "
	 "print(@c); print(@s); clear(@c); clear(@s); clear(@h); }",
	 "@c: 0\n@s: \n"},
	{"aggregations",
	 "END { @n = min(5); @n = min(-3); @x = max(5); @x = max(-3); @a = avg(4); @a = avg(7); "
	 "@s = stats(4); @s = stats(7); @t = sum(4); @t = sum(-7); }",
	 "@a: 5\n@n: -3\n@s: count 2, average 5, total 11\n@t: -3\n@x: 5\n"},
	{"text functions",
	 "END { print(substr(\"abcdef\", 2)); print(substr(\"abcdef\", 2, 3)); "
	 "print(substr(\"abc\", 9)); print(split(\"a|b||c\", \"|\", 2)); "
	 "print(split(\"B|12|name\", \"|\", 1)); print(split(\"a\", \"|\", 1)); "
	 "print(strlen(\"abc\")); print(str(\"abcdef\", 4)); }",
	 "cdef\ncde\n\n\n12\n\n3\nabc\n"},
	{"captures",
	 "END { print(captures(\"B|12|name\", \"^B\\\\|(\\\\d+)\\\\|(.*)\")); "
	 "print(captures(\"B|12|name\", \"(\\\\d+).(.*)\", 2)); print(captures(\"x\", \"(y)\")); }",
	 "12\nname\n\n"},
	{"comparisons of texts",
	 "END { print(\"ab\" < \"b\"); print(strncmp(\"abc\", \"abd\", 2)); "
	 "print(strncmp(\"abc\", \"abd\", 3)); print(strcontains(\"abc\", \"bc\")); }",
	 "1\n0\n-1\n1\n"},
	{"globs, expressions and lists",
	 "END { print(\"make\" ~ \"ma*\"); print(\"make\" ~ \"a*\"); print(\"make\" =~ \"a.e$\"); "
	 "print(\"make\" =~ \"^a\"); print(3 in (1, 2, 3)); print(\"a\" in (\"b\") || 2 + 1 in "
	 "(3)); "
	 "print(!(4 in (1, 2))); $x =~5; print($x); }",
	 "1\n0\n1\n0\n1\n1\n1\n-6\n"},
	{"functions of conditions",
	 "END { print(min(3, 1, 2)); print(max(1, 2)); print(int(\"0x10\")); print(int(5 > 4)); "
	 "print(hex(255)); print(choose(1 > 2, \"a\", \"b\")); print(has(1 / 0)); "
	 "print(has(\"\")); "
	 "$x = 2; print(2 in (1, $x)); print(3 in (1, $x)); print(3 in (1 / 0, $x)); }",
	 "1\n2\n16\n1\n0xff\nb\n0\n1\n1\n0\n?\n"},
	{"what is not known decides nothing alone",
	 "END { print(1 / 0 == 1 || 1); print(0 && 1 / 0); print(1 / 0 && 0); print(!(1 / 0)); }",
	 "1\n0\n0\n?\n"},
	{"units of time", "END { print(3us); print(1.5ms); print(2s / 1ms); }",
	 "3000\n1500000\n2000\n"},
	{"state in a predicate is no division", "END { $x = 8; print($x /2/ 2); }", "2\n"},
	{"several probes",
	 "BEGIN { @ = 1; } END /@ == 1/ { print(\"yes\"); clear(@); } END /@ == 1/ { print(2); }",
	 "yes\n"},
	{"comments", "BEGIN { /* a\n b */ print(1); // c\n }", "1\n"},
};

static bool keep(void *arg, const char *bytes, size_t len)
{
	buf_add(arg, bytes, len);
	return true;
}

/* The program over a trace without events. */
static void run_text(const char *text, bool json, struct buf *out)
{
	struct trace trace = {0};
	struct outlet outlet = {.json = json, .utc = true, .write = keep, .arg = out};
	struct oneliner_result result;
	struct oneliner_question question;
	struct error err = {0};

	if (!oneliner_open(text, strlen(text), &trace, &question, &err))
		fail_msg("%s: %s", text, err.text);
	const struct oneliner_work work = {.question = &question, .outlet = &outlet};
	if (!oneliner_run(&work, &result, &err))
		fail_msg("%s: %s", text, err.text);
	outlet_release(&outlet);
	oneliner_close(&question);
}

static void is_printed(void **state)
{
	const struct value_row *row = *state;
	struct buf out = {0};

	run_text(row->text, false, &out);
	assert_string_equal(buf_text(&out), row->out);
	buf_release(&out);
}

static void json_is_bpftraces(void **state)
{
	struct buf out = {0};

	(void)state;
	run_text("END { @[1, \"a\\\"\"] = 5; @c = count(); @h = hist(5); @h = hist(-1); @l[\"k\"] "
		 "= lhist(3, 0, 10, 5);"
		 " @s = stats(4); @t = \"x\"; printf(\"%d\\n\", 3); print(4); print(\"y\"); }",
		 true, &out);
	assert_string_equal(
		buf_text(&out),
		"{\"type\": \"printf\", \"data\": \"3\\n\"}\n"
		"{\"type\": \"value\", \"data\": 4}\n"
		"{\"type\": \"value\", \"data\": \"y\"}\n"
		"{\"type\": \"map\", \"data\": {\"@\": {\"1,a\\\"\": 5}}}\n"
		"{\"type\": \"map\", \"data\": {\"@c\": 1}}\n"
		"{\"type\": \"hist\", \"data\": {\"@h\": [{\"max\": -1, \"count\": 1},"
		"{\"min\": 0, \"max\": 0, \"count\": 0},{\"min\": 1, \"max\": 1, \"count\": 0},"
		"{\"min\": 2, \"max\": 3, \"count\": 0},{\"min\": 4, \"max\": 7, \"count\": 1}]}}\n"
		"{\"type\": \"hist\", \"data\": {\"@l\": {\"k\": [{\"min\": 0, \"max\": 4, "
		"\"count\": 1}]}}}\n"
		"{\"type\": \"stats\", \"data\": {\"@s\": {\"count\": 1, \"average\": 4, "
		"\"total\": 4}}}\n"
		"{\"type\": \"map\", \"data\": {\"@t\": \"x\"}}\n");
	buf_release(&out);
}

/* As in the text of bpftrace's manual. */
static void histograms_are_bpftraces(void **state)
{
	struct buf out = {0};

	(void)state;
	run_text("END { @ = hist(0); @ = hist(1); @ = hist(2); @ = hist(3); @ = hist(2000); "
		 "@l = lhist(-5, 0, 4096, 2048); @l = lhist(5000, 0, 4096, 2048); }",
		 false, &out);
	assert_string_equal(
		buf_text(&out),
		"@:\n"
		"[0]                    1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n"
		"[1]                    1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n"
		"[2, 4)                 2 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
		"[4, 8)                 0 |                                                    |\n"
		"[8, 16)                0 |                                                    |\n"
		"[16, 32)               0 |                                                    |\n"
		"[32, 64)               0 |                                                    |\n"
		"[64, 128)              0 |                                                    |\n"
		"[128, 256)             0 |                                                    |\n"
		"[256, 512)             0 |                                                    |\n"
		"[512, 1K)              0 |                                                    |\n"
		"[1K, 2K)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@                          |\n"
		"\n"
		"@l:\n"
		"(..., 0)               1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
		"[0, 2K)                0 |                                                    |\n"
		"[2K, 4K)               0 |                                                    |\n"
		"[4K, ...)              1 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@|\n"
		"\n");
	buf_release(&out);
}

/* ---- formats ---- */

#define FORMATS(X)                                                                          \
	X("%d", 42)                                                                         \
	X("%5d|", -42) X("%-5d|", 42) X("%05d", -42) X("%+d", 42) X("% d", 42) X("%x", 255) \
		X("%#x", 255) X("%#o", 8) X("%X", 48879) X("%08x", 255) X("%.5d", 42)       \
			X("%8.5d|", 42) X("%-8.3x|", 10) X("%u", 7) X("%o", 64) X("%%%d%%", 1)

static void formats_are_those_of_c(void **state)
{
	char wanted[64], text[128];
	struct buf out = {0};

	(void)state;
#define ROW(format, number)                                                      \
	snprintf(wanted, sizeof wanted, format, number);                         \
	snprintf(text, sizeof text, "END { printf(%s, %d); }", #format, number); \
	buf_clear(&out);                                                         \
	run_text(text, false, &out);                                             \
	assert_string_equal(buf_text(&out), wanted);
	FORMATS(ROW)
	buf_clear(&out);
	run_text("END { printf(\"%6s|%-6s|%.2s|%c|%lld %s\\n\", \"abc\", \"abc\", \"abc\", 65, -1, "
		 "12); }",
		 false, &out);
	assert_string_equal(buf_text(&out), "   abc|abc   |ab|A|-1 12\n");
	buf_release(&out);
}

/* ---- limits ---- */

static void buckets_hold_their_values(void **state)
{
	(void)state;
	for (unsigned bits = 0; bits <= 5; bits++) {
		struct map_use use = {
			.name = "@", .aggregate = FUNCTION_HIST, .of = {AGGREGATE_LOG2, bits}};
		for (unsigned power = 0; power < 64; power++) {
			for (int more = -1; more <= 1; more++) {
				uint64_t number = (UINT64_C(1) << power) + (uint64_t)more;
				struct error err;
				struct map map;
				map_init(&map, &use, NULL);
				struct accumulator *total = &map_at(&map, NULL, &err)->totals[0];
				accumulate(&use.of, total, number);
				uint32_t end, i = accumulator_buckets(&use.of, total, &end);
				struct bucket bucket = accumulator_bucket(&use.of, total, i);
				assert_true(i > 0 && bucket.low <= number);
				assert_true(number < bucket.high);
				assert_int_equal(end, i + 1);
				map_clear(&map);
			}
		}
	}
}

static void a_million_keys_are_enough(void **state)
{
	struct map_use use = {.name = "@big", .aggregate = FUNCTION_COUNT, .nkeys = 1};
	struct error err = {0};
	struct value key;
	struct map map;

	(void)state;
	map_init(&map, &use, NULL);
	for (int64_t i = 0; i < MAP_KEYS_MAX; i++) {
		key = value_s64(i);
		assert_non_null(map_at(&map, &key, &err));
	}
	assert_non_null(map_at(&map, &key, &err)); /* it is there */
	key = value_s64(-1);
	assert_null(map_at(&map, &key, &err));
	assert_int_equal(strncmp(err.text, "@big has more than 1000000 keys", 31), 0);
	map_clear(&map);
	assert_int_equal(map.groups.bytes, 0);
}

static void long_texts_are_enough(void **state)
{
	struct map_use use = {.name = "@big",
			      .is_plain = true,
			      .value = TYPE_TEXT,
			      .nkeys = 1,
			      .of = {AGGREGATE_VALUE}};
	struct map map;
	struct error err = {0};
	char *text = mem_new(1 << 20);
	struct value value = value_text(text, 1 << 20);
	bool good = true;
	int64_t i;

	(void)state;
	map_init(&map, &use, NULL);
	for (i = 0; good && i < 1000; i++) {
		struct value number = value_s64(i);
		struct group *entry = map_at(&map, &number, &err);
		good = entry && entry_set(&map, entry, &value, &err);
	}
	assert_in_range(i, 500, 514);
	assert_non_null(strstr(err.text, "512 MiB"));
	map_clear(&map);
	assert_int_equal(map.groups.bytes, 0);
	mem_free(text);
}

/* Thousands of maps have no more than one. */
static void maps_share_their_room(void **state)
{
	struct map_use use = {.name = "@big",
			      .is_plain = true,
			      .value = TYPE_TEXT,
			      .nkeys = 1,
			      .of = {AGGREGATE_VALUE}};
	uint64_t all = 0;
	struct map maps[8];
	struct error err = {0};
	struct value number;
	char *text = mem_new(1 << 20);
	struct value value = value_text(text, 1 << 20);
	bool good = true;
	int64_t i;

	(void)state;
	for (size_t m = 0; m < 8; m++)
		map_init(&maps[m], &use, &all);
	for (i = 0; good && i < 1000; i++) {
		struct map *map = &maps[i % 8];
		number = value_s64(i / 8);
		struct group *entry = map_at(map, &number, &err);
		good = entry && entry_set(map, entry, &value, &err);
	}
	assert_in_range(i, 500, 514);
	assert_non_null(strstr(err.text, "512 MiB"));
	map_clear(&maps[0]); /* gives room for others */
	assert_in_range(all, 440 << 20, 450 << 20);
	assert_non_null(map_at(&maps[1], &number, &err));
	for (size_t m = 0; m < 8; m++)
		map_clear(&maps[m]);
	assert_int_equal(all, 0);
	mem_free(text);
}

/* A deleted entry's room is used again: what stood there is gone. */
static void deleted_entries_are_new_again(void **state)
{
	struct map_use use = {
		.name = "@", .aggregate = FUNCTION_HIST, .nkeys = 1, .of = {AGGREGATE_LOG2}};
	struct error err;
	struct map map;
	uint32_t end;

	(void)state;
	map_init(&map, &use, NULL);
	for (int64_t i = 0; i < 10000; i++) {
		struct value number = value_s64(i);
		assert_null(groups_find(&map.groups, &number));
		struct group *entry = map_at(&map, &number, &err);
		assert_int_equal(entry->totals[0].count, 0);
		uint32_t first = accumulator_buckets(&use.of, &entry->totals[0], &end);
		assert_int_equal(first, end);
		accumulate(&use.of, &entry->totals[0], 3);
		assert_ptr_equal(groups_find(&map.groups, &number), entry);
		assert_int_equal(map.groups.count, 1);
		map_delete(&map, &number);
		assert_int_equal(map.groups.bytes, 0);
	}
	map_clear(&map);
}

static void patterns_end(void **state)
{
	const char *text = "END { @ = captures(\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\", "
			   "\"^(a|aa|a(?:a)?)+$\"); }";
	struct trace trace = {0};
	struct buf out = {0};
	struct outlet outlet = {.write = keep, .arg = &out};
	struct oneliner_result result;
	struct oneliner_question question;
	struct error err = {0};

	(void)state;
	assert_true(oneliner_open(text, strlen(text), &trace, &question, &err));
	const struct oneliner_work work = {.question = &question, .outlet = &outlet};
	assert_false(oneliner_run(&work, &result, &err));
	assert_non_null(strstr(err.text, "column 11: captures(): the pattern takes more than "
					 "1000000 steps"));
	assert_null(strchr(err.text, '\n'));
	outlet_release(&outlet);
	oneliner_close(&question);
	buf_release(&out);
}

/* ---- names of probes ---- */

static struct match {
	const char *name, *spec, *event;
	bool is;
} matches[] = {
	{"a bare name", "sched_switch", "sched:sched_switch", true},
	{"a bare name is whole", "sched_switch", "sched_switches", false},
	{"a glob", "sched_w*", "sched:sched_waking", true},
	{"a name with its subsystem", "sched:sched_switch", "sched:sched_switch", true},
	{"a tracepoint of perf", "tracepoint:sched:sched_switch", "sched:sched_switch", true},
	{"a tracepoint of LTTng", "tracepoint:sched:sched_switch", "sched_switch", true},
	{"another subsystem's", "tracepoint:irq:sched_switch", "sched:sched_switch", false},
	{"all of a subsystem of LTTng", "tracepoint:sched:*", "sched_switch", true},
	{"none of another one", "tracepoint:sched:*", "irq_handler_entry", false},
	{"a system call", "t:syscalls:sys_enter_openat", "syscalls:sys_enter_openat", true},
	{"a system call of LTTng", "t:syscalls:sys_enter_openat", "syscall_entry_openat", true},
	{"a system call's end", "t:syscalls:sys_exit_*", "syscall_exit_read", true},
	{"not its begin", "t:syscalls:sys_exit_*", "syscall_entry_read", false},
	{"all system calls of LTTng", "tracepoint:raw_syscalls:sys_enter", "syscall_entry_read",
	 true},
	{"not their ends", "tracepoint:raw_syscalls:sys_enter", "syscall_exit_read", false},
	{"a raw tracepoint", "rawtracepoint:sched_switch", "sched:sched_switch", true},
	{"a kprobe of perf", "kprobe:vfs_read", "probe:vfs_read", true},
	{"a kprobe of ftrace", "kprobe:vfs_read", "kprobes:p_vfs_read_0", true},
	{"not its return", "kprobe:vfs_read", "probe:vfs_read__return", false},
	{"a kretprobe", "kretprobe:vfs_read", "probe:vfs_read__return", true},
	{"a uprobe", "uprobe:/bin/bash:readline", "probe_bash:readline", true},
	{"a uprobe of another program", "uprobe:/bin/sh:readline", "probe_bash:readline", false},
	{"a uretprobe", "uretprobe:/bin/bash:readline", "probe_bash:readline__return", true},
	{"a static probe", "usdt:/lib/libc.so.6:libc:setjmp", "sdt_libc:setjmp", true},
	{"a counter", "software:page-faults:100", "page-faults:u", true},
	{"a counter by its short name", "software:faults:1", "page-faults:u", true},
	{"a counter by its long name", "hardware:cpu-cycles:1000000", "cycles", true},
	{"all by short names", "s:cs:1", "context-switches", true},
	{"not another counter", "s:cs:1", "cpu-clock", false},
};

static void is_meant(void **state)
{
	const struct match *row = *state;
	struct arena *arena = arena_new();
	struct spec spec = spec_of(row->spec, arena);

	assert_int_equal(spec_matches(&spec, row->event), row->is);
	arena_free(arena);
}

int main(void)
{
	enum {
		MISTAKES = sizeof mistakes / sizeof *mistakes,
		VALUES = sizeof values / sizeof *values,
		MATCHES = sizeof matches / sizeof *matches
	};
	const struct CMUnitTest others[] = {cmocka_unit_test(json_is_bpftraces),
					    cmocka_unit_test(histograms_are_bpftraces),
					    cmocka_unit_test(formats_are_those_of_c),
					    cmocka_unit_test(buckets_hold_their_values),
					    cmocka_unit_test(a_million_keys_are_enough),
					    cmocka_unit_test(long_texts_are_enough),
					    cmocka_unit_test(maps_share_their_room),
					    cmocka_unit_test(deleted_entries_are_new_again),
					    cmocka_unit_test(patterns_end)};
	struct CMUnitTest tests[MISTAKES + VALUES + MATCHES];

	for (size_t i = 0; i < MISTAKES; i++)
		tests[i] = (struct CMUnitTest){mistakes[i].name, is_told, NULL, NULL, &mistakes[i]};
	for (size_t i = 0; i < VALUES; i++)
		tests[MISTAKES + i] =
			(struct CMUnitTest){values[i].name, is_printed, NULL, NULL, &values[i]};
	for (size_t i = 0; i < MATCHES; i++)
		tests[MISTAKES + VALUES + i] =
			(struct CMUnitTest){matches[i].name, is_meant, NULL, NULL, &matches[i]};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	return cmocka_run_group_tests(others, NULL, NULL) + failed;
}
