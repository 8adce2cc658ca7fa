import { invalid } from '../../../platform/errors.ts';
import { isWithinBounds, TOO_MANY_SHAPES } from '../../../platform/text/json-bounds.ts';
import { requireUniqueKeys } from '../../../platform/text/repeated-key.ts';

/** Parses the text of a file. `fold`: what equal names have in common. Errors: INVALID. */
export function parseFile(text: string, fold?: (name: string) => string): unknown {
  if (!isWithinBounds(Buffer.from(text))) throw invalid([{ path: '/', reason: TOO_MANY_SHAPES }]);
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    // The message of JSON.parse quotes the file, which may contain password hashes.
    throw invalid([{ path: '/', reason: 'is not JSON' }], 'The file is not JSON');
  }
  requireUniqueKeys(text, fold);
  return value;
}
