/*
 * claims.h - locks on steps of work between processes: files in a folder on any file system
 *
 *     open(O_CREAT | O_EXCL) ──> the counter in it rises ──> unlink
 *                                └ it stands still for too long: another one takes its place
 *
 * Needs no file locks and no common clock: each process measures by its own clock for how long a
 * claim has not changed. Two processes may hold one claim, such as after the first was only
 * suspended; so a claimed step must be harmless when it is done twice.
 */
#ifndef STATE_TIMELINES_CLAIMS_H
#define STATE_TIMELINES_CLAIMS_H

#include "engine/base/error.h"

struct claims;

/* A claim that did not change for `lapse` ms is taken over. Belongs to one thread. */
struct claims *claims_new(unsigned lapse);
void claims_free(struct claims *claims); /* gives up its claim; NULL is fine */

enum claimed { CLAIM_OURS, CLAIM_BUSY, CLAIM_FAILED };
/*
 * Claims the file at `path` and gives up the previous claim. CLAIM_BUSY: another process has it;
 * CLAIM_FAILED: *err.
 */
enum claimed claims_take(struct claims *claims, const char *path, struct error *err);
void claims_give_up(struct claims *claims); /* deletes its claim file, if any */

#endif
