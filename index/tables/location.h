/* location.h - finds the folder for an index: local and writable by this user, or none */
#ifndef INDEX_TABLES_LOCATION_H
#define INDEX_TABLES_LOCATION_H

#include "index/index.h"

/*
 * The path of the store (index/store/store.h) for the trace `name`; the caller frees it with
 * mem_free(). NULL: the index must be in memory; a notice says why, unless options->none is set.
 */
char *index_location(const struct index_options *options, const char *name);

/*
 * The folder alone, for readers' cache files; only options->dir and options->none are used. The
 * caller frees it with mem_free(). NULL: there is none.
 */
char *index_folder(const struct index_options *options);

#endif
