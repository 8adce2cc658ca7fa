import { ServiceError } from '../../../platform/errors.ts';
import { isFields } from '../../../protocol/control/fields.ts';

const CONTROL = '$CONTROL/';

/**
 * Refuses a configuration of a broker's own bridge that contains topics of `$CONTROL/`: such a bridge can send commands
 * to the broker. The schema of the bridge is the broker's, so every text counts, also one that another text may
 * complete to `$CONTROL/`, such as a prefix. Errors: NOT_ALLOWED.
 */
export function refuseControlTopics(config: unknown): void {
  const path = pathOf(config, '');
  if (path === null) return;
  const message = `${path}: names topics of $CONTROL/, which requires the ADMIN role in the project`;
  throw new ServiceError('NOT_ALLOWED', message, { info: { path, requires: 'ADMIN' } });
}

/** The JSON pointer of the first such text, or `null`. */
function pathOf(value: unknown, path: string): string | null {
  if (typeof value === 'string') return reachesControl(value) ? path || '/' : null;
  if (Array.isArray(value)) return firstOf(value.entries(), path);
  if (!isFields(value)) return null;
  const key = Object.keys(value).find(reachesControl);
  return key === undefined ? firstOf(Object.entries(value), path) : `${path}/${key}`;
}

function firstOf(entries: Iterable<readonly [string | number, unknown]>, path: string): string | null {
  for (const [key, value] of entries) {
    const found = pathOf(value, `${path}/${key}`);
    if (found !== null) return found;
  }
  return null;
}

const reachesControl = (text: string): boolean =>
  text.includes('$CONTROL') || (text !== '' && CONTROL.startsWith(text));
