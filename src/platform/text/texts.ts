import type { InputIssue } from '../errors.ts';

/** Maximum lengths of texts in UTF-16 code units. */
export const MAX_NAME = 200;
export const MAX_DESCRIPTION = 4_000;

/** Whether a text has the form of an e-mail address. Users can neither see nor type format characters. */
export const isEmailAddress = (text: string): boolean =>
  text.length <= 254 && /^[^\s@\p{Cc}\p{Cf}\p{Cs}]+@[^\s@\p{Cc}\p{Cf}\p{Cs}]+$/u.test(text);

/** Reason why a text with such a half cannot be used: it has no form in UTF-8. */
export const HALF_OF_PAIR = 'must not contain half of a surrogate pair (U+D800 to U+DFFF)';

/** Returns why a text can neither be stored nor sent. PostgreSQL cannot store U+0000. */
export function faultIn(text: string): string | null {
  if (text.includes('\0')) return 'must not contain the character U+0000';
  return text.isWellFormed() ? null : HALF_OF_PAIR;
}

/**
 * Issue of a text that a client sends before the server has responded: a service that reads lines would execute them
 * (MQTT 5.0 and 3.1.1, 1.5.3 and 1.5.4, advise against control characters).
 */
export const controlCharacterIssues = (path: string, text: string | null | undefined): InputIssue[] =>
  text != null && /\p{Cc}/u.test(text) ? [{ path, reason: 'must not contain control characters' }] : [];

interface TextLimits {
  /** Default: 0. */
  readonly min?: number;
  readonly max: number;
}

/** Returns why a text cannot be stored. The caller checks `null` and `undefined`. */
export function textIssues(path: string, text: string | null | undefined, { min = 0, max }: TextLimits): InputIssue[] {
  if (text == null) return [];
  const issues: InputIssue[] = [];
  if (text.length < min || text.length > max) {
    issues.push({ path, reason: `must have ${min > 0 ? `${min} to` : 'at most'} ${max} characters` });
  }
  const fault = faultIn(text);
  if (fault !== null) issues.push({ path, reason: fault });
  return issues;
}
