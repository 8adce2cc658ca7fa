import type { InputIssue } from '../../../platform/errors.ts';
import { MAX_PAGE } from '../../../platform/paging.ts';
import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import { fieldOf } from '../../../protocol/control/fields.ts';
import { refuseIssues } from '../../../protocol/control/issue-refusals.ts';
import { filterProblem } from '../../../protocol/mqtt/topics.ts';
import { TOPIC_SORT_FIELDS, type TopicKind, type TopicOrder, type TopicRequests } from '../model/topic-recorder.ts';
import { fieldIn } from './response-parser.ts';

/** Commands of this service. Their fields are those of the request, and `data` is the response. */
export const REQUEST_COMMANDS = {
  status: 'getTopicStatus',
  find: 'findTopics',
  levels: 'listLevels',
  topic: 'getTopic',
  changes: 'topicChanges',
} as const satisfies Record<keyof TopicRequests, string>;

const DEFAULT_FIRST = 100;
const MAX_CHANGES = 1_000;
/** A topic has at most 65,535 bytes. */
const MAX_TEXT = 65_535;

/** Parses a field, which is undefined if it is missing. `fail` adds an issue. */
type Parser<Value> = (value: unknown, fail: (reason: string) => undefined) => Value;

const kind: Parser<TopicKind> = (value = 'PUBLISHED', fail) => {
  if (value !== 'PUBLISHED' && value !== 'SUBSCRIBED') fail('must be PUBLISHED or SUBSCRIBED');
  return value === 'SUBSCRIBED' ? value : 'PUBLISHED';
};

const text: Parser<string | undefined> = (value, fail) => {
  if (value === undefined || (typeof value === 'string' && value.length <= MAX_TEXT)) return value;
  return fail(`must be a text of at most ${MAX_TEXT} characters`);
};

/** A cursor may be the base64 of a topic and its place. */
const cursor: Parser<string | undefined> = (value, fail) => {
  if (value === undefined || (typeof value === 'string' && value.length <= 2 * MAX_TEXT)) return value;
  return fail(`must be a text of at most ${2 * MAX_TEXT} characters`);
};

const order: Parser<TopicOrder | undefined> = (value, fail) => {
  if (value === undefined) return undefined;
  const field = TOPIC_SORT_FIELDS.find((one) => one === fieldIn(value, 'field'));
  const direction = fieldIn(value, 'direction');
  if (field !== undefined && (direction === 'asc' || direction === 'desc')) return { field, direction };
  return fail(`must have a field (${TOPIC_SORT_FIELDS.join(', ')}) and a direction (asc, desc)`);
};

const textOrNull: Parser<string | null> = (value, fail) => text(value, fail) ?? null;

const requiredText: Parser<string> = (value, fail) => {
  if (value === undefined) fail('must be given');
  return text(value, fail) ?? '';
};

const filter: Parser<string | undefined> = (value, fail) => {
  const given = text(value, fail);
  const problem = given === undefined ? null : filterProblem(given);
  return problem === null ? given : fail(problem);
};

const integer =
  (max: number): Parser<number | undefined> =>
  (value, fail) => {
    const isValid = Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max;
    if (value === undefined || isValid) return value as number | undefined;
    return fail(`must be a whole number from 0 to ${max}`);
  };

const pageSize =
  (max: number): Parser<number> =>
  (value, fail) =>
    integer(max)(value, fail) ?? DEFAULT_FIRST;

const flag: Parser<boolean | undefined> = (value, fail) =>
  value === undefined || typeof value === 'boolean' ? value : fail('must be true or false');

const FIELDS: {
  readonly [Type in keyof TopicRequests]: {
    readonly [Name in keyof TopicRequests[Type]]-?: Parser<TopicRequests[Type][Name]>;
  };
} = {
  status: {},
  find: {
    kind,
    prefix: text,
    search: text,
    filter,
    after: cursor,
    order,
    offset: integer(Number.MAX_SAFE_INTEGER),
    first: pageSize(MAX_PAGE),
    withCount: flag,
    withPayloads: flag,
  },
  levels: { kind, of: textOrNull, after: text, first: pageSize(MAX_PAGE), withPayloads: flag },
  topic: { kind, topic: requiredText },
  changes: { kind, prefix: text, since: textOrNull, first: pageSize(MAX_CHANGES), withPayloads: flag },
};

/** Parses a command. A field that is null counts as missing. Errors: ControlRefusal, INVALID with all issues. */
export function parseRequest<Type extends keyof TopicRequests>(
  type: Type,
  command: ControlCommand,
): TopicRequests[Type] {
  const issues: InputIssue[] = [];
  const fields = Object.entries<Parser<unknown>>(FIELDS[type]).map(([name, parse]) => {
    const fail = (reason: string) => void issues.push({ path: `/${name}`, reason });
    return [name, parse(fieldOf(command, name) ?? undefined, fail)];
  });
  refuseIssues(issues);
  return Object.fromEntries(fields) as TopicRequests[Type];
}
