/* ovni.h - the ovni trace format's entry in the table of readers */
#ifndef ENGINE_OVNI_OVNI_H
#define ENGINE_OVNI_OVNI_H

#include "engine/reader.h"

extern const struct reader ovni_reader;

#endif
