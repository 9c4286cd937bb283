libengine_la_SOURCES += %D%/tracing.h
