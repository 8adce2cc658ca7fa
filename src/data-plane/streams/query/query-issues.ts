import type { InputIssue } from '../../../platform/errors.ts';
import { ExactNumber, isComparable } from '../../../platform/text/exact-number.ts';
import { pointerStep } from '../../../platform/text/json-schema.ts';
import { nearestName } from '../../../platform/text/nearest-name.ts';
import { type Fields, isFields } from '../../../protocol/control/fields.ts';
import { parseExpression } from '../expression/cel.ts';
import { OPERATORS, SELECT_FUNCTIONS } from '../model/stream-query.ts';
import { parsePath } from './json-path.ts';

/** Limits of a query, because its size increases the cost of each message. */
export const QUERY_LIMITS = {
  items: 200,
  depth: 50,
  path: 2_000,
  alias: 200,
  right: 4_000,
  total: 50_000,
} as const;

const MAX_ISSUES = 50;

const INTERNAL_SOURCES = ['timestamp', 'windowstart', 'windowend'] as const;
const SELECT_KEYS = ['source', 'target', 'alias', 'function', 'intervalsize', 'intervaloffset'] as const;
const CONDITION_KEYS = ['operator', 'left', 'right'] as const;

/** Seconds: from one millisecond to about 317 years. */
const INTERVAL = { min: 0.001, max: 10_000_000_000 } as const;

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/;

const EXPRESSION_KEYS = ['filter', 'output'] as const;

const PATH_FORM = 'a path such as "[key][key]"';

/**
 * Returns the issues of a query, at most 50. If there are none, the query is a StreamQuery. Paths are JSON pointers
 * below `/query`. Unknown keys are refused, because a misspelled key would change what a stream does.
 */
export function queryIssues(query: unknown): InputIssue[] {
  const check = new QueryCheck();
  check.query(query);
  return check.issues;
}

class QueryCheck {
  readonly issues: InputIssue[] = [];
  /** First use, as JSON pointers: by alias, by target, by each prefix of a target. */
  readonly #aliases = new Map<string, string>();
  readonly #targets = new Map<string, string>();
  readonly #branches = new Map<string, string>();
  #bucket: string | null = null;
  #hasBucket = false;

  query(query: unknown): void {
    const at = '/query';
    if (!isFields(query)) {
      this.#report(at, 'must be an object with "select", "where", both or neither, or with "expression"');
      return;
    }
    this.#keys(query, ['select', 'where', 'expression'], at);
    const { select = [], where = [], expression } = query;
    if (expression !== undefined) {
      if (query.select !== undefined || query.where !== undefined) {
        this.#report(`${at}/expression`, 'takes the place of "select" and "where"');
      } else this.#expression(expression, `${at}/expression`);
      return;
    }
    if (!Array.isArray(select)) this.#report(`${at}/select`, 'must be a list of what is selected');
    else if (select.length > QUERY_LIMITS.items) {
      this.#report(`${at}/select`, `must have at most ${QUERY_LIMITS.items} items`);
    } else {
      this.#hasBucket = select.some((item) => isFields(item) && item.function === 'time_bucket');
      for (const [index, item] of select.entries()) {
        if (this.issues.length >= MAX_ISSUES) return;
        this.#item(item, `${at}/select/${index}`);
      }
    }
    if (!Array.isArray(where)) this.#report(`${at}/where`, 'must be a list with at most one condition');
    else if (where.length > 1) this.#report(`${at}/where`, 'must have at most one condition');
    else if (where.length === 1) this.#condition(where[0], `${at}/where/0`);
    // The checks so far bound the size, so that the query can be written as JSON.
    if (this.issues.length === 0 && JSON.stringify(query).length > QUERY_LIMITS.total) {
      this.#report(at, `must have at most ${QUERY_LIMITS.total} characters as JSON`);
    }
  }

