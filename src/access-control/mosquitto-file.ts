import type { AccessDocument } from './access-document.ts';

/** What a Mosquitto's own file says, and what of it has no place in a document. */
export interface ImportedFile {
  readonly document: AccessDocument;
  readonly warnings: readonly string[];
}

export function parseMosquittoFile(_text: string): ImportedFile {
  throw new Error('not written yet');
}
