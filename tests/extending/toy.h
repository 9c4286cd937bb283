/*
 * toy.h - a format of packets of fixed records, the example of docs/extending.md
 *
 *     "TOY1"  then packets:  u32 records · u32 CPU · u64 time    header, 16 bytes
 *                            u64 time · u32 kind · u32 value     each record, 16 bytes
 *
 * Numbers are little-endian, times are ns. Times of a packet rise or stay.
 */
#ifndef TESTS_EXTENDING_TOY_H
#define TESTS_EXTENDING_TOY_H

#include "engine/reader.h"

#define TOY_MAGIC "TOY1"
enum { TOY_MAGIC_BYTES = 4, TOY_HEADER_BYTES = 16, TOY_RECORD_BYTES = 16 };
/* Records of other kinds have the class "other", with the kind as a field. */
enum toy_kind { TOY_BEGIN, TOY_END, TOY_OTHER };

extern const struct reader toy_reader;

#endif
