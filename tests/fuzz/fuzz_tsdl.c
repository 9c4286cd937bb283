/*
 * fuzz_tsdl.c - parses any bytes as a metadata file, and decodes those after a byte 0xFF as a
 * packet
 *
 * Metadata in packets may have any byte, so no packet of events follows it. Promises: the metadata
 * is refused with a message or keeps the promises of check_description.h; tags are enumerations;
 * decoding ends, whatever the data.
 */
#include "engine/base/cursor.h"
#include "tests/fuzz/check_description.h"
#include "tests/fuzz/description.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { METADATA_MAGIC = 0x75d11d57 };

static void check(const struct field_class *node)
{
	if (node->kind == FIELD_INT)
		require(node->is_enum == (node->nlabels > 0));
	if (node->kind == FIELD_VARIANT)
		require(node->ref->is_enum);
}

static bool in_packets(const uint8_t *data, size_t size)
{
	return size >= 4 &&
	       (load_le(data, 4) == METADATA_MAGIC || load_be(data, 4) == METADATA_MAGIC);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *packet =
		size && !in_packets(data, size) ? memchr(data, PACKET_SEPARATOR, size) : NULL;
	size_t metadata = packet ? (size_t)(packet - data) : size;
	struct arena *arena = arena_new();
	struct notices notices = {0};
	struct ctf_description description;
	struct error err = {0};
	char *text;
	size_t length;

	bool done =
		metadata_text("metadata", data, metadata, arena, &notices, &text, &length, &err) &&
		tsdl_parse("metadata", text, length, false, arena, &notices, &description, &err);
	require(done || err.text[0]);
	if (done) {
		check_description(&description, check);
		try_description(&description, packet ? packet + 1 : NULL,
				packet ? size - metadata - 1 : 0);
	}
	arena_free(arena);
	return 0;
}
