noinst_LIBRARIES += libindex.a
libindex_a_CFLAGS = $(AM_CFLAGS) $(SHARED_CFLAGS) $(XXHASH_CFLAGS) $(LMDB_CFLAGS) -pthread
index_libs = libindex.a $(engine_libs) $(index_outside)
index_outside = $(XXHASH_LIBS) $(LMDB_LIBS) -lpthread

# The door
libindex_a_SOURCES = \
	%D%/events.h \
	%D%/index.c \
	%D%/index.h \
	%D%/loaded_files.c \
	%D%/loaded_files.h \
	%D%/stored_traces.c \
	%D%/stored_traces.h

# Rooms, from the lowest up
libindex_a_SOURCES += \
	%D%/store/catalog.c \
	%D%/store/catalog.h \
	%D%/store/segment.c \
	%D%/store/segment.h \
	%D%/store/store.c \
	%D%/store/store.h
libindex_a_SOURCES += \
	%D%/tables/build.c \
	%D%/tables/build.h \
	%D%/tables/copies.c \
	%D%/tables/delivery.c \
	%D%/tables/delivery.h \
	%D%/tables/findings.c \
	%D%/tables/findings.h \
	%D%/tables/far.c \
	%D%/tables/far.h \
	%D%/tables/identity.c \
	%D%/tables/identity.h \
	%D%/tables/internal.h \
	%D%/tables/location.c \
	%D%/tables/location.h \
	%D%/tables/losses.c \
	%D%/tables/losses.h \
	%D%/tables/pages.c \
	%D%/tables/pages.h \
	%D%/tables/reach.c \
	%D%/tables/reach.h \
	%D%/tables/record_map.c \
	%D%/tables/record_map.h \
	%D%/tables/recorded.c \
	%D%/tables/recorded.h \
	%D%/tables/record_list.c \
	%D%/tables/record_list.h \
	%D%/tables/scan.c \
	%D%/tables/scan.h \
	%D%/tables/table.c \
	%D%/tables/table.h \
	%D%/tables/tables.c \
	%D%/tables/keep.c \
	%D%/tables/key_value.c \
	%D%/tables/write.c \
	%D%/tables/write.h
libindex_a_SOURCES += \
	%D%/filters/run_column.c \
	%D%/filters/run_column.h \
	%D%/filters/packet_filter.h \
	%D%/filters/internal.h \
	%D%/filters/filter_maker.c \
	%D%/filters/packet_filters.c \
	%D%/filters/filter_making.c
libindex_a_SOURCES += \
	%D%/packets/head_cache_fill.c \
	%D%/packets/head_cache.c \
	%D%/packets/head_cache.h \
	%D%/packets/head_cache_internal.h \
	%D%/packets/open_packet.c \
	%D%/packets/open_packet.h \
	%D%/packets/open_packet_internal.h \
	%D%/packets/open_packet_sorted.c \
	%D%/packets/packet_cache.c \
	%D%/packets/packet_cache.h
libindex_a_SOURCES += \
	%D%/cursor/events.c \
	%D%/cursor/expect.c \
	%D%/cursor/loser.c \
	%D%/cursor/loser.h \
	%D%/cursor/cuts.c \
	%D%/cursor/windows.c \
	%D%/cursor/windows.h \
	%D%/cursor/event_block.c \
	%D%/cursor/event_block.h \
	%D%/cursor/merge.c \
	%D%/cursor/merge.h \
	%D%/cursor/range.c \
	%D%/cursor/read_ahead.c \
	%D%/cursor/first_events.c \
	%D%/cursor/first_events.h \
	%D%/cursor/read_ahead.h \
	%D%/cursor/stream_backward.c \
	%D%/cursor/stream_cursor.c \
	%D%/cursor/stream_cursor.h \
	%D%/cursor/stream_cursor_internal.h \
	%D%/cursor/stream_forward.c
libindex_a_SOURCES += \
	%D%/sweep/filter_range.c \
	%D%/sweep/shared.c \
	%D%/sweep/shared.h \
	%D%/sweep/sweep.c \
	%D%/sweep/sweep.h \
	%D%/sweep/sweep_chunks.c \
	%D%/sweep/sweep_internal.h \
	%D%/sweep/sweep_packet.c \
	%D%/sweep/sweep_plan.c \
	%D%/sweep/sweep_records.c
