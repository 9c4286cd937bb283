/*
 * stats.h - what a run cost, for --stats
 *
 * Peak anonymous memory is not kept by the kernel (VmHWM counts mapped files too), so a thread
 * samples RssAnon of /proc/self/status every 5 ms while --stats is on, and once at the end. A peak
 * shorter than that may be missed.
 */
#ifndef REPL_STATS_H
#define REPL_STATS_H

#include "repl/session.h"

void stats_begin(bool sample);             /* at the start of the program */
void stats_print(struct session *session); /* one line of JSON on standard error */

#endif
