/*
 * folders.h - the folders below a path that are traces of CTF, and their metadata
 *
 * Folders of one group are one trace: chunks of a rotated session, snapshots, or the output and the
 * ring buffers (shm) of a session that was killed.
 */
#ifndef ENGINE_CTF_FOLDERS_H
#define ENGINE_CTF_FOLDERS_H

#include "engine/base/folder.h"
#include "engine/ctf/ctf_internal.h"

/* The arguments of ctf_open(). */
struct ctf_opening {
	struct trace *trace;
	const char *root;
	enum source_mode mode;
	struct ctf_input input;
};

struct folder {
	char *path;
	uint8_t group[16]; /* UUID, or a hash of the trace class's names; equal: one trace */
	bool has_group;
	struct ctf_description description;
	uint64_t identity[2];
	struct source_stamp metadata;
	bool taken;    /* it was opened with its group, or its metadata cannot be read */
	bool is_file;  /* `path` is one file of packets */
	bool in_shm;   /* it lies below the folder of the setting `shm` */
	bool is_empty; /* its metadata file is empty */
	size_t next;   /* the next folder of the same group; FOLDER_NONE: this is the last */
};

#define FOLDER_NONE SIZE_MAX

struct folders {
	struct folder *items;
	size_t count, capacity;
	struct folder_names without; /* folders with packets and without metadata */
};

/* Finds the folders with metadata; if `metadata=` names a file elsewhere, the root alone. */
MUST_CHECK bool ctf_folders_find(const struct ctf_opening *opening, struct folders *out,
				 struct error *err);
/*
 * Reads the metadata of all folders, and chains those of one group. Reports a folder whose metadata
 * cannot be read as damage and sets its `taken`. False: no folder has readable metadata.
 */
MUST_CHECK bool ctf_folders_read(const struct ctf_opening *opening, struct folders *folders,
				 struct error *err);
/* Returns the folder of the first one's group, not yet taken, with the most streams and events. */
size_t ctf_folders_speaker(const struct folders *folders, size_t first);
void ctf_folders_release(struct folders *folders);

/* folder_metadata.c: reads the metadata file of one folder into its description. */
MUST_CHECK bool ctf_folder_read(const struct ctf_opening *opening, struct folder *folder,
				struct error *err);

#endif
