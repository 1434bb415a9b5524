import { NamedError } from '../../kernel/errors.js';
import { isObject } from '../../kernel/json-reader.js';
import { integerOrNull, readObject, readText, textOrNull } from './reading.js';

/** The engine's error for a failed statement, reduced to the parts that may leave the engine's client. */
export interface EngineError {
  /** `PERMISSION_DENIED`, `SYNTAX_ERROR`, … */
  name: string;
  kind: EngineErrorKind;
  /** The engine's own text for the kind USER_ERROR; a sentence of this service for other kinds. */
  message: string;
  line: number | null;
  column: number | null;
}

const ERROR_KINDS = ['USER_ERROR', 'INTERNAL_ERROR', 'INSUFFICIENT_RESOURCES', 'EXTERNAL'] as const;
export type EngineErrorKind = (typeof ERROR_KINDS)[number];

const OWN_TEXTS: Record<Exclude<EngineErrorKind, 'USER_ERROR'>, string> = {
  INTERNAL_ERROR: 'the engine failed inside',
  INSUFFICIENT_RESOURCES: 'the engine did not have the resources that the statement needs',
  EXTERNAL: 'a system behind the engine failed',
};

const MAX_NAME_LENGTH = 128;
const MAX_MESSAGE_LENGTH = 4_096;

/**
 * Reads `error` of a statement's answer. Drops texts that must not be passed on: messages of kinds other than USER_ERROR can contain
 * paths of the server, and `failureInfo` contains its stack.
 * @throws ProtocolBreach
 */
export function readEngineError(value: unknown): EngineError {
  const error = readObject(value, 'error');
  const name = readText(error['errorName'], 'the name of an error').slice(0, MAX_NAME_LENGTH);
  const kind = ERROR_KINDS.find((errorKind) => errorKind === error['errorType']) ?? 'INTERNAL_ERROR';
  const location = error['errorLocation'];
  return {
    name,
    kind,
    message:
      kind === 'USER_ERROR' ? (textOrNull(error['message']) ?? name).slice(0, MAX_MESSAGE_LENGTH) : OWN_TEXTS[kind],
    line: isObject(location) ? integerOrNull(location['lineNumber']) : null,
    column: isObject(location) ? integerOrNull(location['columnNumber']) : null,
  };
}

/**
 * Why the engine gave no page. `unavailable`: it is unreachable, or answers 429 or 5xx. `refused`: it rejects this service (a bad token, a
 * missing header, a setting). `forbidden`: 403. `gone`: it does not know the statement. `protocol`: the answer breaks the protocol.
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
 * Reads the answer to `SET SESSION grantline_rules_<hash> = true` (seen on Trino 483). No such property exists, but the engine checks
 * its rules first. Rules with this hash allow the property, so the engine reports it as unknown. Other rules deny it.
 */
export function judgeRulesProbe(error: EngineError | null): RulesInForce {
  if (error === null) return 'unclear';
  if (error.name === 'INVALID_SESSION_PROPERTY') return 'these';
  if (error.name === 'PERMISSION_DENIED') return 'others';
  return error.kind === 'INTERNAL_ERROR' ? 'broken' : 'unclear';
}
