/* kernel_text.c - prints a record by its print format, which is compiled on first use */
#include "engine/kernel/print.h"

static struct print_program *program_of(const struct tracing *tracing, struct tracing_text *text,
					enum tracing_style style)
{
	struct print_program **slot = &text->programs[style];
	struct print_program *program = __atomic_load_n(slot, __ATOMIC_ACQUIRE);

	if (program)
		return program;
	/* the lock is no part of the const data: compiling a format changes no result */
	pthread_mutex_t *lock = tracing->lock;
	pthread_mutex_lock(lock);
	program = *slot;
	if (!program) {
		program = print_compile(tracing, text, style, tracing->programs);
		__atomic_store_n(slot, program, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(lock);
	return program;
}

bool tracing_text(const struct tracing *tracing, const struct tracing_format *format,
		  enum tracing_style style, const uint8_t *data, size_t size, struct buf *out)
{
	static const uint8_t none;
	const struct print_record record = {tracing, data ? data : &none, data ? size : 0};
	struct tracing_text *text = format->text;
	const struct print_program *program = program_of(tracing, text, style);
	size_t before = out->len;
	bool lines = true;

	if (style != TRACING_TRACECMD || !plugin_text(&record, text, program, out)) {
		if (text->is_bprint) {
			print_bprint(&record, text, out);
		} else if (program->failed) {
			buf_add_text(out, "[FAILED TO PARSE]");
			print_raw(&record, text, out);
		} else {
			print_run(program, &record, out);
			lines = program->lines ||
				(program->texts && memchr(record.data, '\n', record.size));
		}
	}
	if (out->len > before && out->data[out->len - 1] == '\n')
		out->len--;
	*buf_room(out, 0) = 0;
	return lines;
}
