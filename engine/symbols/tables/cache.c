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
#include "engine/base/new_file.h"

#include <errno.h>
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
	struct new_file file;

	if (mkdir(folder, 0700) != 0 && errno != EEXIST)
		return;
	buf_printf(&path, "%s/%s", folder, name);
	buf_printf(&part, "%ld.part", (long)getpid());
	/* of mode 0600: kernel addresses are for their owner alone */
	if (new_file_begin(&file, buf_text(&path), buf_text(&part)) == 0)
		new_file_end(&file, file_put(file.fd, table->image, table->size) ? 0 : EIO, false);
	buf_release(&path);
	buf_release(&part);
}
