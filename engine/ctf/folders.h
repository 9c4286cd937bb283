/*
 * folders.h - the folders below a path that are traces of CTF, and their metadata
 *
 * Folders of one group are one trace: chunks of a rotated session, snapshots, and what a session
 * that was killed left in its output and in its buffers.
 */
#ifndef ENGINE_CTF_FOLDERS_H
#define ENGINE_CTF_FOLDERS_H

#include "engine/base/folder.h"
#include "engine/ctf/ctf_internal.h"

/* What is opened, and how. */
struct ctf_opening {
	struct trace *trace;
	const char *root;
	enum source_mode mode;
	struct ctf_input input;
};

struct folder {
	char *path;
	uint8_t group[16]; /* folders that have one here are one trace */
	bool has_group;
	struct ctf_description description;
	uint64_t identity[2];
	struct source_stamp metadata;
	bool taken; /* its group was opened */
	bool is_file; /* it is one file of packets */
	bool in_shm; /* it was found in the folder of `shm` */
	bool is_empty; /* its metadata has no byte */
	size_t next; /* the next folder of the same group; FOLDER_NONE: this is the last */
};

#define FOLDER_NONE SIZE_MAX

struct folders {
	struct folder *items;
	size_t count, capacity;
	struct folder_names without; /* of packets, and no metadata */
};

/* Where packets are: beside each metadata, or in the root when its metadata is elsewhere. */
MUST_CHECK bool ctf_folders_find(const struct ctf_opening *opening, struct folders *out,
				 struct error *err);
/*
 * Reads the metadata of all, and chains those of one group. A folder whose metadata cannot be read
 * is told as damage and taken; false: no folder has metadata that can be read.
 */
MUST_CHECK bool ctf_folders_read(const struct ctf_opening *opening, struct folders *folders,
				 struct error *err);
/* The folder, not yet taken, with the richest metadata among those of the first one's group. */
size_t ctf_folders_speaker(const struct folders *folders, size_t first);
void ctf_folders_release(struct folders *folders);

/* folder_metadata.c: reads the metadata file of one. */
MUST_CHECK bool ctf_folder_read(const struct ctf_opening *opening, struct folder *folder,
				struct error *err);

#endif
