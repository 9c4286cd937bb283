/*
 * fuzz_ctf2.c - parses any bytes as CTF 2 metadata, and decodes those after a byte 0xFF as a packet
 *
 * Promises: the metadata is refused with a message or keeps the promises of check_description.h;
 * variable-length integers are aligned to bytes; decoding ends, whatever the data.
 */
#include "engine/base/mem.h"
#include "engine/ctf/ctf_internal.h"
#include "tests/fuzz/check_description.h"
#include "tests/fuzz/description.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct field_class *node)
{
	if (node->kind == FIELD_INT)
		require(!node->is_variable || node->align == 8);
	if (node->kind == FIELD_SEQUENCE)
		require(node->ref->form == FORM_NUMBER);
	if (node->kind == FIELD_VARIANT)
		require(!node->is_optional || node->nmembers == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *packet = size ? memchr(data, PACKET_SEPARATOR, size) : NULL;
	size_t metadata = packet ? (size_t)(packet - data) : size;
	struct arena *arena = arena_new();
	struct notices notices = {0};
	struct ctf_description description;
	struct error err = {0};
	size_t head;

	char *text = mem_new(metadata + 1); /* sanitizers find reads past its end */
	memcpy(text, data, metadata);
	if (ctf2_is_metadata(text, metadata)) {
		bool done = ctf2_parse("metadata", text, metadata, arena, &notices, &description,
				       &head, &err);
		require(done || err.text[0]);
		require(!done || head <= metadata);
		if (done) {
			check_description(&description, check);
			try_description(&description, packet ? packet + 1 : NULL,
					packet ? size - metadata - 1 : 0);
		}
	}
	mem_free(text);
	arena_free(arena);
	return 0;
}
