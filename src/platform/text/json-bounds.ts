/** Values of a control payload. As many empty objects take 0.2 s to parse. */
const MAX_VALUES = 400_000;
/** Values of a control payload without a waiting command: an event, or a response to another client. */
export const MAX_UNREQUESTED_VALUES = 30_000;
/** Values of a message that a stream or a bridge reads as JSON, in a thread that serves others. */
const MAX_MESSAGE_VALUES = 200_000;
/** Far above the depth of any control API. Code that reads a response must not depend on its depth. */
const MAX_DEPTH = 10_000;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Whether JSON.parse may read a payload: whether it has at most `maxValues` values and 10,000 levels. JSON.parse itself
 * has no bound, and takes more than a second, and hundreds of megabytes, for 8 MB of brackets.
 */
export function isWithinBounds(json: Uint8Array, maxValues = MAX_VALUES, maxDepth = MAX_DEPTH): boolean {
  // Each value and each level has a byte of its own.
  if (json.length <= Math.min(maxValues, maxDepth)) return true;
  let values = 0;
  let depth = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] as number;
    if (byte === QUOTE) at = endOfText(json, at + 1);
    else if (byte === COMMA) values += 1;
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      values += 1;
      depth += 1;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth -= 1;
    if (values > maxValues || depth > maxDepth) return false;
  }
  return true;
}

/** Whether a message may be read as JSON. Its levels need no bound of their own: each is a value, too. */
export const isReadableMessage = (payload: Uint8Array): boolean =>
  isWithinBounds(payload, MAX_MESSAGE_VALUES, MAX_MESSAGE_VALUES);

export const TOO_MANY_VALUES = `has more than ${MAX_MESSAGE_VALUES} values of JSON`;

function endOfText(json: Uint8Array, from: number): number {
  for (let at = from; at < json.length; at += 1) {
    const byte = json[at];
    if (byte === QUOTE) return at;
    if (byte === BACKSLASH) at += 1;
  }
  return json.length;
}
