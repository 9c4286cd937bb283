libengine_a_SOURCES += \
	%D%/perf_aux.c \
	%D%/perf_classes.c \
	%D%/perf_decode.c \
	%D%/features.c \
	%D%/flat.c \
	%D%/header.c \
	%D%/metadata.c \
	%D%/opening.h \
	%D%/copy_cache.c \
	%D%/record_view.h \
	%D%/perf_maps.c \
	%D%/perf_internal.h \
	%D%/records.c \
	%D%/spill.c \
	%D%/turns.c \
	%D%/walk.c \
	%D%/walk_grow.c \
	%D%/walk_internal.h \
	%D%/walk_turns.c \
	%D%/target.c \
	%D%/perf_unknown.c
