/* test_stack.c - numbers of call chains */
#include "lua-lib/binding/bind_stack.h"

#include "engine/symbols/symbols.h"

#include "tests/harness.h"

enum { DEPTH = 40, CHAINS = 60000 };

/* Chain `n`: functions that no other chain has, at the innermost end. */
static void make_chain(uint64_t n, struct frame *out)
{
	static const char names[256];

	for (int i = 0; i < DEPTH; i++, n /= 256)
		out[i] = (struct frame){.address = 1, .symbol.function = names + n % 256};
}

static void equal_chains_share_a_number(void **state)
{
	struct bind_stacks *stacks = NULL;
	struct frame frames[DEPTH];

	(void)state;
	for (uint64_t n = 0; n < 300; n++) {
		make_chain(n, frames);
		assert_int_equal(bind_stacks_number(&stacks, frames, DEPTH), n + 1);
	}
	for (uint64_t n = 0; n < 300; n++) {
		make_chain(n, frames);
		frames[0].address += n; /* a function's name does not depend on its addresses */
		assert_int_equal(bind_stacks_number(&stacks, frames, DEPTH), n + 1);
	}
	assert_int_equal(bind_stacks_number(&stacks, frames, DEPTH - 1), 301);
	frames[0].symbol.function = NULL;
	assert_int_equal(bind_stacks_number(&stacks, frames, DEPTH), 302);
	frames[0].address++;
	assert_int_equal(bind_stacks_number(&stacks, frames, DEPTH), 303);
	frames[0].kernel = true;
	assert_int_equal(bind_stacks_number(&stacks, frames, DEPTH), 304);
	bind_stacks_free(stacks);
}

static void many_chains_get_new_numbers(void **state)
{
	struct bind_stacks *stacks = NULL;
	struct frame frames[DEPTH];

	(void)state;
	for (uint64_t n = 0; n < CHAINS; n++) {
		make_chain(n, frames);
		assert_int_equal(bind_stacks_number(&stacks, frames, DEPTH), n + 1);
		assert_int_equal(bind_stacks_number(&stacks, frames, DEPTH), n + 1);
	}

	make_chain(0, frames); /* forgotten meanwhile: its number is not given to another chain */
	assert_int_equal(bind_stacks_number(&stacks, frames, DEPTH), CHAINS + 1);
	bind_stacks_free(stacks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_chains_share_a_number),
		cmocka_unit_test(many_chains_get_new_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
