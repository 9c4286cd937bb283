/*
 * tar.h - lists the files of an uncompressed tar archive, and where their bytes are
 *
 * Supports ustar, the pax extension's paths and sizes, and GNU tar's long names (POSIX.1-2017, pax;
 * tar(5)). Only heads are read. Links and devices are skipped.
 */
#ifndef REMOTE_TAR_H
#define REMOTE_TAR_H

#include "remote/manifest.h"

enum { TAR_BLOCK = 512 };

struct tar_bytes { /* the archive's bytes */
	bool (*read)(void *arg, uint64_t offset, void *to, size_t size, struct error *err);
	void *arg;
	uint64_t size;
	const char *name; /* for messages */
};

/* Do these TAR_BLOCK bytes begin an archive? */
bool tar_begins(const uint8_t *bytes);
/* The caller frees *out with listing_release(); after false it is empty. */
MUST_CHECK bool tar_list(const struct tar_bytes *bytes, struct manifest *out, struct error *err);

#endif
