/*
 * made_ftrace.h - for tests: writes trace.dat files of any form byte by byte, as the format's
 * description says, and lists the events in them
 */
#ifndef TESTS_ENGINE_MADE_FTRACE_H
#define TESTS_ENGINE_MADE_FTRACE_H

#include "engine/base/buf.h"
#include "fixtures/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MADE_ID = 300, MADE_UNKNOWN = 999, MADE_CPUS = 4, MADE_PID = 42 };

struct made_form {
	const char *name;
	unsigned version;
	bool big_endian;
	unsigned longs;    /* bytes of a long */
	uint32_t page;     /* bytes of a page of the ring buffer */
	const char *codec; /* version 7: "none", "zlib", "zstd" */
};

struct made_event {
	uint64_t stamp;
	uint32_t n; /* the event's own field */
};

struct made_cpu {
	struct buf pages;
	struct made_event *events;
	size_t count, capacity;
};

/* One page under construction. */
struct made_page {
	uint64_t stamp, last;
	struct buf entries;
	bool missed;
	uint64_t lost; /* 0: not counted */
};

struct made {
	const struct made_form *form;
	struct made_cpu cpus[MADE_CPUS];
	unsigned ncpus;
	const char *comms;  /* saved command lines */
	struct buf options; /* {id, size, data}, without the end mark */
	struct buf file;
};

void made_init(struct made *made, const struct made_form *form, unsigned ncpus);
void made_release(struct made *made);
void made_put(const struct made *made, struct buf *out, uint64_t value, unsigned bytes);

void made_option(struct made *made, unsigned id, const void *data, size_t size);

/*
 * Add entries to a page, in the byte order of `made`. The caller lists entries that become events.
 */
void made_page_begin(struct made_page *page, uint64_t stamp);
void made_entry(const struct made *made, struct made_page *page, unsigned type, uint32_t delta);
void made_event(struct made *made, struct made_page *page, unsigned cpu, uint64_t stamp,
		uint32_t n);
void made_long_event(struct made *made, struct made_page *page, unsigned cpu, uint64_t stamp,
		     uint32_t n, size_t more);
void made_stamp(const struct made *made, struct made_page *page, uint64_t stamp);
void made_deleted(const struct made *made, struct made_page *page, uint32_t delta, size_t bytes);
size_t made_page_room(const struct made *made, const struct made_page *page);
/* Ends the page and appends it to the CPU's pages. */
void made_page_end(struct made *made, struct made_page *page, unsigned cpu);

/* Appends `count` pages of random entries of every kind; the numbers of events continue from *n. */
void made_random_pages(struct made *made, unsigned cpu, size_t count, uint64_t *stamp, uint32_t *n,
		       struct rng *random);

/*
 * Writes the whole file to made->file. The others write the texts of header_page and a format, for
 * folders of pages.
 */
void made_write(struct made *made);
void made_header_page(const struct made *made, struct buf *out);
void made_format(const struct made *made, struct buf *out);

#endif
