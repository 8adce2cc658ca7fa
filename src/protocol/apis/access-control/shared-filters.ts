/**
 * Which filters that begin with `$share` a broker accepts. For others it closes the connection.
 *
 *   - ANY: every filter except `$share` alone (Mosquitto before 2.0.20).
 *   - WITH_FILTER: those with a filter after the share name (Mosquitto 2.0 from 2.0.20 on).
 *   - PLAIN_NAME: also without a wildcard in the share name (Mosquitto 2.1).
 *   - STRICT: also with a share name (the embedded broker). `$share` alone is a filter like others.
 */
export type SharedFilterRule = 'ANY' | 'WITH_FILTER' | 'PLAIN_NAME' | 'STRICT';

/** Returns why a broker closes the connection of a client that subscribes or unsubscribes `filter`, or `null`. */
export function sharedFilterProblem(filter: string, rule: SharedFilterRule): string | null {
  const parts = /^\$share(?:\/([^/]*)(?:\/(.*))?)?$/s.exec(filter);
  if (parts === null) return null;
  const [, name, rest = ''] = parts;
  if (name === undefined) return rule === 'STRICT' ? null : 'it has no share name and no filter';
  if (rule === 'ANY') return null;
  if (rest === '') return 'it has no filter after the share name';
  if (rule !== 'WITH_FILTER' && /[+#]/.test(name)) return 'its share name has a wildcard';
  return rule === 'STRICT' && name === '' ? 'its share name is empty' : null;
}
