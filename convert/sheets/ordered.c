/* ordered.c - see ordered.h */
#include "convert/sheets/ordered.h"

#include "engine/base/mem.h"
#include "engine/base/thread_pool.h"

void ordered_init(struct ordered *ordered, struct thread_pool *pool)
{
	*ordered = (struct ordered){.pool = pool, .failed = {.kind = ERR_NONE}};
	pthread_mutex_init(&ordered->lock, NULL);
}

void ordered_release(struct ordered *ordered)
{
	for (size_t k = 0; k < ordered->count; k++) {
		struct ordered_file *file = ordered->files[k];
		for (size_t i = file->written; i < file->count; i++)
			buf_release(&file->pieces[i].bytes);
		mem_free(file->pieces);
		out_drop(&file->out);
		mem_free(file->name);
		mem_free(file);
	}
	mem_free(ordered->files);
	pthread_mutex_destroy(&ordered->lock);
}

struct ordered_file *ordered_open(struct ordered *ordered, struct out_folder *folder,
				  struct sheet *sheet, char *name, const struct buf *head,
				  struct error *err)
{
	struct ordered_file *file = sheet->file = mem_new(sizeof *file);

	file->name = name;
	file->sheet = sheet;
	*mem_push(ordered->files, ordered->count, ordered->capacity) = file;
	return out_open_inside(&file->out, folder, name, err) &&
			       out_write(&file->out, head->data, head->len, err)
		       ? file
		       : NULL;
}

static void run_work(void *arg)
{
	struct ordered_work *work = arg;

	work->run(work);
	mem_free(work->parts);
	mem_free(work);
}

bool ordered_add(struct ordered *ordered, struct ordered_file *file, struct sheet **parts,
		 size_t count, size_t npieces, void (*run)(struct ordered_work *work),
		 struct error *err)
{
	for (size_t i = 0; !file && i < count; i++)
		sheet_free(parts[i]);
	if (!file)
		return false;
	struct ordered_work *work = mem_new(sizeof *work);
	*work = (struct ordered_work){.ordered = ordered,
				      .file = file,
				      .parts = mem_new_array(count, sizeof *parts),
				      .count = count,
				      .run = run};
	memcpy(work->parts, parts, count * sizeof *parts);
	pthread_mutex_lock(&ordered->lock);
	work->number = file->count;
	for (size_t i = 0; i < npieces; i++)
		*mem_push(file->pieces, file->count, file->capacity) = (struct ordered_piece){0};
	bool ok = ordered->failed.kind == ERR_NONE;
	if (!ok)
		*err = ordered->failed;
	pthread_mutex_unlock(&ordered->lock);
	thread_pool_add(ordered->pool, run_work, work);
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

void ordered_put(struct ordered_work *work, size_t i, struct buf *bytes, void *data)
{
	struct ordered *ordered = work->ordered;
	struct ordered_file *file = work->file;

	pthread_mutex_lock(&ordered->lock);
	file->pieces[work->number + i] =
		(struct ordered_piece){.bytes = *bytes, .made = true, .data = data};
	*bytes = (struct buf){0};
	if (!file->writing)
		write_turns(ordered, file);
	pthread_mutex_unlock(&ordered->lock);
}

bool ordered_done(const struct ordered *ordered, struct error *err)
{
	thread_pool_wait(ordered->pool);
	if (ordered->failed.kind != ERR_NONE)
		*err = ordered->failed;
	return ordered->failed.kind == ERR_NONE;
}
