import { includesText } from './text-search.ts';

/** All modes are case-sensitive. */
export type FilterMode = 'contains' | 'equals' | 'startsWith' | 'endsWith';

export const FITS: Readonly<Record<FilterMode, (text: string, value: string) => boolean>> = {
  contains: includesText,
  equals: (text, value) => text === value,
  startsWith: (text, value) => text.startsWith(value),
  endsWith: (text, value) => text.endsWith(value),
};
