/**
 * The regular expressions of sign-in rules: what RE2 and JavaScript have in common, as far as an automaton can follow it. No
 * backreferences, no look-around: with these a pattern could take longer than anybody waits.
 *
 * Literals, `.`, classes (`[a-z]`, `[^/]`), `\d \w \s` and their opposites, groups, `|`, `*`, `+`, `?` and `{2,5}`; `^` at the start and
 * `$` at the end, which change nothing since patterns are for whole values; `(?i)` at the start: any case.
 */

/** Whether a character fits, by its code point. */
export type CharTest = (code: number) => boolean;

export type PatternNode =
  | { readonly kind: 'char'; readonly fits: CharTest }
  | { readonly kind: 'sequence'; readonly parts: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly parts: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly part: PatternNode; readonly min: number; readonly max: number };

export class PatternError extends Error {
  override readonly name = 'PatternError';
}

const MAX_REPEAT = 100;
const MAX_DEPTH = 20;

const isDigit: CharTest = (code) => code >= 48 && code <= 57;
const isWord: CharTest = (code) =>
  isDigit(code) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95;
const isSpace: CharTest = (code) => /\s/u.test(String.fromCodePoint(code));
const not =
  (test: CharTest): CharTest =>
  (code) =>
    !test(code);

/** Characters that a class is remembered for. */
const MAX_REMEMBERED = 1_000;

/** Whether a long class has a character costs something once. */
function remembered(test: CharTest): CharTest {
  const known = new Map<number, boolean>();
  return (code) => {
    let fits = known.get(code);
    if (fits === undefined) {
      fits = test(code);
      if (known.size >= MAX_REMEMBERED) known.clear();
      known.set(code, fits);
    }
    return fits;
  };
}

const CLASSES: Readonly<Record<string, CharTest>> = {
  d: isDigit,
  w: isWord,
  s: isSpace,
  D: not(isDigit),
  W: not(isWord),
  S: not(isSpace),
};
const CONTROLS: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', f: '\f', v: '\v' };

/** Errors: PatternError, whose message completes "pattern …". */
export function parsePattern(text: string): PatternNode {
  const anyCase = text.startsWith('(?i)');
  const parser = new Parser([...(anyCase ? text.slice(4) : text)], anyCase);
  return parser.whole();
}

class Parser {
  readonly #chars: readonly string[];
  readonly #anyCase: boolean;
  #at = 0;
  #depth = 0;

  constructor(chars: readonly string[], anyCase: boolean) {
    this.#chars = chars;
    this.#anyCase = anyCase;
  }

