/* mirror_mark.c - reads a mirror's mark: has the session ended? */
#include "live/mirror_internal.h"

#include "engine/base/folder.h"
#include "engine/base/mem.h"

#include <string.h>

/* Does the folder's mark end with this text? False also without a mark. */
static bool is_marked(const char *folder, const char *end)
{
	char *path = folder_join(folder, MIRROR_MARK);
	size_t len = strlen(end);
	struct buf mark = {0};
	bool is = file_read(path, &mark) && mark.len > len &&
		  !memcmp(mark.data + mark.len - len, end, len);

	buf_release(&mark);
	mem_free(path);
	return is;
}

bool mirror_has_ended(const char *folder)
{
	return is_marked(folder, MIRROR_ENDED);
}

bool mirror_goes_on(const char *folder)
{
	return is_marked(folder, MIRROR_GOING);
}