  #expression(expression: unknown, at: string): void {
    if (!isFields(expression)) {
      this.#report(at, 'must be an object with "filter", "output" or both');
      return;
    }
    this.#keys(expression, EXPRESSION_KEYS, at);
    for (const name of EXPRESSION_KEYS) {
      const problem = expression[name] === undefined ? null : expressionProblem(name, expression[name]);
      if (problem !== null) this.#report(`${at}/${name}`, problem);
    }
    if (EXPRESSION_KEYS.every((name) => expression[name] === undefined)) {
      this.#report(at, 'must have "filter", "output" or both');
    }
  }

  #item(item: unknown, at: string): void {
    if (!isFields(item)) {
      this.#report(at, 'must be an object with "source" and "target"');
      return;
    }
    this.#keys(item, SELECT_KEYS, at);
    this.#function(item.function, `${at}/function`);
    this.#source(item, `${at}/source`);
    this.#target(item, `${at}/target`);
    if (item.alias !== undefined) this.#alias(item.alias, `${at}/alias`);
    this.#interval(item, at);
  }

  #function(name: unknown, at: string): void {
    if (name === undefined) return;
    if (!isOneOf(SELECT_FUNCTIONS, name)) {
      this.#report(at, oneOf(SELECT_FUNCTIONS, name));
    } else if (name === 'time_bucket') {
      if (this.#bucket !== null) this.#report(at, `there can be one time_bucket, and ${this.#bucket} is one`);
      else this.#bucket = at.slice(0, -'/function'.length);
    }
  }

  #source({ source, function: name }: Fields, at: string): void {
    if (name === 'time_bucket') {
      if (!isNothing(source))
        this.#report(at, 'must be "" or "*" with time_bucket, or left out: it is made of the clock');
    } else if (name === 'count') {
      if (!isNothing(source)) this.#path(source, at, `${PATH_FORM}, "" or "*"`);
    } else if (isOneOf(SELECT_FUNCTIONS, name)) {
      this.#path(source, at, `${PATH_FORM} with ${name}`);
    } else if (isOneOf(INTERNAL_SOURCES, source)) {
      if (source !== 'timestamp' && !this.#hasBucket) this.#report(at, `"${source}" needs an item with time_bucket`);
    } else {
      this.#path(source, at, `${PATH_FORM}, or "timestamp", "windowstart" or "windowend"`, INTERNAL_SOURCES);
    }
  }

  #target({ target, function: name }: Fields, at: string): void {
    if (target === '' || (target === undefined && name === 'time_bucket')) return;
    const keys = this.#path(target, at, `${PATH_FORM}, or "" for a value that is not published`);
    if (keys === null) return;
    const path = `[${keys.join('][')}]`;
    const same = this.#targets.get(path) ?? this.#branches.get(path);
    if (same !== undefined) this.#report(at, `"${path}" is also written by ${same}`);
    let branch = '';
    for (const key of keys.slice(0, -1)) {
      branch += `[${key}]`;
      const whole = this.#targets.get(branch);
      if (whole !== undefined) this.#report(at, `lies within "${branch}", which ${whole} writes`);
      if (!this.#branches.has(branch)) this.#branches.set(branch, at);
    }
    if (!this.#targets.has(path)) this.#targets.set(path, at);
  }

  #alias(alias: unknown, at: string): void {
    if (typeof alias !== 'string' || alias === '') this.#report(at, 'must be a text that is not empty');
    else if (alias.length > QUERY_LIMITS.alias) {
      this.#report(at, `must have at most ${QUERY_LIMITS.alias} characters`);
    } else if (alias.startsWith('[') || alias.endsWith(']'))
      this.#report(at, 'must not begin with "[" or end with "]"');
    else {
      const other = this.#aliases.get(alias);
      if (other === undefined) this.#aliases.set(alias, at);
      else this.#report(at, `is also the alias at ${other}`);
    }
  }

  #interval({ function: name, intervalsize: size, intervaloffset: offset }: Fields, at: string): void {
    if (name !== 'time_bucket') {
      // An unknown function may be a misspelled time_bucket.
      if (name !== undefined && !isOneOf(SELECT_FUNCTIONS, name)) return;
      if (size !== undefined) this.#report(`${at}/intervalsize`, 'is for time_bucket only');
      if (offset !== undefined) this.#report(`${at}/intervaloffset`, 'is for time_bucket only');
      return;
    }
    const isSize = typeof size === 'number' && size >= INTERVAL.min && size <= INTERVAL.max;
    if (!isSize)
      this.#report(`${at}/intervalsize`, `must be a number of seconds from ${INTERVAL.min} to ${INTERVAL.max}`);
    if (offset === undefined) return;
    if (typeof offset !== 'number' || !(offset >= 0) || !(offset < (isSize ? size : INTERVAL.max))) {
      this.#report(`${at}/intervaloffset`, 'must be a number of seconds, at least 0 and less than intervalsize');
    }
  }

  #condition(condition: unknown, at: string): void {
    if (!isFields(condition)) {
      this.#report(at, 'must be an object with "operator", "left" and "right"');
      return;
    }
    this.#keys(condition, CONDITION_KEYS, at);
    const { operator, left, right } = condition;
    const isOperator = isOneOf(OPERATORS, operator);
    if (!isOperator) this.#report(`${at}/operator`, oneOf(OPERATORS, operator));
    if (typeof left !== 'string' || !this.#aliases.has(left)) this.#left(left, `${at}/left`);
    if (typeof right === 'string') {
      if (right.length > QUERY_LIMITS.right) {
        this.#report(`${at}/right`, `must have at most ${QUERY_LIMITS.right} characters`);
      }
    } else if (typeof right === 'boolean') {
      if (isOperator && operator !== '==' && operator !== '!=') {
        this.#report(`${at}/right`, `must be a number or a text with "${operator}": booleans have no order`);
      }
    } else if (isFields(right) && Object.hasOwn(right, 'number')) this.#writtenNumber(right, `${at}/right`);
    else if (typeof right !== 'number' || !Number.isFinite(right)) {
      this.#report(`${at}/right`, 'must be a text, a number, true or false');
    }
  }

  #writtenNumber(right: Fields, at: string): void {
    this.#keys(right, ['number'], at);
    const { number } = right;
    if (typeof number !== 'string' || !JSON_NUMBER.test(number)) {
      this.#report(`${at}/number`, 'must be a text with a number of JSON, such as "9007199254740993"');
    } else if (number.length > QUERY_LIMITS.right) {
      this.#report(`${at}/number`, `must have at most ${QUERY_LIMITS.right} characters`);
    } else if (!isComparable(new ExactNumber(number))) {
      this.#report(`${at}/number`, 'must not have an exponent of more than 15 digits');
    }
  }

  #left(left: unknown, at: string): void {
    if (isOneOf(INTERNAL_SOURCES, left)) {
      this.#report(at, `"${left}" has to be selected with an alias, which can then stand here`);
    } else this.#path(left, at, `${PATH_FORM}, or an alias of select`, [...this.#aliases.keys()]);
  }

  /** Returns the keys of a valid path. Otherwise reports the issue and returns `null`. */
  #path(path: unknown, at: string, form: string, names: Iterable<string> = []): readonly string[] | null {
    if (path === undefined) this.#report(at, `is needed: ${form}`);
    else if (typeof path !== 'string') this.#report(at, `must be ${form}`);
    else if (path.length > QUERY_LIMITS.path) {
      this.#report(at, `must have at most ${QUERY_LIMITS.path} characters`);
    } else {
      const keys = parsePath(path);
      if (keys === null) this.#report(at, `must be ${form}${hint(meantBy(path, names))}`);
      else if (keys.length > QUERY_LIMITS.depth) this.#report(at, `must have at most ${QUERY_LIMITS.depth} keys`);
      else return keys;
    }
    return null;
  }

  #keys(fields: Fields, known: readonly string[], at: string): void {
    for (const key of Object.keys(fields)) {
      if (this.issues.length >= MAX_ISSUES) return;
      if (known.includes(key)) continue;
      const meant = nearestName(key, known);
      const reason = `is not known here; there ${known.length === 1 ? 'is' : 'are'} ${list(known)}`;
      this.#report(`${at}/${pointerStep(key)}`, `${reason}${hint(meant)}`);
    }
  }

  #report(path: string, reason: string): void {
    if (this.issues.length < MAX_ISSUES) this.issues.push({ path, reason });
  }
}

