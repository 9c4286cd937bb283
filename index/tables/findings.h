/*
 * findings.h - what one question found out about packet records
 *
 * The tables of the index have the times of packet headers, and all questions share them. Which
 * packets a search reads depends on which records are known to be right or wrong; so each question
 * has that knowledge for itself: tables of its own, with the same records and their corrections,
 * and a flag for streams in which times fall in packets without PACKET_UNSORTED.
 */
#ifndef INDEX_TABLES_FINDINGS_H
#define INDEX_TABLES_FINDINGS_H

#include "index/index.h"

/* The table of a stream as this question knows it; see index_table(). */
MUST_CHECK bool findings_table(struct findings *findings, const struct stream *stream,
			       struct table **out, struct error *err);
/*
 * Sets the true range of record i of *table, whose packet was decoded. If the record is not exact,
 * *table is replaced by the question's own table, with the same record numbers.
 */
void findings_correct(struct findings *findings, const struct stream *stream, struct table **table,
		      uint64_t i, nstime true_min, nstime true_max);
/* Do times fall in packets of the stream without PACKET_UNSORTED? Then packets are read whole
 * first. */
bool findings_falls(struct findings *findings, const struct stream *stream);
void findings_set_falls(struct findings *findings, const struct stream *stream);
/* To be called when an event came after a later one; true, once per stream: report it. */
bool findings_tell_late(struct findings *findings, const struct stream *stream);

#endif
