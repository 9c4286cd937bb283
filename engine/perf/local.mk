libengine_la_SOURCES += %D%/perf.h %D%/perf_internal.h %D%/records.c
libengine_la_SOURCES += %D%/aux.c
