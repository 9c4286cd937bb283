/*
 * test_metadata_suite.c - the CTF 1.8 conformance suite, and metadata of real traces
 *
 * Oracles: the column `ruling` of the suite's MANIFEST.tsv; for real traces the number of
 * "event {" lines of the text. The corpus is no part of the project: $YORE_CORPUS, else
 * ../shared/corpus beside the sources; without it all of this is skipped.
 */
#include "engine/ctf/description.h"

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "tests/harness.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SKIPPED = 77, MAX_CASES = 1024 };

enum wanted { PASS, FAIL, COUNT_EVENTS };

struct test_case {
	char *name, *path;
	enum wanted wanted;
};

static char corpus[4096];
static struct test_case cases[MAX_CASES];
static size_t ncases;

static void add_case(const char *path, enum wanted wanted)
{
	struct test_case *new = &cases[ncases];

	if (ncases == MAX_CASES || access(path, R_OK) != 0)
		return;
	new->path = mem_strdup(path);
	new->name = new->path + strlen(corpus) + 1;
	new->wanted = wanted;
	ncases++;
}

static bool read_file(const char *path, struct buf *out)
{
	FILE *file = fopen(path, "rb");
	size_t got;

	if (!file)
		return false;
	do {
		got = fread(buf_room(out, 65536), 1, 65536, file);
		out->len += got;
	} while (got);
	return !fclose(file);
}

/* Field `column` of a line of tab-separated values; changes the line. */
static char *field(char *line, int column)
{
	char *rest = line, *cell = strsep(&rest, "\t\n");

	while (cell && column--)
		cell = strsep(&rest, "\t\n");
	return cell;
}

static int column_of(const char *header, const char *name)
{
	char *copy = mem_strdup(header), *rest = copy, *cell;
	int column = 0;

	while ((cell = strsep(&rest, "\t\n")) && strcmp(cell, name) != 0)
		column++;
	mem_free(copy);
	return cell ? column : -1;
}

/* Cases about data streams have metadata that must be read, save those ruled optional. */
static void add_ruled(char *line, int ruling_column)
{
	char *copy = mem_strdup(line), path[8192];
	const char *ruling = field(copy, ruling_column), *name = field(line, 0);

	snprintf(path, sizeof path, "%s/ctf/testsuite-1.8/%s/metadata", corpus, name);
	if (ruling && strcmp(ruling, "optional") != 0)
		add_case(path, !strcmp(ruling, "fail") && strstr(name, "/metadata/") ? FAIL : PASS);
	mem_free(copy);
}

static bool add_suite(void)
{
	char path[8192];
	struct buf manifest = {0};

	snprintf(path, sizeof path, "%s/ctf/testsuite-1.8/MANIFEST.tsv", corpus);
	bool found = read_file(path, &manifest);
	char *rest = manifest.data, *line = found ? strsep(&rest, "\n") : NULL;
	int ruling = line ? column_of(line, "ruling") : -1;
	while (ruling >= 0 && (line = strsep(&rest, "\n")) && *line)
		add_ruled(line, ruling);
	buf_release(&manifest);
	return ruling >= 0;
}

static int add_real(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void)status;
	if (type == FTW_F && !strcmp(path + walk->base, "metadata") && !strstr(path, "/CTF2-") &&
	    !strstr(path, "/fail/"))
		add_case(path, strstr(path, "corrupt-metadata-cut") ? FAIL : COUNT_EVENTS);
	return 0;
}

/* Of the traces that must be refused, those that are refused for their metadata. */
static void find_refused(void)
{
	static const char *const names[] = {"fail1",
					    "fail2",
					    "integer-range",
					    "invalid-sequence-length-field-class",
					    "invalid-variant-selector-field-class",
					    "lttng-modules-2.0-pre1",
					    "metadata-syntax-error",
					    "packet-based-metadata",
					    "smalltrace"};
	char path[8192];

	for (size_t i = 0; i < COUNT(names); i++) {
		snprintf(path, sizeof path, "%s/ctf/real/babeltrace/fail/%s/metadata", corpus,
			 names[i]);
		add_case(path, FAIL);
	}
}

static void find_cases(void)
{
	static const char *const folders[] = {"ctf/real", "lttng-ust", "perf-to-ctf", "gdb"};
	char path[8192];

	for (size_t i = 0; i < COUNT(folders); i++) {
		snprintf(path, sizeof path, "%s/%s", corpus, folders[i]);
		nftw(path, add_real, 16, FTW_PHYS);
	}
}

static size_t count_events(const struct ctf_description *d)
{
	size_t count = 0;

	for (size_t i = 0; i < d->nstreams; i++)
		count += d->streams[i].nevents;
	return count;
}

static size_t count_event_lines(const char *text)
{
	size_t count = 0;

	for (const char *at = text; (at = strstr(at, "event {")); at++)
		count += at == text || at[-1] == '\n';
	return count;
}

static void reads_metadata(void **state)
{
	const struct test_case *test = *state;
	struct arena *arena = arena_new();
	struct ctf_description d;
	struct notices quiet = {0};
	struct error err = {0};
	struct buf bytes = {0};
	char *text;
	size_t size;

	assert_true(read_file(test->path, &bytes));
	bool done = metadata_text(test->name, (const uint8_t *)bytes.data, bytes.len, arena, &quiet,
				  &text, &size, &err) &&
		    tsdl_parse(test->name, text, size, false, arena, &quiet, &d, &err);
	if (done == (test->wanted == FAIL))
		fail_msg("%s", done ? "accepted" : err.text);
	if (test->wanted == COUNT_EVENTS)
		assert_int_equal(count_events(&d), count_event_lines(text));
	buf_release(&bytes);
	arena_free(arena);
}

int main(void)
{
	static struct CMUnitTest tests[MAX_CASES];
	const char *given = getenv("YORE_CORPUS"), *source = getenv("srcdir");
	int failed;

	if (given)
		snprintf(corpus, sizeof corpus, "%s", given);
	else
		snprintf(corpus, sizeof corpus, "%s/../shared/corpus", source ? source : ".");
	if (!add_suite()) {
		printf("skipped: no corpus at %s; set YORE_CORPUS to where it is\n", corpus);
		return SKIPPED;
	}
	find_cases();
	find_refused();
	for (size_t i = 0; i < ncases; i++)
		tests[i] =
			(struct CMUnitTest){cases[i].name, reads_metadata, NULL, NULL, &cases[i]};
	failed = _cmocka_run_group_tests("metadata", tests, ncases, NULL, NULL);
	for (size_t i = 0; i < ncases; i++)
		mem_free(cases[i].path);
	return failed;
}
