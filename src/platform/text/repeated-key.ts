import { invalid } from '../errors.ts';
import { endOfString } from './exact-json.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** An open object with its names so far, or an open array, and the name or the index of the value that is read. */
interface Level {
  readonly names: Set<string> | null;
  at: string | number;
}

/** The path is part of messages. */
const MAX_PATH = 200;

/** Errors: INVALID if an object of valid JSON has a name more than once. JSON.parse would use the last value. */
export function requireUniqueKeys(text: string, fold?: (name: string) => string): void {
  const path = repeatedKey(text, fold);
  if (path !== null) throw invalid([{ path, reason: 'is present more than once' }]);
}

/**
 * The first name that an object of valid JSON has more than once, as a path such as `/clients/0/roles`; `null` if there
 * is none. `fold`: what equal names have in common.
 */
function repeatedKey(text: string, fold = (name: string) => name): string | null {
  const levels: Level[] = [];
  let level: Level | undefined;
  /** Start and end of the last string. */
  let from = 0;
  let to = 0;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) {
      from = at;
      to = endOfString(text, at + 1);
      at = to;
    } else if (unit === COLON && level?.names) {
      const quoted = text.slice(from, to + 1);
      level.at = quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
      const size = level.names.size;
      if (level.names.add(fold(level.at)).size === size) {
        return levels
          .map((open) => `/${open.at}`)
          .join('')
          .slice(0, MAX_PATH);
      }
    } else if (unit === COMMA && typeof level?.at === 'number') level.at += 1;
    else if (unit === OPEN_OBJECT || unit === OPEN_ARRAY) {
      level = unit === OPEN_OBJECT ? { names: new Set(), at: '' } : { names: null, at: 0 };
      levels.push(level);
    } else if (unit === CLOSE_OBJECT || unit === CLOSE_ARRAY) {
      levels.pop();
      level = levels.at(-1);
    }
  }
  return null;
}
