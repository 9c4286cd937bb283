/* description.h - a description that a fuzzer's bytes gave, and a data stream of it */
#ifndef TESTS_FUZZ_DESCRIPTION_H
#define TESTS_FUZZ_DESCRIPTION_H

#include "engine/ctf/description.h"

#include <stddef.h>
#include <stdint.h>

/* What parts the metadata from a data stream of it in an input. */
enum { PACKET_SEPARATOR = 0xff };

/*
 * Makes layouts of the description and decodes the `size` bytes of `data` as a data stream file, to
 * the last field. Promises: packets lie in the file, and an error says what it is.
 */
void try_description(const struct ctf_description *description, const uint8_t *data, size_t size);

#endif
