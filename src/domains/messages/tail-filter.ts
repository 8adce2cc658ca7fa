import { filterProblem } from '../../protocol/mqtt/topics.ts';

/** Beyond this Mosquitto 2.0 closes the connection (its TOPIC_HIERARCHY_LIMIT), and with it all other tails. */
const MAX_LEVELS = 200;

/** They affect other clients of the broker, or reveal their secrets. */
const REFUSED_ROOTS = new Map([
  ['$share', 'must not be a shared subscription: it would take messages from the clients that consume them'],
  ['$queue', 'must not be a shared subscription: it would take messages from the clients that consume them'],
  ['$CONTROL', 'must not be below $CONTROL: commands and responses contain passwords'],
]);

/** Refuses also filters for which brokers close the connection. */
export function tailFilterProblem(filter: string): string | null {
  const problem = filterProblem(filter);
  if (problem !== null) return problem;
  // Mosquitto 2.0 closes the connection for these.
  if (/[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u.test(filter)) {
    return 'must not contain control characters or noncharacter code points';
  }
  const levels = filter.split('/');
  if (levels.length > MAX_LEVELS) return `must not have more than ${MAX_LEVELS} levels`;
  return REFUSED_ROOTS.get(levels[0] ?? '') ?? null;
}
