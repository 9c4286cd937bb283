/* page.h - our own page: one HTML file, built from the files of this folder */
#ifndef SERVE_PAGE_PAGE_H
#define SERVE_PAGE_PAGE_H

#include "engine/base/buf.h"

/* The text of a file of this folder, embedded at build time. NULL: no such file. */
const char *page_part(const char *name);

void page_add(struct buf *out); /* appends the whole page */

#endif
