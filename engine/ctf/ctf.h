/* ctf.h - the Common Trace Format's entry in the table of readers */
#ifndef ENGINE_CTF_CTF_H
#define ENGINE_CTF_CTF_H

#include "engine/reader.h"

extern const struct reader ctf_reader;

#endif
