# Decides what Trino's OPA plugin asks, by data made from the grants: data.grantline.access. Every look-up is by full keys:
# nothing iterates over grants, policies or people.
#
# Keys of principals are u + name, g + id, or * for everyone; nodes are looked up by catalog, schema and table, with "" for
# an absent level and a tab before the name of a routine. Rights are letters (RIGHT_LETTERS in document/opa-operations.ts):
# a text, or [letters that stay, the end of each letter that lapses]. Moments are milliseconds since 1970. A field without a
# value is absent, never null.
#
#   operations         what each operation asks and needs: Operation in document/opa-operations.ts
#   own, services      Grantline's own account on the engine; all service accounts, as keys
#   served             rights of service accounts, by catalog
#   closed             the metadata catalog, to which nobody has access
#   storage            by catalog ("": any other): columns that are hidden as soon as another one is masked or hidden
#   impersonation, readersMaintain, sessionProperties    the settings of these names
#   users              by name: k, keys whose grants and policies apply; o, keys as an owner of queries where k is absent, such
#                      as for a deactivated account; e, an engine principal; u, until when it is a member of everyone; i, until
#                      when the user may impersonate others; z, nobody may impersonate the user
#   grants             rights, by principal, catalog, schema and table
#   below              by principal ("": all), catalog and schema: l, rights that grants below give and that no policy between
#                      takes; n, names of children to evaluate, because policies or settings may change rights there
#   policies           lists by catalog, schema, table and principal: k, f(ilter), m(ask), h(idden) or d(eny); e, expression;
#                      c, column; l, rights that are taken; r, it restricts reading, and closes companions (table$suffix) and
#                      procedures that add files; x, keys of principals that are excepted. Under a line feed in place of the
#                      table, without k: what policies take beyond their nodes
#   over               rights over the engine (""), over queries of others, and to impersonate: grants by holder and principal;
#                      denies, lists of l and x, likewise; members, the names behind each principal whose queries may be killed
package grantline

import data.grantline.access

default allow := false

# A rename asks for both names.
allow if {
	permitted(resource)
	every target in [on | operation.target; on := object.get(input.action, "targetResource", {})] {
		permitted(target)
	}
}

batch contains i if {
	some i, candidate in input.action.filterResources
	permitted(candidate)
}

# One table with many columns.
batch contains i if {
	some candidate in input.action.filterResources
	shows_table(candidate.table)
	some i, column in candidate.table.columns
	not column in hidden_columns(candidate.table)
}

rowFilters contains {"expression": entry.e} if {
	some level in levels_of(resource.table)
	some entry in level
	entry.k == "f"
}

# One row, and the revision as its mask: proves this policy and both entry points to the own account.
rowFilters contains {"expression": "table_type = 'TABLE'"} if is_canary(resource.table)

columnMask := view_expression(resource.column)

batchColumnMasks contains {"index": i, "viewExpression": view_expression(candidate.column)} if {
	some i, candidate in input.action.filterResources
}

view_expression(column) := {"expression": typed(mask(column), column.columnType)}

# The type stands in the text only where it cannot end the cast.
typed(text, type) := sprintf("CAST((%s) AS %s)", [text, type]) if {
	regex.match(`^([A-Za-z0-9_ ,()]|"[^"]*")+$`, type)
} else := text

mask(column) := masks(levels_of(column), column.catalogName)[column.columnName]

mask(column) := sprintf("'%s'", [data.system.bundles.grantline.manifest.revision]) if {
	is_canary(column)
	column.columnName == "table_type"
}

is_canary(at) if {
	user == access.own
	[at.catalogName, at.schemaName, at.tableName] == ["system", "jdbc", "table_types"]
}

user := input.context.identity.user

operation := access.operations[input.action.operation]

resource := object.get(input.action, "resource", {})

permitted(on) if {
	answers(operation.asks, on)
	not leads_to_files(on)
}

answers("executing", _) if executes(user)

answers("engine", _) if over(user, [""], operation.needs[0])

answers("queries", on) if on.user.user == user

answers("queries", on) if over(user, array.concat([""], owner_keys(on.user.user)), operation.needs[0])

answers("impersonation", on) if over(user, target_keys(on.user.user), "A")

# The service's own account becomes active people who reach something.
answers("impersonation", on) if {
	access.impersonation
	user == access.own
	not access.users[on.user.user].e
	"*" in target_keys(on.user.user)
	executes(on.user.user)
}

answers("system-property", _) if user == access.own

answers("system-property", on) if {
	access.services[user]
	not startswith(on.systemSessionProperty.name, "grantline_rules_")
}

answers("system-property", on) if {
	access.sessionProperties[on.systemSessionProperty.name]
	executes(user)
}

answers("catalog-property", on) if {
	access.services[user]
	access.served[on.catalogSessionProperty.catalogName]
}

answers("catalog", on) if enters(user, on.catalog.name)

answers("schema", on) if reaches_schema(user, on.schema.catalogName, on.schema.schemaName)

answers("schema", on) if count(open_letters(user, on.schema.catalogName, on.schema.schemaName, "")) > 0

