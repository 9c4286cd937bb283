/*
 * place.h - the local folder that stands for a remote folder, a remote file or an archive
 *
 *     KEEP/remote/NAME-HASH/
 *         files/       a file of the right name and size for each, without bytes
 *         kept/        what was fetched of them (object.h)
 *         identity     JSON: which objects these were, and where files lie in them
 *         lock         held while the others are looked at and made
 */
#ifndef REMOTE_PLACE_H
#define REMOTE_PLACE_H

#include "remote/manifest.h"

struct known {      /* an object: a file behind a URL, or an archive */
	char *path; /* relative to the folder's URL; "": the URL itself */
	uint64_t size;
	char *tag; /* changes with the object; "": unknown */
};

struct placed {
	struct manifest_file file; /* its path in files/, and its place in its object */
	uint32_t object;           /* the object's index in `known` */
};

struct place {
	char *path;   /* the path or URL that the user gave */
	char *folder; /* KEEP/remote/NAME-HASH */
	int lock;

	struct known *known; /* from the identity file and place_add_object() */
	size_t nknown, known_capacity;
	struct placed *placed; /* from the identity file and place_add() */
	size_t nplaced, placed_capacity;
};

/*
 * Creates or finds the folder of `path`, locks it (and waits for that), and reads its identity
 * file. `keep` NULL: a temporary folder. The caller calls place_release(), also after false.
 */
MUST_CHECK bool place_open(struct place *place, const char *path, const char *keep,
			   struct error *err);
void place_unlock(struct place *place);
void place_release(struct place *place);

/* Forgets all objects and files, and deletes files/. */
void place_forget(struct place *place);
void place_add_object(struct place *place, const char *path); /* size and tag unknown */
/* Sets an object's present size and tag. */
void place_know(struct place *place, size_t object, uint64_t size, const char *tag);
/* Adds a file; the place owns its path. */
void place_add(struct place *place, struct manifest_file *file, uint32_t object);
/*
 * Creates the files and writes the identity file. Files of changed objects (a bit each in
 * `changed`) are created anew; others stay as they are, so that indexes of them stay valid.
 */
MUST_CHECK bool place_make(struct place *place, const uint64_t *changed, struct error *err);

#endif
