/*
 * findings.h - what one question found out about packet records
 *
 * The tables of the index have records as headers claim them, and all questions share them. Where a
 * search looks next depends on which records are known to be right or wrong, so this stays with the
 * question: tables of its own, with the same records and their corrections, and the knowledge that
 * times fall in packets that do not say so.
 */
#ifndef INDEX_TABLES_FINDINGS_H
#define INDEX_TABLES_FINDINGS_H

#include "index/index.h"

/* The table of a stream as this question knows it; see index_table(). */
MUST_CHECK bool findings_table(struct findings *findings, const struct stream *stream,
			       struct table **out, struct error *err);
/*
 * Record i of *table was decoded: its true range. Where the record does not say it exactly, *table
 * becomes the question's own, with the same numbers.
 */
void findings_correct(struct findings *findings, const struct stream *stream, struct table **table,
		      uint64_t i, nstime true_min, nstime true_max);
/* Times fall inside of packets of the stream that do not say so: they are read whole first. */
bool findings_falls(struct findings *findings, const struct stream *stream);
void findings_set_falls(struct findings *findings, const struct stream *stream);
/* An event was given after a later one; true once per stream: it is to be told. */
bool findings_tell_late(struct findings *findings, const struct stream *stream);

#endif
