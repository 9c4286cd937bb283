/* source_internal.h - shared by source*.c */
#ifndef ENGINE_BASE_SOURCE_INTERNAL_H
#define ENGINE_BASE_SOURCE_INTERNAL_H

#include "engine/base/source.h"

#include <stdatomic.h>
#include <sys/stat.h>

struct source {
	char *name;
	const uint8_t *data; /* map or memory; NULL when read by pread */
	uint64_t size;
	int fd;       /* -1 unless read by pread */
	bool counted; /* `fd` is counted by files_take() */
	dev_t device; /* device and inode of a file that is opened for each read */
	ino_t inode;
	int map_slot;   /* -1 unless mapped */
	uint8_t *asked; /* of maps: bit per PIECE that was prefetched; by __atomic operations */
	atomic_bool broken;
	_Atomic uint64_t bytes_read;
	struct source_stamp stamp;
	int64_t looked;              /* when the stamp was taken, ns */
	int64_t newest;              /* the later of the stamp's two times */
	char *made_of;               /* path of the file that the stamp is of; NULL: its own file */
	struct verified *verified;   /* NULL: its bytes need no verification */
	uint64_t file_size;          /* differs from `size` for an arranged source */
	struct source_piece *pieces; /* of an arranged source; else NULL */
	size_t npieces;
	const struct source_backing *backing; /* NULL: the file has its bytes itself */
};

/* Copies bytes of the source's file, where it is not mapped. */
MUST_CHECK bool source_read_fully(const struct source *source, uint64_t offset, void *to,
				  size_t size, struct error *err);

/* ---- source_stamp.c ---- */

/* Sets the stamp, and when it was taken. */
void source_take_stamp(struct source *source, const struct stat *st);

/* ---- source_verify.c ---- */

/*
 * Do the sums of source_verify() agree with these bytes of the map, also after another file was
 * asked for? True also if the source has no sums.
 */
MUST_CHECK bool source_is_right(struct source *source, uint64_t offset, size_t size,
				struct error *err);
void verified_free(struct verified *verified); /* NULL is fine */

#endif
