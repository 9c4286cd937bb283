/*
 * symbols_scene.h - for tests of symbols: a trace whose reader reports given changes of mappings,
 * and a folder for programs that tests make
 */
#ifndef TESTS_ENGINE_SYMBOLS_SCENE_H
#define TESTS_ENGINE_SYMBOLS_SCENE_H

#include "engine/reader.h"

#include <stdio.h>

extern char scene_folder[]; /* also HOME */
extern struct trace *scene_trace;

/* Setup and teardown of a cmocka group; the latter deletes the folder. */
int scene_setup(void **state);
int scene_teardown(void **state);

/* Sets the changes that the trace's reader reports; borrowed. */
void tell(const struct map_event *events, size_t count);

/* Run a shell command in the folder. */
bool scene_run(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
FILE *scene_ask(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* pclose() it */
void scene_write(const char *name, const char *text);

#endif
