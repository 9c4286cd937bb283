libengine_la_SOURCES += %D%/perf.h
