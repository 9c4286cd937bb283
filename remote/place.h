/*
 * place.h - the folder that stands for what lies elsewhere
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

struct known {      /* an object: what is behind a URL, or an archive */
	char *path; /* in the folder's URL; "" the URL itself */
	uint64_t size;
	char *tag; /* changes with the object; "": nothing tells */
};

struct placed {
	struct manifest_file file; /* its path in files/, and where it is in its object */
	uint32_t object;           /* its number */
};

struct place {
	char *path;   /* as it was asked for */
	char *folder; /* the place's */
	int lock;

	struct known *known; /* by the identity file, and place_add_object() */
	size_t nknown, known_capacity;
	struct placed *placed; /* by the identity file, and place_add() */
	size_t nplaced, placed_capacity;
};

/*
 * Makes or finds the folder of `path`, waits for its lock, and reads what it knows. `keep` NULL:
 * the folder is a temporary one. Ended by place_release(), also after false.
 */
MUST_CHECK bool place_open(struct place *place, const char *path, const char *keep,
			   struct error *err);
void place_unlock(struct place *place);
void place_release(struct place *place);

/* What was known is so no more: all files go. */
void place_forget(struct place *place);
void place_add_object(struct place *place, const char *path); /* not known yet */
/* What an object is now. */
void place_know(struct place *place, size_t object, uint64_t size, const char *tag);
/* Takes the file's path. */
void place_add(struct place *place, struct manifest_file *file, uint32_t object);
/*
 * Makes the files. Those of objects that changed, a bit each, are new ones; others stay as they
 * are, so that an index of them stays good. Writes down what is known.
 */
MUST_CHECK bool place_make(struct place *place, const uint64_t *changed, struct error *err);

#endif
