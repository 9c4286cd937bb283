/* ordered.c - see ordered.h */
#include "convert/sheets/ordered.h"

#include "engine/base/mem.h"

void ordered_init(struct ordered *ordered)
{
	*ordered = (struct ordered){.failed = {.kind = ERR_NONE}};
	pthread_mutex_init(&ordered->lock, NULL);
}

void ordered_release(struct ordered *ordered)
{
	pthread_mutex_destroy(&ordered->lock);
}

void ordered_file_release(struct ordered_file *file)
{
	for (size_t i = file->written; i < file->count; i++)
		buf_release(&file->pieces[i].bytes);
	mem_free(file->pieces);
	out_drop(&file->out);
}

bool ordered_reserve(struct ordered *ordered, struct ordered_file *file, size_t count,
		     size_t *number, struct error *err)
{
	pthread_mutex_lock(&ordered->lock);
	*number = file->count;
	for (size_t i = 0; i < count; i++)
		*mem_push(file->pieces, file->count, file->capacity) = (struct ordered_piece){0};
	bool ok = ordered_done(ordered, err);
	pthread_mutex_unlock(&ordered->lock);
	return ok;
}

/* The caller holds the lock, which is released during writes. */
static void write_turns(struct ordered *ordered, struct ordered_file *file)
{
	file->writing = true;
	while (file->written < file->count && file->pieces[file->written].made) {
		struct ordered_piece *piece = &file->pieces[file->written++];
		struct buf bytes = piece->bytes;
		struct error err;

		piece->bytes = (struct buf){0};
		piece->at = file->out.at;
		bool ok = ordered->failed.kind != ERR_NONE;
		pthread_mutex_unlock(&ordered->lock);
		ok = ok || out_write(&file->out, bytes.data, bytes.len, &err);
		buf_release(&bytes);
		pthread_mutex_lock(&ordered->lock);
		if (!ok && ordered->failed.kind == ERR_NONE)
			ordered->failed = err;
	}
	file->writing = false;
}

void ordered_put(struct ordered *ordered, struct ordered_file *file, size_t number,
		 struct buf *bytes)
{
	pthread_mutex_lock(&ordered->lock);
	file->pieces[number].bytes = *bytes;
	file->pieces[number].made = true;
	*bytes = (struct buf){0};
	if (!file->writing)
		write_turns(ordered, file);
	pthread_mutex_unlock(&ordered->lock);
}

bool ordered_done(const struct ordered *ordered, struct error *err)
{
	if (ordered->failed.kind != ERR_NONE)
		*err = ordered->failed;
	return ordered->failed.kind == ERR_NONE;
}
