/* find_traces.h - the traces below a folder, each as trace_open() takes it */
#ifndef ENGINE_FIND_TRACES_H
#define ENGINE_FIND_TRACES_H

#include "engine/base/folder.h"

/* alive() is called for each file and folder that is visited; false: interrupted. */
struct find_alive {
	bool (*alive)(void *arg);
	void *arg;
};

/*
 * Adds the paths of all traces at and below `path`, in the natural order of names: files and
 * folders that a reader accepts; those that cannot be read, since they may be traces; and empty
 * files named as perf and trace-cmd name theirs. trace_open() then says what is wrong with them.
 * Links are followed, but no file or folder is visited twice. Hidden files, FIFOs, devices, broken
 * links and the kernel's own file systems are skipped. `path` itself is always added, unless it is
 * a folder that no reader accepts. False: ERR_INTERRUPTED. The caller always ends *out with
 * folder_release().
 */
MUST_CHECK bool find_traces(const char *path, const struct find_alive *alive,
			    struct folder_names *out, struct error *err);

#endif
