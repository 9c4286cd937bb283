/* test_pattern.c - paths in which some keys are any key, or are not known yet */
#include "state/model/pattern.h"

#include "engine/base/mem.h"
#include "engine/base/varint.h"
#include "fixtures/rng.h"
#include "tests/harness.h"

#include <stdlib.h>
#include <string.h>

/* A pattern is written name[5]/name: [*] is any key, [?] an open one, and / at the end `below`. */
static const struct row {
	const char *name, *pattern, *attr; /* the attribute is written in the same way */
	enum cover itself, subtree;
} rows[] = {
	{"the same path", "thread[42]/state", "thread[42]/state", COVER_YES, COVER_YES},
	{"another key", "thread[42]/state", "thread[43]/state", COVER_NO, COVER_NO},
	{"another name", "thread[42]/state", "thread[42]/name", COVER_NO, COVER_NO},
	{"a name is not a key", "thread/42", "thread[42]", COVER_NO, COVER_NO},
	{"a key is not a name", "thread[42]", "thread/42", COVER_NO, COVER_NO},
	{"any key", "thread[*]/state", "thread[42]/state", COVER_YES, COVER_YES},
	{"any key is not a name", "thread[*]", "thread/state", COVER_NO, COVER_NO},
	{"an open key decides", "thread[?]/state", "thread[42]/state", COVER_MAYBE, COVER_MAYBE},
	{"an open key is not a name", "thread[?]", "thread/state", COVER_NO, COVER_NO},
	{"an open key and another name", "thread[?]/state", "thread[42]/name", COVER_NO, COVER_NO},
	{"any and open keys", "a[*][?]", "a[1][2]", COVER_MAYBE, COVER_MAYBE},
	{"what stands below", "thread[42]", "thread[42]/state", COVER_NO, COVER_YES},
	{"what stands far below any key", "cpu[*]", "cpu[1]/a/b[2]", COVER_NO, COVER_YES},
	{"what stands below an open key", "cpu[?]", "cpu[1]/a", COVER_NO, COVER_MAYBE},
	{"what stands above", "thread[42]/state", "thread[42]", COVER_NO, COVER_NO},
	{"all below and not the path itself", "thread[42]/", "thread[42]", COVER_YES, COVER_NO},
	{"all below", "thread[42]/", "thread[42]/state", COVER_NO, COVER_YES},
	{"the root is above all", "", "cpu[1]", COVER_NO, COVER_YES},
	{"the root is itself", "", "", COVER_YES, COVER_YES},
	{"all below the root", "/", "cpu[1]", COVER_NO, COVER_YES},
	{"the root is not below itself", "/", "", COVER_YES, COVER_NO},
};

static const char *add_atom(struct pattern *out, const char *text)
{
	struct pattern_atom *atom = &out->atoms[out->natoms++];
	size_t len = strcspn(text, "[]/");

	if (*text != '[') {
		*atom = (struct pattern_atom){
			PATTERN_NAME, {.kind = VALUE_STRING, .len = (uint32_t)len, .text = text}};
		return text + len;
	}
	atom->kind = text[1] == '*' ? PATTERN_ANY : text[1] == '?' ? PATTERN_OPEN : PATTERN_KEY;
	atom->value = (struct value){.kind = VALUE_INT, .u = strtoull(text + 1, NULL, 10)};
	return strchr(text, ']') + 1;
}

static struct pattern *pattern_of(const char *text)
{
	struct pattern *out = mem_new(sizeof *out);

	while (*text && strcmp(text, "/") != 0)
		text = add_atom(out, text + (*text == '/'));
	out->below = *text == '/';
	return out;
}

static uint32_t attr_of(struct attrs *attrs, const struct pattern *path)
{
	uint32_t attr = ATTR_ROOT;

	for (uint32_t i = 0; i < path->natoms; i++)
		attr = attr_child(attrs, attr, path->atoms[i].kind != PATTERN_NAME,
				  &path->atoms[i].value);
	return attr;
}

