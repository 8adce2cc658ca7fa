import { randomInt } from 'node:crypto';

/** Values of a control response. As many empty objects take 0.2 s to parse. */
const MAX_VALUES = 400_000;
/** Values of a control request, which a broker parses in the thread that serves its clients: 0.05 s. */
export const MAX_REQUEST_VALUES = 100_000;
/** Values of a control payload without a waiting command: an event, or a response to another client. */
export const MAX_UNREQUESTED_VALUES = 30_000;
/** Values of a message that a stream or a bridge reads as JSON, in a thread that serves others. */
const MAX_MESSAGE_VALUES = 100_000;
/** Far above the depth of any control API. Code that reads a response must not depend on its depth. */
const MAX_DEPTH = 10_000;
/**
 * Shapes of the objects: different sequences of names with which an object begins. A name that is new in its place
 * takes V8 up to 3 µs, a hundred times as long as a known one. Control APIs have a few hundred shapes.
 */
const MAX_SHAPES = 16_000;
/** Shapes are counted by hashes, so that a few of them count as one. The seed keeps senders from choosing which. */
const SLOTS = 65_536;
const SLOT_BITS = 16;
const SEED = randomInt(2 ** 31);
const PRIME = 0x01000193;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** 1 for the bytes outside strings that matter here. */
const MARKS = new Uint8Array(256);
for (const byte of [QUOTE, COMMA, COLON, OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT]) MARKS[byte] = 1;

/**
 * Whether JSON.parse may read a payload: whether it has at most `maxValues` values, 10,000 levels and 16,000 shapes.
 * JSON.parse itself has no bound, and takes more than a second, and hundreds of megabytes, for 8 MB of brackets.
 */
export function isWithinBounds(json: Uint8Array, maxValues = MAX_VALUES, maxDepth = MAX_DEPTH): boolean {
  // Each value and each level has a byte of its own, and each shape four bytes.
  if (json.length <= Math.min(maxValues, maxDepth, 4 * MAX_SHAPES)) return true;
  const seen = new Uint8Array(SLOTS);
  const outer: number[] = [];
  let values = 0;
  let shapes = 0;
  /** Hashes of the names of the innermost object so far, and of the last string. */
  let shape = SEED;
  let name = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] as number;
    if (MARKS[byte] === 0) continue;
    if (byte === QUOTE) {
      name = SEED;
      for (at += 1; at < json.length && json[at] !== QUOTE; at += 1) {
        if (json[at] === BACKSLASH) at += 1;
        name = Math.imul(name ^ (json[at] as number), PRIME);
      }
    } else if (byte === COLON) {
      shape = Math.imul(shape ^ name ^ (name >>> SLOT_BITS), PRIME);
      const slot = (shape ^ (shape >>> SLOT_BITS)) & (SLOTS - 1);
      if (seen[slot] === 0) shapes += 1;
      seen[slot] = 1;
    } else if (byte === COMMA) values += 1;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      values += 1;
      outer.push(shape);
      shape = SEED;
    } else shape = outer.pop() ?? SEED;
    if (values > maxValues || outer.length > maxDepth || shapes > MAX_SHAPES) return false;
  }
  return true;
}

/** Whether a text whose bytes and depth other rules bound may be parsed: whether it has at most 16,000 shapes. */
export const hasFewShapes = (json: Uint8Array): boolean => isWithinBounds(json, Infinity, Infinity);

/** Whether a message may be read as JSON. Its levels need no bound of their own: each is a value, too. */
export const isReadableMessage = (payload: Uint8Array): boolean =>
  isWithinBounds(payload, MAX_MESSAGE_VALUES, MAX_MESSAGE_VALUES);

export const TOO_MANY_VALUES = `has more than ${MAX_MESSAGE_VALUES} values of JSON, or ${MAX_SHAPES} shapes of objects`;
export const TOO_MANY_SHAPES = `The JSON has more than ${MAX_SHAPES} shapes of objects (sequences of different names)`;
