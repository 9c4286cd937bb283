/*
 * symbols_scene.h - for tests of symbols: a trace whose reader tells the changes that a test lists,
 * and a folder for the programs that it makes
 */
#ifndef TESTS_ENGINE_SYMBOLS_SCENE_H
#define TESTS_ENGINE_SYMBOLS_SCENE_H

#include "engine/reader.h"

#include <stdio.h>

extern char scene_folder[]; /* also HOME */
extern struct trace *scene_trace;

/* For cmocka's group; the folder goes with the end. */
int scene_setup(void **state);
int scene_teardown(void **state);

/* What the trace's reader tells from now on; borrowed. */
void tell(const struct map_event *events, size_t count);

/* Shell commands in the folder. */
bool scene_run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
FILE *scene_ask(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* pclose() it */
void scene_write(const char *name, const char *text);

#endif