  whole(): PatternNode {
    const root = this.#choice();
    if (this.#at < this.#chars.length) throw new PatternError('has a ")" without its "("');
    return root;
  }

  #choice(): PatternNode {
    const parts = [this.#sequence()];
    while (this.#take('|')) parts.push(this.#sequence());
    return parts.length === 1 && parts[0] ? parts[0] : { kind: 'choice', parts };
  }

  #sequence(): PatternNode {
    const parts: PatternNode[] = [];
    for (let next = this.#peek(); next !== undefined && next !== '|' && next !== ')'; next = this.#peek()) {
      if (next === '^' && this.#at === 0) this.#at += 1;
      else if (next === '$' && this.#at === this.#chars.length - 1) this.#at += 1;
      else parts.push(this.#repeated(this.#atom()));
    }
    return { kind: 'sequence', parts };
  }

  #repeated(part: PatternNode): PatternNode {
    const range = this.#range();
    if (range === null) return part;
    // Lazy or not: what fits as a whole is the same.
    this.#take('?');
    if (this.#range() !== null) throw new PatternError('repeats a repetition');
    return { kind: 'repeat', part, ...range };
  }

  #range(): { readonly min: number; readonly max: number } | null {
    if (this.#take('*')) return { min: 0, max: Number.POSITIVE_INFINITY };
    if (this.#take('+')) return { min: 1, max: Number.POSITIVE_INFINITY };
    if (this.#take('?')) return { min: 0, max: 1 };
    if (this.#peek() !== '{') return null;
    const text = this.#chars.slice(this.#at, this.#at + 10).join('');
    const [all, from, comma, to] = /^\{(\d{1,3})(?:(,)(\d{0,3}))?\}/.exec(text) ?? [];
    if (all === undefined) throw new PatternError('has a "{" that begins no repetition; write "\\{" for the character');
    this.#at += all.length;
    const min = Number(from);
    const max = comma === undefined ? min : to === '' ? Number.POSITIVE_INFINITY : Number(to);
    if (max < min || min > MAX_REPEAT || (Number.isFinite(max) && max > MAX_REPEAT)) {
      throw new PatternError(`has a repetition that is not from 0 to ${MAX_REPEAT}, the lower number first`);
    }
    return { min, max };
  }

  #atom(): PatternNode {
    const char = this.#next();
    if (char === '(') return this.#group();
    if (char === '[') return { kind: 'char', fits: this.#class() };
    if (char === '.') return { kind: 'char', fits: () => true };
    if (char === '\\') return { kind: 'char', fits: this.#escape() };
    if (char === '^' || char === '$') throw new PatternError(`has a "${char}" within; it is for whole values anyway`);
    if ('*+?{'.includes(char)) throw new PatternError(`has a "${char}" that repeats nothing`);
    return { kind: 'char', fits: this.#is(char) };
  }

  #group(): PatternNode {
    if (this.#take('?') && !this.#take(':'))
      throw new PatternError('has a group of a kind that is not supported: only "(…)" and "(?:…)" are');
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new PatternError(`has groups more than ${MAX_DEPTH} deep`);
    const inner = this.#choice();
    this.#depth -= 1;
    if (!this.#take(')')) throw new PatternError('has a "(" without its ")"');
    return inner;
  }

  #escape(): CharTest {
    const char = this.#next();
    const known = CLASSES[char];
    if (known) return known;
    return this.#is(this.#escaped(char));
  }

  /** The character that an escape stands for. */
  #escaped(char: string): string {
    const control = CONTROLS[char];
    if (control) return control;
    if (isWord(char.codePointAt(0) ?? 0)) throw new PatternError(`has "\\${char}", which is not supported`);
    return char;
  }

  #class(): CharTest {
    const isNegated = this.#take('^');
    const tests: CharTest[] = [];
    for (let first = true; first || this.#peek() !== ']'; first = false) {
      const char = this.#next();
      const escaped = char === '\\' ? this.#next() : null;
      const known = escaped === null ? undefined : CLASSES[escaped];
      if (known) {
        tests.push(known);
        continue;
      }
      const from = escaped === null ? char : this.#escaped(escaped);
      tests.push(this.#peek() === '-' && this.#chars[this.#at + 1] !== ']' ? this.#span(from) : this.#is(from));
    }
    this.#at += 1;
    const fits: CharTest = remembered((code) => tests.some((test) => test(code)));
    return isNegated ? not(fits) : fits;
  }

  #span(from: string): CharTest {
    this.#at += 1;
    const char = this.#next();
    const to = char === '\\' ? this.#escaped(this.#next()) : char;
    const [low, high] = [from.codePointAt(0) ?? 0, to.codePointAt(0) ?? 0];
    if (high < low) throw new PatternError(`has the range "${from}-${to}", which is empty`);
    return this.#inCase((code) => code >= low && code <= high);
  }

  #is(char: string): CharTest {
    const expected = char.codePointAt(0);
    return this.#inCase((code) => code === expected);
  }

  #inCase(test: CharTest): CharTest {
    if (!this.#anyCase) return test;
    return (code) => {
      const char = String.fromCodePoint(code);
      return test(code) || [char.toLowerCase(), char.toUpperCase()].some((other) => test(other.codePointAt(0) ?? 0));
    };
  }

  #peek(): string | undefined {
    return this.#chars[this.#at];
  }

  #next(): string {
    const char = this.#chars[this.#at];
    if (char === undefined) throw new PatternError('ends too early');
    this.#at += 1;
    return char;
  }

  #take(char: string): boolean {
    if (this.#peek() !== char) return false;
    this.#at += 1;
    return true;
  }
}
