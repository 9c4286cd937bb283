/*
 * claims.h - claims of processes on steps of work: files of a folder on any file system
 *
 *     open(O_CREAT | O_EXCL) ──> the counter in it rises ──> unlink
 *                                └ it stands still for too long: another one takes its place
 *
 * No locks, and no clock of another machine: each observer measures by its own clock for how long a
 * claim has not changed. Two may come to hold one claim, such as when its holder was only stopped;
 * so a step that is claimed must be harmless when it is done twice.
 */
#ifndef STATE_TIMELINES_CLAIMS_H
#define STATE_TIMELINES_CLAIMS_H

#include "engine/base/error.h"

struct claims;

/* `lapse`: ms for which a claim that does not change is respected. Of one thread. */
struct claims *claims_new(unsigned lapse);
void claims_free(struct claims *claims); /* gives up what it holds; NULL is fine */

enum claimed { CLAIM_OURS, CLAIM_BUSY, CLAIM_FAILED };
/* The file at `path`, one at a time. CLAIM_BUSY: another one has it; FAILED: *err. */
enum claimed claims_take(struct claims *claims, const char *path, struct error *err);
void claims_give_up(struct claims *claims); /* the one that it holds, if any */

#endif
