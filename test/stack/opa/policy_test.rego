# Questions with their answers, as data.worlds: each world has the data of a bundle.
package grantline_test

import data.grantline

test_every_answer if {
	count(wrong) == 0
}

wrong contains [world, i] if {
	some world, i
	question := data.worlds[world].asked[i]
	not is_right(data.worlds[world].access, question)
}

is_right(access, question) if {
	question.entryPoint == "allow"
	grantline.allow == question.answer with input as question.input with data.grantline.access as access
}

is_right(access, question) if {
	question.entryPoint == "batch"
	listed := grantline.batch with input as question.input with data.grantline.access as access
	listed == {i | some i in question.answer}
}

is_right(access, question) if {
	question.entryPoint == "rowFilters"
	filters := grantline.rowFilters with input as question.input with data.grantline.access as access
	filters == {filter | some filter in question.answer}
}

is_right(access, question) if {
	question.entryPoint == "batchColumnMasks"
	masks := grantline.batchColumnMasks with input as question.input with data.grantline.access as access
	masks == {mask | some mask in question.answer}
}

is_right(access, question) if {
	question.entryPoint == "columnMask"
	question.answer == null
	not masked(access, question.input)
}

is_right(access, question) if {
	question.entryPoint == "columnMask"
	grantline.columnMask == question.answer with input as question.input with data.grantline.access as access
}

masked(access, asked) if grantline.columnMask with input as asked with data.grantline.access as access

# The canary: the active revision, to the own account alone.
canary_of(user) := [filters, mask] if {
	table := {"catalogName": "system", "schemaName": "jdbc", "tableName": "table_types"}
	column := object.union(table, {"columnName": "table_type", "columnType": "varchar"})
	who := {"identity": {"user": user}}
	access := {"own": "grantline", "services": {"grantline": true}, "storage": {"": []}}
	revision := {"grantline": {"manifest": {"revision": "v7-0123456789ab"}}}
	filters := grantline.rowFilters with input as {"context": who, "action": {"resource": {"table": table}}}
		with data.grantline.access as access
	mask := object.get(
		grantline,
		["columnMask", "expression"],
		"",
	) with input as {"context": who, "action": {"resource": {"column": column}}}
		with data.grantline.access as access
		with data.system.bundles as revision
}

test_canary if {
	[filters, mask] := canary_of("grantline")
	filters == {{"expression": "table_type = 'TABLE'"}}
	mask == "CAST(('v7-0123456789ab') AS varchar)"
	canary_of("ana") == [set(), ""]
}

test_canary_masks_one_column if {
	column := {"catalogName": "system", "schemaName": "jdbc", "tableName": "table_types", "columnName": "x", "columnType": "x"}
	asked := {"context": {"identity": {"user": "grantline"}}, "action": {"resource": {"column": column}}}
	access := {"own": "grantline", "storage": {"": []}}
	revision := {"grantline": {"manifest": {"revision": "v7-0123456789ab"}}}
	not masked(access, asked) with data.system.bundles as revision
}

# The log keeps no candidates of batches, and no more than true or false of their results.
test_log if {
	data.system.log.mask == {"/input/action/filterResources", "/input/action/resource/table/columns"} with input as {"result": true}
	"/result" in data.system.log.mask with input as {"result": [1]}
}
