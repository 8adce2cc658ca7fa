const MAX_BYTES = 65_535;

/**
 * Null: a name of an account, group or role, or a client id, that a broker takes. Mosquitto refuses control characters, code
 * points that are no characters, and what UTF-8 cannot hold (2.0: "… not valid UTF-8"); the empty name, which 2.0 takes, names
 * nothing that 2.1 would let anybody use.
 */
export function nameProblem(name: string): string | null {
  if (name === '') return 'must not be empty';
  if (Buffer.byteLength(name) > MAX_BYTES) return `must not exceed ${MAX_BYTES} bytes`;
  if (/[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}]/u.test(name)) {
    return 'must not hold control characters or code points that are no characters';
  }
  return null;
}

/** Null: a text that reaches the broker as it is. Mosquitto ends texts at U+0000, and a lone surrogate has no UTF-8. */
export function textProblem(text: string): string | null {
  return /[\0\p{Cs}]/u.test(text) ? 'must not hold U+0000 or half of a surrogate pair' : null;
}