const isNothing = (source: unknown): boolean => source === undefined || source === '' || source === '*';

const isOneOf = <T extends string>(known: readonly T[], value: unknown): value is T =>
  (known as readonly unknown[]).includes(value);

const list = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');

function oneOf(known: readonly string[], value: unknown): string {
  const meant = typeof value === 'string' ? nearestName(value, known) : null;
  return `must be one of ${list(known)}${hint(meant)}`;
}

const hint = (meant: string | null): string => (meant === null ? '' : `; is "${meant}" meant?`);

/** Suggests a name or a path in brackets, because brackets are often forgotten. */
function meantBy(path: string, names: Iterable<string>): string | null {
  return nearestName(path, names) ?? (WORD.test(path) ? `[${path}]` : null);
}

const WORD = /^[^[\]]{1,50}$/;

/** Why a filter or an output is invalid; `null` if it is valid. */
function expressionProblem(name: 'filter' | 'output', source: unknown): string | null {
  if (typeof source !== 'string') return 'must be a text with an expression';
  try {
    const { type } = parseExpression(source);
    if (name === 'output' || type === 'bool' || type === 'dyn') return null;
    return `must be true or false, but is of type ${type}`;
  } catch (error) {
    if (error instanceof SyntaxError) return error.message;
    throw error;
  }
}
