import type { InputIssue } from '../errors.ts';

/** Longest texts that people enter, in UTF-16 code units. */
export const MAX_NAME = 200;
export const MAX_DESCRIPTION = 4_000;

export interface TextLimits {
  /** Default 0. */
  readonly min?: number;
  readonly max: number;
}

/** What keeps a text from being stored; null and undefined are for the caller to judge. */
export function textIssues(path: string, text: string | null | undefined, { min = 0, max }: TextLimits): InputIssue[] {
  if (text == null) return [];
  const issues: InputIssue[] = [];
  if (text.length < min || text.length > max) {
    issues.push({ path, reason: `must have ${min > 0 ? `${min} to` : 'at most'} ${max} characters` });
  }
  // PostgreSQL has no place for it in a text.
  if (text.includes('\0')) issues.push({ path, reason: 'must not hold the character U+0000' });
  return issues;
}
