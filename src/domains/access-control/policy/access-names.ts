const MAX_BYTES = 65_535;

/**
 * Null: a name of an account, group or role that a broker takes. The empty one, which Mosquitto 2.0 takes, names nothing that
 * 2.1 would let anybody use.
 */
export function nameProblem(name: string): string | null {
  return name === '' ? 'must not be empty' : textProblem(name);
}

/**
 * Null: a client id, topic or name without what Mosquitto refuses as "not valid UTF-8": control characters, code points that are
 * no characters, and what UTF-8 cannot hold.
 */
export function textProblem(text: string): string | null {
  if (/[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u.test(text)) {
    return 'must not hold control characters or code points that are no characters';
  }
  return tooLong(text);
}

/** Null: a text for people that reaches the broker as it is. Brokers look at no character, but JSON carries no half of a pair. */
export function plainTextProblem(text: string): string | null {
  return /[\0\p{Cs}]/u.test(text) ? 'must not hold U+0000 or half of a surrogate pair' : tooLong(text);
}

/** Null: a password that an account can be given. */
export const passwordProblem = (password: string): string | null =>
  password === '' ? 'must not be empty' : plainTextProblem(password);

const tooLong = (text: string): string | null =>
  Buffer.byteLength(text) > MAX_BYTES ? `must not exceed ${MAX_BYTES} bytes` : null;
