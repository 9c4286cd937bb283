/*
 * bind_rows.c - yore.condition(text, columns): a condition on rows of named columns, term by term
 *
 *     for _, term in ipairs(yore.condition("dur > 1ms && comm ~ 'a*'", {"comm", "dur"})) do
 *         term.names   a set of the columns that it reads
 *         term.test(row)
 *     end
 *
 * All terms must hold. Raises an error with the place of a mistake in the text. Also yore.path().
 */
#include "engine/base/mem.h"
#include "lua-lib/binding/bind.h"
#include "lua-lib/segments/bind_segments.h"
#include "state/filter/rows.h"
#include "state/rules/rules.h"

#define ROWS_TYPE "yore.condition"

enum { SELF = 1, TERM, NAMES }; /* upvalues of test(): the last one is the list of columns */

struct row_condition {
	struct rows_where *where;
	const char **names; /* borrowed from the list, which is an upvalue of test() */
	struct value *values;
	size_t count;
};

static int condition_gc(lua_State *L)
{
	struct row_condition *condition = luaL_checkudata(L, 1, ROWS_TYPE);

	rows_where_free(condition->where);
	mem_free(condition->names);
	mem_free(condition->values);
	*condition = (struct row_condition){0};
	return 0;
}

/* term.test(row). Texts are borrowed from the row during the call. */
static int test(lua_State *L)
{
	struct row_condition *condition = lua_touserdata(L, lua_upvalueindex(SELF));
	size_t term = (size_t)lua_tointeger(L, lua_upvalueindex(TERM));

	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	luaL_checkstack(L, (int)condition->count + 1, NULL);
	for (size_t i = 0; i < condition->count; i++) {
		if (!rows_where_reads(condition->where, term, i))
			continue;
		condition->values[i] = lua_getfield(L, 1, condition->names[i]) == LUA_TNIL
					       ? (struct value){.kind = VALUE_UNKNOWN}
					       : bind_check_value(L, -1);
	}
	lua_pushboolean(L, rows_where_holds(condition->where, term, condition->values));
	return 1;
}

/* Pushes the table of a term; the condition is at stack index 3. */
static void push_term(lua_State *L, const struct row_condition *condition, size_t term)
{
	lua_newtable(L);
	lua_newtable(L);
	for (size_t i = 0; i < condition->count; i++)
		if (rows_where_reads(condition->where, term, i))
			bind_set_boolean(L, condition->names[i], true);
	lua_setfield(L, -2, "names");
	lua_pushvalue(L, 3);
	lua_pushinteger(L, (lua_Integer)term);
	lua_pushvalue(L, 2);
	lua_pushcclosure(L, test, NAMES);
	lua_setfield(L, -2, "test");
}

int bind_yore_condition(lua_State *L)
{
	const char *text = luaL_checkstring(L, 1);
	struct row_condition *condition;
	struct error err;

	luaL_checktype(L, 2, LUA_TTABLE);
	lua_settop(L, 2);
	condition = bind_new_owned(L, sizeof *condition, ROWS_TYPE, condition_gc);
	condition->count = (size_t)lua_rawlen(L, 2);
	condition->names = mem_new_array(condition->count + 1, sizeof(char *));
	condition->values = mem_new_array(condition->count + 1, sizeof *condition->values);
	for (size_t i = 0; i < condition->count; i++) {
		lua_rawgeti(L, 2, (lua_Integer)i + 1);
		condition->names[i] = luaL_checkstring(L, -1); /* the list keeps it */
		lua_pop(L, 1);
	}
	if (!rows_where_parse(text, condition->names, condition->count, &condition->where, &err))
		return bind_raise(L, &err);
	lua_newtable(L);
	for (size_t i = 0; i < rows_where_terms(condition->where); i++) {
		push_term(L, condition, i);
		lua_rawseti(L, -2, (lua_Integer)i + 1);
	}
	return 1;
}

/* yore.path("thread[*]/state = blocked"): the path, and the value behind `=`, or nil. */
int bind_yore_path(lua_State *L)
{
	const char *text = luaL_checkstring(L, 1);
	struct query *query;
	struct value value;
	struct error err;
	bool has_value;

	if (!query_parse_value(text, &query, &has_value, &value, &err))
		return bind_raise(L, &err);
	lua_pushstring(L, query_text(query));
	if (has_value)
		bind_push_value(L, &value);
	else
		lua_pushnil(L);
	query_free(query);
	return 2;
}
