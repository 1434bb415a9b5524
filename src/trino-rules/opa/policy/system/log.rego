# Decision logs without the candidates and results of batches: OPA drops every event over 32 KiB.
package system.log

mask contains "/input/action/filterResources"

mask contains "/input/action/resource/table/columns"

mask contains "/result" if is_array(input.result)
