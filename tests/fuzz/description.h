/* description.h - decodes a data stream by a description that a fuzzer made */
#ifndef TESTS_FUZZ_DESCRIPTION_H
#define TESTS_FUZZ_DESCRIPTION_H

#include "engine/ctf/description.h"

#include <stddef.h>
#include <stdint.h>

/* Separates the metadata from a data stream in an input. */
enum { PACKET_SEPARATOR = 0xff };

/*
 * Makes layouts of the description and decodes `data` as a data stream file, to the last field.
 * Checks that packets lie in the file, and that errors have a text.
 */
void try_description(const struct ctf_description *description, const uint8_t *data, size_t size);

#endif
