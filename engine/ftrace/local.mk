libengine_la_SOURCES += %D%/ftrace.h
