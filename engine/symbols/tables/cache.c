/*
 * cache.c - symbol tables as files, one per build id, shared by runs
 *
 * A file is written under another name and renamed, so that readers see all of it or nothing. Its
 * digest shows whether it is complete, its stamp whether it is of the same files. After a failure
 * the table is made again, which only costs time.
 */
#include "engine/symbols/tables/tables.h"

#include "engine/base/buf.h"
#include "engine/base/folder.h"
#include "engine/base/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

bool symbol_cache_load(const char *folder, const char *name, uint64_t stamp,
		       struct symbol_table *out)
{
	struct buf path = {0};
	struct source *source;
	struct block block;
	struct stat st;
	struct error err;
	bool good;

	buf_printf(&path, "%s/%s", folder, name);
	good = stat(buf_text(&path), &st) == 0 && S_ISREG(st.st_mode) &&
	       source_open(buf_text(&path), SOURCE_AUTO, &source, &err);
	buf_release(&path);
	if (!good)
		return false;
	if (!source_get(source, 0, (size_t)source_size(source), &block, &err)) {
		source_close(source);
		return false;
	}
	if (!symbol_table_check(block.data, block.size, stamp, out)) {
		source_put(&block);
		source_close(source);
		return false;
	}
	out->source = source;
	out->block = block;
	return true;
}

void symbol_cache_store(const char *folder, const char *name, const struct symbol_table *table)
{
	struct buf path = {0}, part = {0};
	int fd;

	if (mkdir(folder, 0700) != 0 && errno != EEXIST)
		return;
	buf_printf(&path, "%s/%s", folder, name);
	buf_printf(&part, "%s.%ld.part", buf_text(&path), (long)getpid());
	fd = open(buf_text(&part), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		  0600); /* kernel addresses are for their owner alone */
	if (fd >= 0) {
		int noted = temporary_note(buf_text(&part), false);
		bool good = file_put(fd, table->image, table->size);
		good = close(fd) == 0 && good;
		if (!good || rename(buf_text(&part), buf_text(&path)) != 0)
			unlink(buf_text(&part));
		temporary_forget(noted);
	}
	buf_release(&path);
	buf_release(&part);
}
