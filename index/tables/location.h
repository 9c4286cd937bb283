/* location.h - where an index goes: a folder that is local and ours to write, or nowhere */
#ifndef INDEX_TABLES_LOCATION_H
#define INDEX_TABLES_LOCATION_H

#include "index/index.h"

/*
 * The path of the store (index/store/store.h) for a trace of that name; the caller frees it with mem_free(). NULL when the
 * index must live in memory; why is told to the notices, unless it was asked for.
 */
char *index_location(const struct index_options *options, const char *name);

/*
 * The folder alone, for what readers keep beside the index: options->dir and options->none matter.
 * The caller frees it with mem_free(). NULL: nothing is to be kept.
 */
char *index_folder(const struct index_options *options);

/* statfs(2), f_type: file systems on which locks and maps are not to be trusted. */
bool location_is_network(unsigned long type);

#endif
