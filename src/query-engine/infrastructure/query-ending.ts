import type { Ending } from '../domain/query.js';

/** The columns of an ending, with values from $3 on. Also clears the nextUri paths, which are capabilities. */
export const ENDING = `state = $3, finished_at = $4, truncated = $5, update_count = $6, error_code = $7, error_message = $8,
  engine_error_name = $9, error_line = $10, error_column = $11,
  progress_percent = CASE $3 WHEN 'finished' THEN 100 ELSE progress_percent END,
  driver = NULL, lease_until = NULL, next_path = NULL, page_path = NULL, waiting_since = NULL`;

export function endingValues(ending: Ending, at: Date): unknown[] {
  if (ending.state === 'finished') {
    const count = ending.updateCount === null ? null : String(ending.updateCount);
    return ['finished', at, ending.truncated, count, null, null, null, null, null];
  }
  const { code, message, engineErrorName, line, column } = ending.error;
  return [ending.state, at, false, null, code, message, engineErrorName, line, column];
}
