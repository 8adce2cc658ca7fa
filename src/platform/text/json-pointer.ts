/** A key as one step of a JSON pointer (RFC 6901), cut where somebody sent a very long one. */
export const pointerStep = (key: unknown): string =>
  String(key).slice(0, 200).replaceAll('~', '~0').replaceAll('/', '~1');
