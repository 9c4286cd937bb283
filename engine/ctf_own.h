/*
 * ctf_own.h - names by which a CTF trace that yore wrote keeps what CTF 1.8 cannot express
 *
 * Other readers see ordinary members and types. The entry `yore_ctf` in the environment says that
 * these names have the meanings below (docs/ctf.md, "What yore writes").
 *
 *     __yore_length_NAME, __yore_option_NAME   a member that is hidden: NAME's length or selector
 *     __yore_name_TEXT                         a name that is no identifier, see own_name_write()
 *     __yore_none, __yore_some                 options of a variant that is an optional
 *     __yore_context                           first member of a payload: the event's own context
 *     __yore_before_all                        1 in the packet context: its events have no time
 *     typealias ... := __yore_bool_N           a type: boolean, bit array, bit map, byte of a blob
 *     env yore_stream_N                        name of the stream whose instance id is N
 */
#ifndef ENGINE_CTF_OWN_H
#define ENGINE_CTF_OWN_H

#include "engine/base/buf.h"

#include <stdbool.h>

#define OWN_PREFIX "__yore_"
#define OWN_LENGTH OWN_PREFIX "length_"
#define OWN_OPTION OWN_PREFIX "option_"
#define OWN_NAME OWN_PREFIX "name_"
#define OWN_NONE OWN_PREFIX "none"
#define OWN_SOME OWN_PREFIX "some"
#define OWN_CONTEXT OWN_PREFIX "context"
#define OWN_BEFORE_ALL OWN_PREFIX "before_all"
#define OWN_BOOL OWN_PREFIX "bool_"
#define OWN_BITS OWN_PREFIX "bits_"
#define OWN_FLAGS OWN_PREFIX "flags_"
#define OWN_BLOB OWN_PREFIX "blob_"
#define OWN_ENV "yore_ctf"
#define OWN_ENV_STREAM "yore_stream_"

/* Appends an encoded name: letters and digits stay, an underscore becomes two, any other byte an
   underscore and its two hexadecimal digits. */
void own_name_write(struct buf *out, const char *name);
/* Decodes the text behind OWN_NAME. False: it is no encoded name; *out is then undefined. */
bool own_name_read(const char *text, struct buf *out);

bool ctf_is_own_env(const char *name); /* an entry of the environment that yore added */

#endif
