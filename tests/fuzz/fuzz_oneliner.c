/*
 * fuzz_oneliner.c - compiles any text as a program: it gives an error with its place, or a program
 * that ends
 *
 * Programs without errors run on a trace without events: BEGIN, END, and all maps printed.
 */
#include "oneliner/oneliner.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool count(void *arg, const char *bytes, size_t len)
{
	size_t *sum = arg;

	(void)bytes;
	*sum += len;
	return *sum < 1 << 20;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace trace = {0};
	struct oneliner_question question;
	struct oneliner_result result;
	struct error err = {0};
	size_t sum = 0;

	for (unsigned json = 0; json < 2; json++) {
		struct outlet outlet = {.json = json, .utc = true, .write = count, .arg = &sum};
		bool good = oneliner_open((const char *)data, size, &trace, &question, &err);
		const struct oneliner_work work = {.question = &question, .outlet = &outlet};
		good = good && oneliner_run(&work, &result, &err);
		if (!good && (!*err.text || err.kind == ERR_NONE))
			abort(); /* an error without text */
		outlet_release(&outlet);
		oneliner_close(&question);
	}
	return 0;
}