static void covers(void **state)
{
	const struct row *row = *state;
	struct attrs *attrs = attrs_new();
	struct pattern *pattern = pattern_of(row->pattern), *path = pattern_of(row->attr);
	uint32_t attr = attr_of(attrs, path);

	assert_int_equal(pattern_covers(pattern, attrs, attr, false), row->itself);
	assert_int_equal(pattern_covers(pattern, attrs, attr, true), row->subtree);
	mem_free(pattern);
	mem_free(path);
	attrs_free(attrs);
}

static const struct pair {
	const char *name, *a, *b;
	bool equal;
} pairs[] = {
	{"equal paths", "a[1]/b", "a[1]/b", true},
	{"equal paths with stars", "a[*]/b", "a[*]/b", true},
	{"any key and one key differ", "a[*]", "a[1]", false},
	{"two keys differ", "a[*][1]", "a[*][2]", false},
	{"a name and a key differ", "a/1", "a[1]", false},
	{"a path and its beginning differ", "a[*]/b", "a[*]", false},
	{"a path and all below it differ", "a[*]", "a[*]/", false},
	{"two roots", "", "", true},
};

static void are_compared(void **state)
{
	const struct pair *pair = *state;
	struct pattern *a = pattern_of(pair->a), *b = pattern_of(pair->b);

	assert_int_equal(pattern_equal(a, b), pair->equal);
	assert_int_equal(pattern_equal(b, a), pair->equal);
	mem_free(a);
	mem_free(b);
}

static void atoms_behind_the_last_are_not_compared(void **state)
{
	struct pattern *a = pattern_of("a[*]/b"), *b = pattern_of("a[*]/b");

	(void)state;
	a->natoms = 2;
	assert_false(pattern_equal(a, b));
	assert_false(pattern_equal(b, a));
	b->natoms = 2;
	a->atoms[2].kind = PATTERN_ANY;
	assert_true(pattern_equal(a, b));
	mem_free(a);
	mem_free(b);
}

/* A path of names and keys, up to the longest. */
static void random_path(struct rng *rng, struct pattern *out)
{
	out->natoms = 1 + rng_below(rng, rng_once_in(rng, 20) ? PATH_ATOMS : 6);
	for (uint32_t i = 0; i < out->natoms; i++) {
		struct pattern_atom *atom = &out->atoms[i];

		if (i == 0 || rng_once_in(rng, 2))
			*atom = (struct pattern_atom){PATTERN_NAME,
						      {.kind = VALUE_STRING,
						       .len = rng_below(rng, 4) + 1,
						       .text = "name"}};
		else
			*atom = (struct pattern_atom){PATTERN_KEY,
						      {.kind = VALUE_INT, .u = rng_below(rng, 3)}};
	}
}

/* Some keys become any key, or open ones; what that pattern says of the path. */
static enum cover open_some(struct rng *rng, bool open, struct pattern *pattern)
{
	enum cover cover = COVER_YES;

	for (uint32_t i = 0; i < pattern->natoms; i++) {
		if (pattern->atoms[i].kind != PATTERN_KEY || rng_once_in(rng, 2))
			continue;
		pattern->atoms[i].kind = open && rng_once_in(rng, 3) ? PATTERN_OPEN : PATTERN_ANY;
		if (pattern->atoms[i].kind == PATTERN_OPEN)
			cover = COVER_MAYBE;
	}
	return cover;
}

static void spoil_one(struct rng *rng, struct pattern *pattern)
{
	struct pattern_atom *atom = &pattern->atoms[rng_below(rng, pattern->natoms)];

	if (atom->kind == PATTERN_NAME)
		atom->value = (struct value){.kind = VALUE_STRING, .len = 5, .text = "other"};
	else
		*atom = (struct pattern_atom){PATTERN_KEY, {.kind = VALUE_INT, .u = 99}};
}

