/* relay.h - what the commands that ask a relay share */
#ifndef REPL_COMMANDS_RELAY_H
#define REPL_COMMANDS_RELAY_H

#include "live/connection.h"

/* How long is waited for a relay; Ctrl-C ends it. `arg` is the caller's. */
struct connection_limits relay_limits(void *arg);

#endif
