/*
 * test_ring.c - a ring buffer of LTTng-UST that is cut off at every byte, or has other bytes
 * anywhere
 *
 * What is put together lies in the file, is no more than the ring can hold, and of a file that is
 * cut off it is what the whole file gave, but for packets whose pages are not there.
 */
#include "engine/base/mem.h"
#include "engine/ctf/ctf_internal.h"
#include "fixtures/rng.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	EDITS = 30000,
	HEAD_END = 140 /* with both counters */,
	HEAD = 2048,
	SUBBUFS = 4,
	SUBBUF = 4096
};

struct file {
	uint8_t *bytes;
	size_t size;
};

struct told {
	size_t damages;
	char last[512];
};

static void hear(void *arg, enum notice_kind kind, const char *text)
{
	struct told *told = arg;

	assert_int_equal(kind, NOTICE_DAMAGE);
	assert_null(strchr(text, '\n'));
	assert_non_null(strstr(text, "ring"));
	told->damages++;
	snprintf(told->last, sizeof told->last, "%s", text);
}

static void read_golden(struct file *out)
{
	const char *top = getenv("srcdir");
	char path[4096];

	snprintf(path, sizeof path, "%s/fixtures/golden/crash-demo/shm/ch0_1", top ? top : ".");
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	out->bytes = mem_resize(NULL, 1 << 16, 1);
	out->size = fread(out->bytes, 1, 1 << 16, file);
	fclose(file);
	assert_true(out->size > HEAD + SUBBUFS * SUBBUF);
}

/* All that is put together of these bytes; *told has what was said. The size, or -1: an error. */
static int64_t arrange(const uint8_t *bytes, size_t size, uint8_t *out, struct told *told)
{
	struct trace trace = {.told_lock = PTHREAD_MUTEX_INITIALIZER,
			      .notices = {.say = hear, .arg = told}};
	struct source *source = source_over("ring", bytes, size);
	struct error err = {0};
	int64_t whole = -1;

	*told = (struct told){0};
	if (ring_arrange(&trace, source, &err)) {
		whole = (int64_t)source_size(source);
		assert_true((size_t)whole <= size);
		assert_true(source_peek(source, 0, out, (size_t)whole, &err));
	} else {
		assert_non_null(strstr(err.text, "ring"));
		assert_null(strchr(err.text, '\n'));
	}
	source_close(source);
	buf_release(&trace.damages);
	return whole;
}

static void cut_at_every_byte(void **state)
{
	static uint8_t whole[1 << 16], cut[1 << 16];
	struct file file;
	struct told told;

	(void)state;
	read_golden(&file);
	int64_t all = arrange(file.bytes, file.size, whole, &told);
	assert_int_equal(told.damages, 0);
	assert_int_equal(all, 4096 + 2692); /* as lttng-crash writes it */
	for (size_t n = 16; n < file.size; n++) {
		int64_t left = arrange(file.bytes, n, cut, &told);
		assert_true(left <= all);
		assert_true(left < 0 || told.damages);
		if (left == all)
			assert_memory_equal(cut, whole, (size_t)all);
		else if (left == 2692)
			assert_memory_equal(cut, whole + 4096, 2692);
		else
			assert_true(left <= 0 || left == 4096);
	}
	mem_free(file.bytes);
}

static void other_bytes(void **state)
{
	static const uint8_t extremes[] = {0, 1, 2, 0x7f, 0x80, 0xff};
	static uint8_t out[1 << 16];
	struct rng rng = {7};
	struct file file;
	struct told told;

	(void)state;
	read_golden(&file);
	uint8_t *bytes = mem_resize(NULL, file.size, 1);
	for (size_t i = 0; i < EDITS; i++) {
		memcpy(bytes, file.bytes, file.size);
		for (uint64_t n = 1 + rng_below(&rng, 3); n > 0; n--) {
			uint64_t where = rng_below(&rng, 4);
			uint32_t room = where == 0  ? (uint32_t)file.size - 32
					: where < 3 ? HEAD_END
						    : HEAD;
			size_t at = 16 + rng_below(&rng, room);
			for (uint64_t k = rng_below(&rng, 8) + 1; k > 0; k--)
				bytes[at++] = extremes[rng_below(&rng, COUNT(extremes))];
		}
		arrange(bytes, file.size, out, &told);
	}
	mem_free(bytes);
	mem_free(file.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_at_every_byte),
		cmocka_unit_test(other_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
