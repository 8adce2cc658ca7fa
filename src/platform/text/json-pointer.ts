/** Encodes a key as one token of a JSON pointer (RFC 6901), cut off after 200 characters. */
export const pointerStep = (key: unknown): string =>
  String(key).slice(0, 200).replaceAll('~', '~0').replaceAll('/', '~1');
