import type { InputIssue } from '../../../platform/errors.ts';
import { MAX_DESCRIPTION, MAX_NAME } from '../../../platform/text/texts.ts';
import { plainTextProblem, textProblem } from '../../../protocol/apis/access-control/access-names.ts';
import { filterProblem, topicProblem } from '../../../protocol/mqtt/topics.ts';
import type { StreamDefinition } from '../model/stream-definition.ts';
import type { ReplayRequest } from '../model/stream-replay.ts';
import { queryIssues } from '../query/query-issues.ts';

type Unchecked<T> = Readonly<Partial<Record<keyof T, unknown>>>;

/** About 68 years, the largest Int of the graph. */
export const MAX_TTL = 2_147_483_647;

/** Mosquitto 2.0 treats a topic with more slashes as a malformed packet. */
const MAX_SLASHES = 200;

/** Names no field, because callers use different names of the bounds. */
export const NOT_BEFORE = 'must not be before the lower bound';

const MAX_MOMENT = 8_640_000_000_000_000;

/** Factors of the original speed. Slower or faster values are mistakes. */
const SPEED = { min: 0.001, max: 1_000_000 } as const;

/**
 * Returns all issues of a definition, including its query, with JSON pointers. Undefined fields are not checked, but
 * name and source are required unless `partial` (a change) is true. Loops are checked by `streamLoop`.
 */
export function definitionIssues(
  fields: Unchecked<StreamDefinition>,
  { partial = false }: { readonly partial?: boolean } = {},
): InputIssue[] {
  const issues: InputIssue[] = [];
  const check = checker(fields, issues);
  check('name', nameProblem, !partial);
  check('sourceTopic', sourceProblem, !partial);
  check('targetTopic', (topic) => (topic === null || topic === '' ? null : targetProblem(topic)));
  check('targetQos', (qos) => (qos === -1 || isInteger(qos, 0, 2) ? null : 'must be -1, 0, 1 or 2'));
  check('ttl', (ttl) => (isInteger(ttl, 0, MAX_TTL) ? null : `must be an integer from 0 to ${MAX_TTL}`));
  for (const flag of ['active', 'process', 'persist'] as const) check(flag, flagProblem);
  for (const [name, max] of Object.entries(TEXTS) as [keyof typeof TEXTS, number][]) {
    check(name, (text) => (text === null ? null : plainProblem(text, max)));
  }
  if (fields.query !== undefined) issues.push(...queryIssues(fields.query));
  return issues;
}

const TEXTS = { key: MAX_NAME, textName: MAX_NAME, textDescription: MAX_DESCRIPTION } as const;

/** Returns the issues of a replay request. Undefined fields are not checked, but the topic is required. */
export function replayIssues(fields: Unchecked<ReplayRequest>): InputIssue[] {
  const issues: InputIssue[] = [];
  const check = checker(fields, issues);
  const { from, to } = fields;
  check('topic', targetProblem, true);
  check('from', boundProblem);
  check('to', boundProblem);
  if (typeof from === 'number' && typeof to === 'number' && from > to) {
    check('to', () => NOT_BEFORE);
  }
  check('limit', (limit) =>
    limit === null || isInteger(limit, 1, Number.MAX_SAFE_INTEGER) ? null : 'must be an integer of at least 1',
  );
  check('speed', (speed) =>
    speed === 'fastest' || isNumber(speed, SPEED.min, SPEED.max)
      ? null
      : `must be a number from ${SPEED.min} to ${SPEED.max}, or "fastest"`,
  );
  check('reverse', flagProblem);
  return issues;
}

type Problem = (value: unknown) => string | null;

function checker<T extends string>(fields: Unchecked<Record<T, unknown>>, issues: InputIssue[]) {
  return (field: T, problemOf: Problem, needed = false): void => {
    const value = fields[field];
    const reason = value === undefined ? (needed ? 'is needed' : null) : problemOf(value);
    if (reason !== null) issues.push({ path: `/${field}`, reason });
  };
}

function nameProblem(name: unknown): string | null {
  if (typeof name !== 'string' || name === '' || name.length > MAX_NAME) {
    return `must be a text of 1 to ${MAX_NAME} characters`;
  }
  return textProblem(name);
}

function plainProblem(text: unknown, max: number): string | null {
  if (typeof text !== 'string' || text.length > max) return `must be a text of at most ${max} characters`;
  return plainTextProblem(text);
}

function sourceProblem(filter: unknown): string | null {
  if (typeof filter !== 'string') return 'must be a topic filter';
  if (filter === '$share' || filter.startsWith('$share/')) {
    return 'must not be a shared subscription: the stream would miss what others in its group are given';
  }
  if (filter.startsWith('$')) return "must not begin with $: such topics are the broker's own";
  return filterProblem(filter) ?? anyTopicProblem(filter);
}

function targetProblem(topic: unknown): string | null {
  if (typeof topic !== 'string') return 'must be a topic';
  if (topic.startsWith('$')) return "must not begin with $: such topics are the broker's own";
  return topicProblem(topic) ?? anyTopicProblem(topic);
}

/** Mosquitto closes the connection on a topic that breaks these rules, which would affect all streams of the broker. */
function anyTopicProblem(topic: string): string | null {
  const problem = textProblem(topic);
  if (problem !== null) return problem;
  return topic.split('/').length - 1 > MAX_SLASHES ? `must have at most ${MAX_SLASHES} times "/"` : null;
}

const boundProblem: Problem = (moment) =>
  moment === null || isNumber(moment, -MAX_MOMENT, MAX_MOMENT) ? null : 'must be a moment in epoch milliseconds';

const flagProblem: Problem = (flag) => (typeof flag === 'boolean' ? null : 'must be true or false');

const isNumber = (value: unknown, min: number, max: number): boolean =>
  typeof value === 'number' && value >= min && value <= max;

const isInteger = (value: unknown, min: number, max: number): boolean =>
  Number.isInteger(value) && isNumber(value, min, max);
