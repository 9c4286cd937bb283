/*
 * slicer.h - encodes and stores what was gathered for a slice, one transaction each: at once, or by
 * a helper, while the next slice is gathered
 *
 * Slices are stored in the order in which they are given, and each with the names that were new in
 * it, so that both ways leave the same bytes.
 */
#ifndef STATE_SLICES_SLICER_H
#define STATE_SLICES_SLICER_H

#include "engine/base/helper.h"
#include "index/store/store.h"
#include "state/slices/gathered.h"

struct slicer;

/*
 * Both are borrowed. With a helper no other thread may use the store before slicer_settle(); NULL:
 * at once.
 */
struct slicer *slicer_new(struct store *store, struct helper *helper);
/* What was given is stored first. NULL is fine. */
void slicer_free(struct slicer *slicer);

/* The first to be filled; belongs to the slicer, as all do. */
struct gathered *slicer_first(struct slicer *slicer);
/* Stores it, and gives the one to be filled next. NULL: this one or one before failed. */
MUST_CHECK struct gathered *slicer_give(struct slicer *slicer, struct gathered *gathered,
					struct error *err);
/* All is stored. */
MUST_CHECK bool slicer_settle(struct slicer *slicer, struct error *err);
uint64_t slicer_bytes(const struct slicer *slicer); /* of slices; settled */

#endif
