/* find_traces.h - the traces below a folder, each as trace_open() takes it */
#ifndef ENGINE_FIND_TRACES_H
#define ENGINE_FIND_TRACES_H

#include "engine/base/folder.h"

/* Called for each entry that is looked at; false: interrupted. */
struct find_alive {
	bool (*alive)(void *arg);
	void *arg;
};

/*
 * Adds the paths of all traces at and below `path`, in the natural order of names; links are
 * followed, but no file or folder is looked at twice. Added are files and folders that a reader
 * knows; those that cannot be read, since they may be traces; and empty files that are named as
 * perf and trace-cmd name theirs. trace_open() says what is wrong with them. Hidden files, FIFOs,
 * devices, links that lead nowhere, and file systems of the kernel's own are passed over.
 * `path` itself, unless it is a folder that no reader knows, is added whatever it is.
 * False: ERR_INTERRUPTED. The caller ends *out with folder_release(), also then.
 */
MUST_CHECK bool find_traces(const char *path, const struct find_alive *alive,
			    struct folder_names *out, struct error *err);

#endif
