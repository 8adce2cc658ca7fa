import { ServiceError } from '../../platform/errors.ts';

/** Revisions of the interface, oldest first. `next` holds what is agreed on but not yet numbered. */
export const REVISIONS = ['3.0', '3.1', '3.3', 'next'] as const;
export type Revision = (typeof REVISIONS)[number];

/** What a caller gets who names none: the newest numbered one. */
export const DEFAULT_REVISION: Revision = '3.3';

/** When something exists: from `since` to the revision before `until`; without bounds, always. */
export interface Existence {
  readonly since?: Revision;
  readonly until?: Revision;
}

export function existsIn(revision: Revision, { since, until }: Existence): boolean {
  const at = REVISIONS.indexOf(revision);
  return at >= (since ? REVISIONS.indexOf(since) : 0) && (until === undefined || at < REVISIONS.indexOf(until));
}

const CONTENT_TYPES: Readonly<Record<Revision, string>> = {
  '3.0': 'application/json; charset=utf-8; version=3.0',
  '3.1': 'application/json; charset=utf-8; version=3.1',
  '3.3': 'application/json; charset=utf-8; version=3.3',
  next: 'application/json; charset=utf-8; version=next',
};

/** Names the revision an answer is written in. */
export const contentTypeOf = (revision: Revision): string => CONTENT_TYPES[revision];

const JSON_RANGE = /^(application\/json|application\/\*|\*\/\*)$/i;
const VERSION = /^version="?([^"]*)"?$/i;

/**
 * The revision an `Accept` header asks for: `application/json;version=3.0`. Of several media ranges the first that is JSON
 * and names a version counts; ranges of other types are passed over, since every answer is JSON. Errors: INVALID for a version
 * that does not exist.
 */
export function revisionOf(accept: string | undefined): Revision {
  if (accept === undefined || !/version/i.test(accept)) return DEFAULT_REVISION;
  for (const range of accept.split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim());
    if (!JSON_RANGE.test(type)) continue;
    for (const parameter of parameters) {
      const wanted = VERSION.exec(parameter)?.[1];
      if (wanted === undefined) continue;
      const revision = REVISIONS.find((known) => known === wanted.toLowerCase());
      if (revision) return revision;
      throw new ServiceError(
        'INVALID',
        `There is no revision "${wanted}" of this interface; there are ${REVISIONS.join(', ')}`,
        {
          info: { issues: [{ path: 'Accept', reason: `version must be one of ${REVISIONS.join(', ')}` }] },
        },
      );
    }
  }
  return DEFAULT_REVISION;
}
