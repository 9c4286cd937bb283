/*
 * loaded_files.h - finds the files that processes have loaded, from events of LTTng-UST
 *
 * Its traces have no maps but these events: lttng_ust_statedump:bin_info and lttng_ust_lib:load
 * have path and address of each program and library, ...:build_id its build id (lttng-ust(3),
 * "State dump").
 */
#ifndef INDEX_LOADED_FILES_H
#define INDEX_LOADED_FILES_H

#include "engine/symbols/symbols.h"
#include "index/events.h"

/*
 * Calls symbols_tell_loaded() for all files that any process has loaded; only the first call does.
 * Reads the trace if it has such events. `progress`: as in struct events_options.
 */
MUST_CHECK bool tell_loaded_files(struct index *index, struct symbols *symbols,
				  bool (*progress)(void *arg, nstime at, nstime first, nstime last),
				  void *progress_arg, struct error *err);

#endif
