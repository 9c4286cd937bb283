libengine_la_SOURCES += %D%/aux.c %D%/classes.c %D%/decode.c %D%/features.c %D%/flat.c %D%/header.c \
	%D%/copy_cache.c %D%/record_view.h %D%/maps.c %D%/perf.h %D%/perf_internal.h %D%/records.c \
	%D%/spill.c %D%/walk.c %D%/target.c