answers("schema", on) if {
	on.schema.schemaName == "information_schema"
	enters(user, on.schema.catalogName)
}

answers("schema-owner", on) if {
	on.schema.schemaName != "information_schema"
	"O" in node_left(user, on.schema.catalogName, on.schema.schemaName, "")
}

answers("table", on) if shows_table(on.table)

answers("columns", on) if {
	shows_table(on.table)
	count(hidden_columns(on.table) & {column | some column in on.table.columns}) == 0
}

answers("table-procedure", on) if suffices(on.table, operation.needs)

answers("table-procedure", on) if {
	access.readersMaintain
	not adds_files(on)
	suffices(on.table, ["S"])
}

answers("routine", on) if {
	at := on.function
	some letter in operation.needs
	letter in routine_left(user, at.catalogName, at.schemaName, concat("\t", ["", at.functionName]))
}

answers("routine", on) if {
	[on.function.catalogName, on.function.schemaName, on.function.functionName] == ["system", "runtime", "kill_query"]
	operation.needs == ["P"]
	calls_kill_query(user)
}

shows_table(table) if suffices(table, operation.needs)

shows_table(table) if {
	operation.listing
	table.schemaName == "information_schema"
	enters(user, table.catalogName)
}

# Whether all letters of one alternative are held.
suffices(table, alternatives) if {
	table.schemaName != "information_schema"
	at := [table.catalogName, table.schemaName, table.tableName]
	held := table_left(user, at[0], at[1], at[2]) | open_letters(user, at[0], at[1], at[2])
	some letters_needed in alternatives
	count({letter | some letter in split(letters_needed, "")} - held) == 0
}

hidden_columns(table) := hidden(levels_of(table), table.catalogName)

# Properties and procedures that read the files of other tables.
leads_to_files(on) if {
	some at in on
	some property, _ in at.properties
	some word in ["location", "path", "url"]
	contains(lower(property), word)
	is_restricted_in(at.catalogName)
}

leads_to_files(on) if {
	adds_files(on)
	is_restricted_in(on.table.catalogName)
}

# The engine writes the names of table procedures in upper case.
adds_files(on) if lower(on.function.functionName) in {"add_files", "add_files_from_table"}

is_restricted_in(catalog) if {
	some top in tops(catalog)
	some entry in said(user, top, "", "\n")
	entry.r
}

# --- who: keys of the principals that count for a name ---

keys(name) := array.concat(access.users[name].k, ["*"]) if {
	live(access.users[name].u)
} else := object.get(access.users, [name, "k"], [])

live(until) if time.now_ns() < until * 1000000

owner_keys(name) := [concat("", ["u", name])] if {
	not access.users[name]
} else := object.get(access.users, [name, "o"], keys(name))

# Nobody becomes somebody who becomes others.
target_keys(name) := keys(name) if {
	"*" in keys(name)
	not access.users[name].z
	not becomes_others(name)
}

becomes_others(name) if live(access.users[name].i)

applies(entry, name) if count([key | some key in keys(name); entry.x[key]]) == 0

# --- what is given and taken; "" as a name is not so deep, a routine's name begins with a tab, and under a line feed
# stands what is restricted there or below ---

letters(cell) := {letter | some letter in split(cell, "")} if is_string(cell)

letters([always, lapsing]) := {letter | some letter in split(always, "")} | {letter |
	some letter, until in lapsing
	live(until)
}

# What is said on everything does not reach the engine's own catalog.
tops("system") := ["system"]

tops(catalog) := ["", catalog] if catalog != "system"

here(name, catalog, schema, at) := {letter |
	some key in holders(name, catalog, schema)
	some letter in letters(access.grants[key][catalog][schema][at])
}

holders(name, catalog, schema) := [key | some key in keys(name); access.grants[key][catalog][schema]]

schema_given(name, catalog, schema) := (here(name, catalog, schema, "") | {letter | some top in tops(catalog); some letter in here(name, top, "", "")}) | {letter | access.services[name]; some letter in split(access.served[catalog], "")}

said(name, catalog, schema, at) := [entry |
	node := access.policies[catalog][schema][at]
	some key in keys(name)
	some entry in node[key]
	applies(entry, name)
]

# The policies of each level, the deepest last.
upper(name, catalog, schema) := array.concat(
	[said(name, top, "", "") | some top in tops(catalog)],
	[said(name, catalog, schema, "")],
)

levels(name, catalog, schema, at) := array.concat(upper(name, catalog, schema), [said(name, catalog, schema, at)])

levels_of(at) := levels(user, at.catalogName, at.schemaName, at.tableName) if at.schemaName != "information_schema"

levels_of(at) := [] if at.schemaName == "information_schema"

# Restrictions around, too: they take routines of the catalog, ownership over shared files, and that of the schema.
taken(name, catalog, schema, at) := {letter |
	around := [said(name, top, "", "\n") | some top in tops(catalog)]
	some level in array.concat(at, array.concat(around, [said(name, catalog, schema, "\n")]))
	some entry in level
	some letter in split(entry.l, "")
} | {letter | count(masks(at, catalog)) > 0; some letter in ["I", "U", "D"]}

