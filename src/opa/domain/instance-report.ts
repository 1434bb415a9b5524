import type { OpaInstance } from '../../acl-sync/domain/opa-status.js';
import { fieldOf } from '../../kernel/json-reader.js';

/** The bundle's name in OPA's configuration. The policy expects the same name. */
const BUNDLE_NAME = 'grantline';

const LIMITS = { name: 253, revision: 64, errors: 10, text: 500 };

/** Control, format, surrogate and unassigned characters, and ends of lines. */
const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}]+/gu;

/**
 * Reads a report of OPA's status service (OPA, "Status"): the instance's label, and the state of its bundle. Fields of a wrong type count
 * as absent.
 * @returns null: the report names no instance
 */
export function readReport(body: unknown, now: Date): OpaInstance | null {
  const labels = fieldOf(body, 'labels');
  const instance = fieldOf(labels, 'instance') ?? fieldOf(labels, 'id');
  if (typeof instance !== 'string' || !isName(instance, LIMITS.name)) return null;
  const bundle = fieldOf(fieldOf(body, 'bundles'), BUNDLE_NAME);
  const revision = fieldOf(bundle, 'active_revision');
  return {
    instance,
    revision: typeof revision === 'string' && isName(revision, LIMITS.revision) ? revision : null,
    errors: errorsOf(bundle),
    seenAt: now,
    requestedAt: momentOf(fieldOf(bundle, 'last_successful_request'), now),
  };
}

function isName(text: string, maxLength: number): boolean {
  return text !== '' && text.length <= maxLength && text.search(INVISIBLE) === -1;
}

function errorsOf(bundle: unknown): string[] {
  const errors = fieldOf(bundle, 'errors');
  const fileErrors: unknown[] = Array.isArray(errors) ? errors.slice(0, LIMITS.errors - 1) : [];
  return [bundle, ...fileErrors].flatMap((error) => {
    const message = fieldOf(error, 'message') ?? fieldOf(error, 'code');
    return typeof message === 'string' && message !== '' ? message.slice(0, LIMITS.text).replace(INVISIBLE, ' ') : [];
  });
}

/** A time in a report; null: there is none, or OPA's zero time. A future time, from a clock that is ahead, is replaced by `now`. */
function momentOf(text: unknown, now: Date): Date | null {
  const moment = typeof text === 'string' && text.length <= 64 ? Date.parse(text) : Number.NaN;
  return moment > 0 ? new Date(Math.min(moment, now.getTime())) : null;
}
