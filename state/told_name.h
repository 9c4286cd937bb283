/*
 * told_name.h - the name of a thread by the switch that set a value
 *
 * A sched_switch that says who runs next says its name, too. While that thread runs, no other
 * switch of its CPU is there, and only what renames threads can change the name: so it is known
 * from the packets that were read for the value.
 */
#ifndef STATE_TOLD_NAME_H
#define STATE_TOLD_NAME_H

#include "state/comms.h"

struct told_names;

struct told_names *told_names_new(struct state *state);
void told_names_free(struct told_names *told); /* NULL is fine */
/*
 * Fills item->name and item->since where item->by tells the name at item->moment: it is a switch
 * to item->tid before the moment, or one from it behind, and nothing in between may tell another.
 * Else the name stays NULL. The state's rules say what a name is, if they do.
 */
MUST_CHECK bool told_names_find(struct told_names *told, struct comm *item, struct arena *arena,
				struct error *err);

#endif