upper_taken(name, catalog, schema) := taken(name, catalog, schema, upper(name, catalog, schema))

node_taken(name, catalog, schema, at) := upper_taken(name, catalog, schema) if {
	count(said(name, catalog, schema, at)) == 0
} else := taken(name, catalog, schema, levels(name, catalog, schema, at))

node_left(name, catalog, schema, at) := given - node_taken(name, catalog, schema, at) if {
	not access.closed[catalog]
	given := schema_given(name, catalog, schema) | here(name, catalog, schema, at)
} else := set()

table_left(name, catalog, schema, table) := {"S", "I", "U", "D", "G", "T"} & node_left(name, catalog, schema, table) if {
	not is_closed_companion(name, catalog, schema, table)
} else := set()

# Tables such as orders$files lead around the restrictions of orders. Policies are on names of at most 128 characters: what
# comes behind tells nothing, and would cost its square in time and memory.
is_closed_companion(name, catalog, schema, table) if {
	contains(table, "$")
	parts := split(substring(table, 0, 129), "$")
	bases := [concat("$", array.slice(parts, 0, i)) | some i in numbers.range(1, count(parts) - 1)]
	some level in array.concat(upper(name, catalog, schema), [said(name, catalog, schema, base) | some base in bases])
	some entry in level
	entry.r
}

routine_left(name, catalog, schema, routine) := {"F", "H", "P"} & node_left(name, catalog, schema, routine)

# Whoever reaches anything reads these schemas, which the engine filters for each user.
open_letters(name, catalog, schema, table) := {"S"} - node_taken(name, catalog, schema, table) if {
	catalog == "system"
	schema in {"jdbc", "metadata"}
	executes(name)
} else := set()

# --- columns: the deepest mask counts, two of one node hide ---

nearest(at) := {entry.c: texts |
	some level in at
	some entry in level
	found := [text | some one in at; text := {each.e | some each in one; each.k == "m"; each.c == entry.c}; count(text) > 0]
	texts := found[count(found) - 1]
}

hidden(at, catalog) := named | {column | some column in object.get(access.storage, catalog, access.storage[""])} if {
	named := {entry.c | some level in at; some entry in level; entry.k == "h"} | {column | some column, texts in nearest(at); count(texts) > 1}
	count(named) + count(nearest(at)) > 0
} else := set()

masks(at, catalog) := {column: text |
	some column, texts in nearest(at)
	not column in hidden(at, catalog)
	some text in texts
}

# --- whether anything is reached in a node: there, by grants below without a policy between, or at a child ---

reached(name, catalog, schema) := given - upper_taken(name, catalog, schema) if {
	not access.closed[catalog]
	given := schema_given(name, catalog, schema) | {letter |
		some key in keys(name)
		some letter in letters(access.below[key][catalog][schema].l)
	}
} else := set()

# Under "" those that matter to everybody.
children(name, catalog, schema) := {child |
	some key in array.concat(keys(name), [""])
	some child in access.below[key][catalog][schema].n
}

reaches_schema(name, catalog, schema) if count(reached(name, catalog, schema)) > 0

reaches_schema(name, catalog, schema) if {
	some at in children(name, catalog, schema)
	count(table_left(name, catalog, schema, at) | routine_left(name, catalog, schema, at)) > 0
}

reaches_schema(name, "system", "runtime") if calls_kill_query(name)

reaches_catalog(name, catalog) if count(reached(name, catalog, "")) > 0

reaches_catalog(name, catalog) if {
	some schema in children(name, catalog, "")
	reaches_schema(name, catalog, schema)
}

reaches_catalog(name, "system") if calls_kill_query(name)

enters(name, catalog) if reaches_catalog(name, catalog)

enters(name, "system") if {
	some schema in ["jdbc", "metadata"]
	count(open_letters(name, "system", schema, "")) > 0
}

executes(name) if access.services[name]

executes(name) if over(name, [""], "X")

executes(name) if calls_kill_query(name)

executes(name) if count(reached(name, "", "")) > 0

executes(name) if {
	some catalog in children(name, "", "")
	reaches_catalog(name, catalog)
}

# --- rights over the engine (""), over queries of owners, and to become others ---

over(name, about, letter) if {
	some key in keys(name)
	some one in about
	letter in letters(access.over.grants[key][one])
	not denied_over(name, about, letter)
}

denied_over(name, about, letter) if {
	some key in keys(name)
	some one in about
	some entry in access.over.denies[key][one]
	contains(entry.l, letter)
	applies(entry, name)
}

kills(name) if over(name, [""], "K")

# The queries of at least one owner.
kills(name) if {
	not denied_over(name, [""], "K")
	some key in keys(name)
	some about, cell in access.over.grants[key]
	"K" in letters(cell)
	some owner in access.over.members[about]
	about in owner_keys(owner)
	not denied_over(name, owner_keys(owner), "K")
}

calls_kill_query(name) if "P" in node_left(name, "system", "runtime", "\tkill_query")

calls_kill_query(name) if {
	kills(name)
	not "P" in node_taken(name, "system", "runtime", "\tkill_query")
}
