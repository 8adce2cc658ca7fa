import { ServiceError } from '../../platform/errors.ts';

/** Revisions of the interface, the oldest first. `next` has changes without a number yet. */
export const REVISIONS = ['3.0', '3.1', '3.3', 'next'] as const;
export type Revision = (typeof REVISIONS)[number];

export const DEFAULT_REVISION: Revision = '3.3';

/** Revisions in which something exists: from `since` to the one before `until`. Default: all. */
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

export const contentTypeOf = (revision: Revision): string => CONTENT_TYPES[revision];

const JSON_RANGE = /^(application\/json|application\/\*|\*\/\*)$/i;
const VERSION = /^version="?([^"]*)"?$/i;

/** The first JSON media range with a version decides. Errors: INVALID for an unknown one. */
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
        `The revision "${wanted}" of this interface does not exist: use one of ${REVISIONS.join(', ')}`,
        { info: { issues: [{ path: 'Accept', reason: `version must be one of ${REVISIONS.join(', ')}` }] } },
      );
    }
  }
  return DEFAULT_REVISION;
}
