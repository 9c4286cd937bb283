/* page.h - our own page: one file without others, put together from those of this folder */
#ifndef SERVE_PAGE_PAGE_H
#define SERVE_PAGE_PAGE_H

#include "engine/base/buf.h"

/* A file of this folder, embedded when the program is built. NULL: there is none of that name. */
const char *page_part(const char *name);

void page_add(struct buf *out); /* all of it */

#endif
