import { filterProblem } from '../../protocol/mqtt/topics.ts';

/** Mosquitto 2.0 closes the connection that subscribes to more (its TOPIC_HIERARCHY_LIMIT), and with it every other tail. */
const MAX_LEVELS = 200;

/** Filters that do something to the broker's other clients, or tell of them what no message does, by their first level. */
const REFUSED_ROOTS = new Map([
  ['$share', 'must not be a shared subscription: it would take messages away from the clients that consume them'],
  ['$queue', 'must not be a shared subscription: it would take messages away from the clients that consume them'],
  ['$CONTROL', 'must not be below $CONTROL: commands and their answers hold passwords'],
]);

/** Null: a topic filter that a tail may follow (MQTT 5 section 4.7, and what brokers take without closing the connection). */
export function tailFilterProblem(filter: string): string | null {
  const problem = filterProblem(filter);
  if (problem !== null) return problem;
  // Mosquitto 2.0 closes the connection for these.
  if (/[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u.test(filter)) {
    return 'must not hold control characters or code points that are no characters';
  }
  const levels = filter.split('/');
  if (levels.length > MAX_LEVELS) return `must not have more than ${MAX_LEVELS} levels`;
  return REFUSED_ROOTS.get(levels[0] ?? '') ?? null;
}