static void patterns_of_a_path_cover_it(void **state)
{
	struct attrs *attrs = attrs_new();
	struct rng rng = {1};

	(void)state;
	for (int round = 0; round < 20000; round++) {
		struct pattern pattern = {0};

		random_path(&rng, &pattern);
		uint32_t attr = attr_of(attrs, &pattern), above = attr_parent(attrs, attr);
		uint32_t child = attr_name(attrs, attr, "x", 1);
		enum cover cover = open_some(&rng, true, &pattern);
		assert_int_equal(pattern_covers(&pattern, attrs, attr, false), cover);
		assert_int_equal(pattern_covers(&pattern, attrs, attr, true), cover);
		assert_int_equal(pattern_covers(&pattern, attrs, child, true), cover);
		assert_int_equal(pattern_covers(&pattern, attrs, child, false), COVER_NO);
		assert_int_equal(pattern_covers(&pattern, attrs, above, true), COVER_NO);
		pattern.below = true;
		assert_int_equal(pattern_covers(&pattern, attrs, attr, true), COVER_NO);
		assert_int_equal(pattern_covers(&pattern, attrs, child, true), cover);
		spoil_one(&rng, &pattern);
		assert_int_equal(pattern_covers(&pattern, attrs, attr, false), COVER_NO);
		assert_int_equal(pattern_covers(&pattern, attrs, child, true), COVER_NO);
	}
	attrs_free(attrs);
}

/* All of it, as a pattern. */
static bool reads(struct attrs *attrs, const char *bytes, size_t size, struct pattern *out)
{
	const uint8_t *at = (const uint8_t *)bytes;
	struct io io = {.at = at, .end = at + size, .attrs = attrs};

	*out = (struct pattern){0};
	io_pattern(&io, out);
	return io_ended(&io);
}

static void random_patterns_are_written_and_read(void **state)
{
	struct attrs *attrs = attrs_new();
	struct rng rng = {2};

	(void)state;
	for (int round = 0; round < 5000; round++) {
		struct pattern pattern = {0}, read;
		struct buf bytes = {0};

		random_path(&rng, &pattern);
		open_some(&rng, false, &pattern);
		io_pattern(&(struct io){.out = &bytes}, &pattern);
		assert_true(reads(attrs, bytes.data, bytes.len, &read));
		assert_true(pattern_equal(&read, &pattern));
		assert_true(read.any && read.attr == ATTR_ABSENT);
		for (size_t size = 0; size < bytes.len; size++)
			assert_false(reads(attrs, bytes.data, size, &read));
		buf_release(&bytes);
	}
	attrs_free(attrs);
}

static void read_is(const char *bytes, size_t size, bool ok)
{
	struct attrs *attrs = attrs_new();
	struct pattern read;

	assert_int_equal(reads(attrs, bytes, size, &read), ok);
	attrs_free(attrs);
}

static void open_keys_are_never_stored(void **state)
{
	(void)state;
	read_is("\x01\x02", 2, true);              /* one atom: any key */
	read_is("\x01\x01\x04\x05", 4, true);      /* a key, which is 5 */
	read_is("\x01\x03\x04\x05", 4, false);     /* an open one */
	read_is("\x01\x81\x01\x04\x05", 5, false); /* of no kind */
}

static void more_atoms_than_a_path_has_are_damage(void **state)
{
	(void)state;
	for (unsigned natoms = PATH_ATOMS - 1; natoms < PATH_ATOMS + 3; natoms++) {
		struct buf bytes = {0};

		buf_add_varint(&bytes, natoms);
		for (unsigned i = 0; i < natoms; i++)
			buf_add_varint(&bytes, PATTERN_ANY);
		read_is(bytes.data, bytes.len, natoms <= PATH_ATOMS);
		buf_release(&bytes);
	}
}

int main(void)
{
	struct CMUnitTest tests[COUNT(rows) + COUNT(pairs) + 5];
	size_t n = 0;

	ADD_ROWS(tests, n, rows, covers);
	ADD_ROWS(tests, n, pairs, are_compared);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(atoms_behind_the_last_are_not_compared);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(patterns_of_a_path_cover_it);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(random_patterns_are_written_and_read);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(open_keys_are_never_stored);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(more_atoms_than_a_path_has_are_damage);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
