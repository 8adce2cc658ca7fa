import type { Random } from '../random.ts';

/** Numbers of pieces at which bounds of the service are, and numbers far below and above them. */
const COUNTS = [10, 1_000, 7_900, 15_900, 29_000, 99_000, 199_000, 399_000, 2_000_000, 9_000_000];

/** Small values of JSON. `index` makes names and texts different. */
const UNITS: readonly ((index: number, random: Random) => string)[] = [
  () => '{}',
  () => '[]',
  () => '0',
  () => '""',
  () => 'null',
  () => '[[]]',
  () => '{"":0}',
  () => '{"a":{}}',
  () => '"\\n"',
  () => '"\\u4e2d"',
  () => '"中"',
  () => '-1.5e-300',
  () => '12345678901234567890',
  (index) => `"${index.toString(36)}"`,
  (index) => `{"${index.toString(36)}":0}`,
  (index) => `{"${index.toString(36)}":0,"b${index.toString(36)}":0}`,
  (index) => `{${Array.from({ length: 100 }, (_, at) => `"${(index * 100 + at).toString(36)}":0`)}}`,
  (_index, random) => `{${Array.from({ length: 50 }, (_, at) => `"${(at * 50 + random.int(0, 49)).toString(36)}":0`)}}`,
  (_index, random) => String(random.next()),
];

/** A JSON text of many small pieces. `at`: the text around it, with `#` in the place of the value. */
export function jsonPieces(
  random: Random,
  maxBytes: number,
  at = '#',
): { readonly text: string; readonly what: string } {
  const [before = '', after = ''] = at.split('#');
  const count = random.pick(COUNTS);
  const room = maxBytes - before.length - after.length - 10;
  const kind = random.pick(['list', 'list', 'list', 'members', 'levels', 'strings', 'spaces'] as const);
  const [text, what] = VALUES[kind](random, count, room);
  return { text: before + text + after, what: `${kind} of ${count} ${what}` };
}

type Value = (random: Random, count: number, room: number) => readonly [string, string];

const VALUES: Readonly<Record<'list' | 'members' | 'levels' | 'strings' | 'spaces', Value>> = {
  list: (random, count, room) => {
    const units = Array.from({ length: random.int(1, 3) }, () => random.int(0, UNITS.length - 1));
    const text = repeated(room, count, (index) => UNITS[units[index % units.length] as number]?.(index, random) ?? '0');
    return [`[${text}]`, `units ${units}`];
  },
  members: (random, count, room) => {
    const unit = random.int(0, UNITS.length - 1);
    const isNew = random.chance(0.7);
    const name = (index: number) => (isNew ? index.toString(36) : (index % 1_000).toString(36));
    const text = repeated(room, count, (index) => `"${name(index)}":${UNITS[unit]?.(index, random)}`);
    return [`{${text}}`, `members with unit ${unit}`];
  },
  levels: (random, count, room) => {
    const [open, close] = random.pick([
      ['[', ']'],
      ['{"a":', '}'],
      ['[{"":', '}]'],
    ] as const);
    const levels = Math.min(count, Math.floor(room / (open.length + close.length)));
    return [`${open.repeat(levels)}0${random.chance(0.8) ? close.repeat(levels) : ''}`, `levels ${open}`];
  },
  strings: (random, count, room) => {
    const unit = random.pick(['a', '\\n', '\\u00e9', 'é', '{[,:', '\\"']);
    return [`["${unit.repeat(Math.min(count, Math.floor(room / Buffer.byteLength(unit))))}"]`, `times ${unit}`];
  },
  spaces: (random, count, room) => [`[0${random.pick([' ', '\n', '\t']).repeat(Math.min(count, room))}]`, 'spaces'],
};

function repeated(room: number, count: number, unit: (index: number) => string): string {
  const pieces: string[] = [];
  let length = 0;
  for (let index = 0; index < count; index += 1) {
    const piece = unit(index);
    length += piece.length + 1;
    if (length > room) break;
    pieces.push(piece);
  }
  return pieces.join(',');
}
