/** Maximum length of a UTF-8 string of MQTT (5, 1.5.4). */
export const MAX_STRING_BYTES = 65_535;

/** Returns why a topic name is invalid, or `null`. A broker would close the connection for an invalid one. */
export function topicProblem(topic: string): string | null {
  if (topic === '') return 'must not be empty';
  // A UTF-16 code unit has at most three bytes.
  if (topic.length * 3 > MAX_STRING_BYTES && Buffer.byteLength(topic) > MAX_STRING_BYTES) return TOO_LONG;
  if (PLAIN_TOPIC.test(topic)) return null;
  if (/[+#\0]/.test(topic)) return 'must not contain +, # or NUL';
  return FORBIDDEN.test(topic) ? 'must not contain control characters, noncharacters or half surrogate pairs' : null;
}

const TOO_LONG = `must not exceed ${MAX_STRING_BYTES} bytes`;
/** A fast check: most topics are printable ASCII without wildcards. */
const PLAIN_TOPIC = /^[ !"$-*,-~]*$/;
/** For these characters a receiver may close the connection, and Mosquitto does (MQTT 5, 1.5.4). */
const FORBIDDEN = /[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u;

/**
 * Maximum number of levels of a topic, or of a filter without its share name. Mosquitto 2.0 closes the connection
 * beyond it (its TOPIC_HIERARCHY_LIMIT); the embedded broker has the same limit.
 */
const MAX_TOPIC_LEVELS = 200;

/** Returns why a topic or filter has too many levels, or `null`. */
export function levelProblem(text: string): string | null {
  let levels = 1;
  for (let at = text.indexOf('/'); at !== -1; at = text.indexOf('/', at + 1)) levels += 1;
  return levels > MAX_TOPIC_LEVELS ? `must not have more than ${MAX_TOPIC_LEVELS} levels` : null;
}

/** Returns why a text is too long for a field of MQTT (5, 1.5.4), or `null`. */
export const lengthProblem = (text: string): string | null =>
  Buffer.byteLength(text) > MAX_STRING_BYTES ? TOO_LONG : null;

/** Returns why a text cannot be a UTF-8 string of MQTT (5, 1.5.4), or `null`. */
export function stringProblem(text: string): string | null {
  const tooLong = lengthProblem(text);
  if (tooLong !== null) return tooLong;
  return FORBIDDEN.test(text) ? 'must not contain control characters, noncharacters or half surrogate pairs' : null;
}

/** A fast check: most filters are valid, and access control checks thousands at a time. */
const MISPLACED_WILDCARD = /[^/][+#]|\+[^/]|#./s;

export function filterProblem(filter: string): string | null {
  if (filter === '') return 'must not be empty';
  const tooLong = lengthProblem(filter);
  if (tooLong !== null) return tooLong;
  if (filter.includes('\0')) return 'must not contain NUL';
  if (!MISPLACED_WILDCARD.test(filter)) return null;
  const levels = filter.split('/');
  for (const [index, level] of levels.entries()) {
    if (level.includes('#') && (level !== '#' || index !== levels.length - 1)) return '# must be the whole last level';
    if (level.includes('+') && level !== '+') return '+ must be a whole level';
  }
  return null;
}
