const MAX_BYTES = 65_535;

/* Each function returns why a broker would not accept a text, or `null` if it would. */

/** Checks the name of an account, group or role. Mosquitto 2.0 accepts an empty name, which is unusable in 2.1. */
export function nameProblem(name: string): string | null {
  return name === '' ? 'must not be empty' : textProblem(name);
}

/** Checks a client id, topic or name against the characters that Mosquitto refuses as "not valid UTF-8". */
export function textProblem(text: string): string | null {
  if (/[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u.test(text)) {
    return 'must not contain control characters, noncharacters or surrogates';
  }
  return tooLong(text);
}

/** Checks a display text. Brokers accept every character, but JSON cannot carry an unpaired surrogate. */
export function plainTextProblem(text: string): string | null {
  return /[\0\p{Cs}]/u.test(text) ? 'must not contain U+0000 or an unpaired surrogate' : tooLong(text);
}

export const passwordProblem = (password: string): string | null =>
  password === '' ? 'must not be empty' : plainTextProblem(password);

const tooLong = (text: string): string | null =>
  Buffer.byteLength(text) > MAX_BYTES ? `must not exceed ${MAX_BYTES} bytes` : null;
