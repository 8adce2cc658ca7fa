import { createRequire } from 'node:module';
import type { RE2JS } from 're2js';
import { lazily } from '../../../platform/lazily.ts';

const require = createRequire(import.meta.url);
/** Loaded with the first pattern, because most services have none. */
const library = lazily((): typeof import('re2js') => require('re2js'));

const MAX_PATTERN_LENGTH = 200;
const MAX_VALUE_LENGTH = 1_024;
/** Maximum number of instructions of a compiled pattern. re2js 2.10 uses a slower engine for larger programs. */
const MAX_PROGRAM_SIZE = 500;
/** Longest measured time for one instruction at one character. 8 ns are usual; the slower engine takes 58 ns. */
const MAX_STEP_MS = 60e-6;

/** The message completes the sentence "The pattern …". */
export class PatternError extends Error {
  override readonly name = 'PatternError';
}

/**
 * A regular expression in RE2 syntax that must match a whole value; `.` matches every character. Project administrators
 * write patterns and every sign-in runs them, so matching must take linear time.
 */
export class Pattern {
  readonly #regex: RE2JS;

  constructor(text: string) {
    if (text.length === 0 || text.length > MAX_PATTERN_LENGTH)
      throw new PatternError(`must have 1 to ${MAX_PATTERN_LENGTH} characters`);
    this.#regex = compiled(text);
    if (this.#regex.programSize() > MAX_PROGRAM_SIZE)
      throw new PatternError(`has too many repetitions: it compiles to more than ${MAX_PROGRAM_SIZE} instructions`);
  }

  matches(value: string): boolean {
    // `testExact` would use a DFA, which caches up to 8 MiB of states for each pattern.
    return value.length <= MAX_VALUE_LENGTH && this.#regex.matcher(value).matches();
  }

  /** Upper bound of the time that `matches` takes for a value of this length. */
  maxMs(length: number): number {
    return this.#regex.programSize() * (length + 1) * MAX_STEP_MS;
  }
}

function compiled(text: string): RE2JS {
  const { RE2JS, RE2JSException, RE2JSSyntaxException } = library();
  try {
    return RE2JS.compile(text, RE2JS.DOTALL);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    const { error: problem, input } = error instanceof RE2JSSyntaxException ? error : { error: error.message };
    // re2js writes the DOTALL flag in front of the pattern.
    const place = input ? ` in "${input.replace(/^\(\?s\)/, '')}"` : '';
    throw new PatternError(`is not valid in RE2 syntax: ${problem}${place}`, { cause: error });
  }
}
