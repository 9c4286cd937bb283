/*
 * check_description.h - checks what every description promises, in any language: all nodes are
 * there, alignments are powers of two, lengths and tags are integers
 */
#ifndef TESTS_FUZZ_CHECK_DESCRIPTION_H
#define TESTS_FUZZ_CHECK_DESCRIPTION_H

#include "engine/ctf/description.h"

#include <stdlib.h>

static inline void require(bool promise)
{
	if (!promise)
		abort();
}

/* `own` checks further promises of the language. */
static inline void check_node(const struct field_class *node,
			      void (*own)(const struct field_class *node))
{
	require(node && node->align && !(node->align & (node->align - 1)));
	switch (node->kind) {
	case FIELD_INT:
		require(node->bits >= 1 && node->bits <= 64);
		break;
	case FIELD_FLOAT:
		require(node->bits == 16 || node->bits == 32 || node->bits == 64);
		break;
	case FIELD_SEQUENCE:
		require(node->ref && node->ref->kind == FIELD_INT && !node->ref->is_signed);
		break;
	case FIELD_VARIANT:
		require(node->nmembers && node->ref && node->ref->kind == FIELD_INT);
		break;
	case FIELD_STRING:
	case FIELD_STRUCT:
	case FIELD_ARRAY:
		require(!node->ref);
		break;
	}
	own(node);
	for (uint32_t i = 0; i < node->nmembers; i++) {
		require(node->members[i].name && node->members[i].written);
		check_node(node->members[i].class, own);
	}
	if (node->kind == FIELD_ARRAY || node->kind == FIELD_SEQUENCE)
		check_node(node->element, own);
}

static inline void check_scope(const struct field_class *scope,
			       void (*own)(const struct field_class *node))
{
	if (!scope)
		return;
	require(scope->kind == FIELD_STRUCT);
	check_node(scope, own);
}

static inline void check_description(const struct ctf_description *d,
				     void (*own)(const struct field_class *node))
{
	check_scope(d->packet_header, own);
	for (size_t i = 0; i < d->nstreams; i++) {
		const struct ctf_stream *stream = &d->streams[i];
		require(stream->clock < (int32_t)d->nclocks);
		check_scope(stream->packet_context, own);
		check_scope(stream->event_header, own);
		check_scope(stream->event_context, own);
		for (size_t k = 0; k < stream->nevents; k++) {
			check_scope(stream->events[k].context, own);
			check_scope(stream->events[k].payload, own);
		}
	}
}

#endif
