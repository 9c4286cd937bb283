/*
 * fuzz_tsdl.c - any bytes as a metadata file: refused, or a description that keeps its promises
 *
 * Promises: those of check_description.h, and that tags are enumerations.
 */
#include "tests/fuzz/check_description.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct field_class *node)
{
	if (node->kind == FIELD_INT)
		require(node->is_enum == (node->nlabels > 0));
	if (node->kind == FIELD_VARIANT)
		require(node->ref->is_enum);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *arena = arena_new();
	struct notices notices = {0};
	struct ctf_description description;
	struct error err = {0};
	char *text;
	size_t length;

	bool done =
		metadata_text("metadata", data, size, arena, &notices, &text, &length, &err) &&
		tsdl_parse("metadata", text, length, false, arena, &notices, &description, &err);
	require(done || err.text[0]);
	if (done)
		check_description(&description, check);
	arena_free(arena);
	return 0;
}
