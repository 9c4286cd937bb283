/*
 * loaded_files.h - which files processes had loaded, by the events of their trace
 *
 * LTTng-UST has no maps beside its events: lttng_ust_statedump:bin_info and lttng_ust_lib:load say
 * where each program and library is, and build_id what it is (lttng-ust(3), "State dump").
 */
#ifndef INDEX_LOADED_FILES_H
#define INDEX_LOADED_FILES_H

#include "engine/symbols/symbols.h"
#include "index/events.h"

/*
 * Tells `symbols` of all files that any process has loaded, the first time that it is called. Reads
 * the trace where it has such events. `progress` and its argument: as of events_options.
 */
MUST_CHECK bool tell_loaded_files(struct index *index, struct symbols *symbols,
				  bool (*progress)(void *arg, nstime at, nstime first, nstime last),
				  void *progress_arg, struct error *err);

#endif
