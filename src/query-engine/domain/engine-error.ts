import { NamedError } from '../../kernel/errors.js';
import { integerOrNull, isObject, readObject, readText, textOrNull } from './reading.js';

/** The engine's error for a failed statement. Other parts of the error never leave the engine's client. */
export interface EngineError {
  /** `PERMISSION_DENIED`, `SYNTAX_ERROR`, … */
  name: string;
  kind: EngineErrorKind;
  /** The engine's own text for a user error; a sentence of this service for other kinds. */
  message: string;
  line: number | null;
  column: number | null;
}

const KINDS = ['USER_ERROR', 'INTERNAL_ERROR', 'INSUFFICIENT_RESOURCES', 'EXTERNAL'] as const;
export type EngineErrorKind = (typeof KINDS)[number];

const MESSAGES: Record<Exclude<EngineErrorKind, 'USER_ERROR'>, string> = {
  INTERNAL_ERROR: 'the engine failed inside',
  INSUFFICIENT_RESOURCES: 'the engine did not have the resources that the statement needs',
  EXTERNAL: 'a system behind the engine failed',
};

const LONGEST_NAME = 128;
const LONGEST_MESSAGE = 4_096;

/**
 * Reads `error` of a statement's answer. Drops the texts of kinds other than USER_ERROR, which can contain paths of the server, and
 * `failureInfo`, which contains its stack, so that neither can be passed on by mistake.
 *
 * @throws ProtocolBreach
 */
export function readEngineError(value: unknown): EngineError {
  const error = readObject(value, 'error');
  const name = readText(error['errorName'], 'the name of an error').slice(0, LONGEST_NAME);
  const kind = KINDS.find((known) => known === error['errorType']) ?? 'INTERNAL_ERROR';
  const place = error['errorLocation'];
  return {
    name,
    kind,
    message: kind === 'USER_ERROR' ? (textOrNull(error['message']) ?? name).slice(0, LONGEST_MESSAGE) : MESSAGES[kind],
    line: isObject(place) ? integerOrNull(place['lineNumber']) : null,
    column: isObject(place) ? integerOrNull(place['columnNumber']) : null,
  };
}

/**
 * Why the engine gave no page. `unavailable`: unreachable, or answers with 429 or 5xx. `refused`: rejects this service (a bad token, a
 * missing header, a setting). `forbidden`: 403. `gone`: the statement is unknown to it. `protocol`: the answer breaks the protocol.
 * `deadline`: the statement's own time is over. `too-large`: a page beyond QUERY_MAX_PAGE_BYTES. `share`: the user's unread pages
 * hold too much memory.
 */
export type EngineFaultKind =
  | 'unavailable'
  | 'refused'
  | 'forbidden'
  | 'gone'
  | 'protocol'
  | 'deadline'
  | 'too-large'
  | 'share';

/** The engine gave no page. The message is private: for logs, without path, token or body. */
export class EngineFault extends NamedError {
  constructor(
    readonly kind: EngineFaultKind,
    message: string,
  ) {
    super(message);
  }
}

/**
 * The rules that the engine uses. `these`: the version asked about. `others`: another version. `broken`: an unusable file, with which
 * every statement fails. `unclear`: the engine gave an unexpected answer. `unreachable`: it gave none.
 */
export type RulesInForce = 'these' | 'others' | 'broken' | 'unclear' | 'unreachable';

/**
 * Reads the answer to `SET SESSION grantline_rules_<hash> = true` (seen on Trino 483): access control comes first, so the
 * engine reports an unknown property only if these rules allow it.
 */
export function judgeRulesProbe(error: EngineError | null): RulesInForce {
  if (error === null) return 'unclear';
  if (error.name === 'INVALID_SESSION_PROPERTY') return 'these';
  if (error.name === 'PERMISSION_DENIED') return 'others';
  return error.kind === 'INTERNAL_ERROR' ? 'broken' : 'unclear';
}
