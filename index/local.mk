noinst_LTLIBRARIES += libindex.la
libindex_la_SOURCES = %D%/build.c %D%/build.h %D%/delivery.c %D%/delivery.h %D%/corrections.c %D%/corrections.h \
	%D%/identity.c %D%/identity.h %D%/index.c %D%/index.h %D%/index_internal.h \
	%D%/location.c %D%/location.h %D%/pages.c %D%/pages.h %D%/pages_internal.h \
	%D%/pages_write.c %D%/reach.c %D%/reach.h %D%/rows.c %D%/rows.h %D%/scan.c %D%/scan.h \
	%D%/store.c %D%/store.h \
	%D%/store_file.c %D%/store_internal.h %D%/tree.c %D%/tree_write.c %D%/table.c %D%/table.h %D%/tables.c %D%/team.c %D%/values.c %D%/write.c %D%/write.h
libindex_la_CFLAGS = $(AM_CFLAGS) $(XXHASH_CFLAGS) -pthread
libindex_la_LIBADD = $(XXHASH_LIBS) -lpthread
libindex_la_SOURCES += %D%/run_column.c %D%/run_column.h %D%/sketch.h %D%/sketch_internal.h \
	%D%/sketcher.c %D%/sketches.c %D%/sketching.c
libindex_la_SOURCES += %D%/events.c %D%/events.h %D%/loser.c %D%/loser.h %D%/losses.c %D%/losses.h \
	%D%/merge.c %D%/merge.h \
	%D%/open_packet.c %D%/open_packet.h %D%/open_packet_internal.h %D%/open_packet_sorted.c \
	%D%/packet_cache.c %D%/packet_cache.h \
	%D%/packet_heads.c %D%/packet_heads.h %D%/lot.c %D%/lot.h \
	%D%/read_ahead.c %D%/read_ahead.h \
	%D%/keeper.c %D%/kept.c %D%/kept.h %D%/kept_internal.h %D%/range.c %D%/record_map.c %D%/record_map.h %D%/recorded.c %D%/recorded.h \
	%D%/stream_backward.c %D%/stream_cursor.c %D%/stream_cursor.h %D%/stream_cursor_internal.h %D%/stream_forward.c \
	%D%/sweep.c %D%/sweep.h %D%/sweep_internal.h %D%/sweep_packet.c %D%/sweep_records.c
