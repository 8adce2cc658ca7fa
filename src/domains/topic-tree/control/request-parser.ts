import { MAX_PAGE } from '../../../gateway/paging.ts';
import { type InputIssue, issuesInfo } from '../../../platform/errors.ts';
import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import { fieldOf } from '../../../protocol/control/fields.ts';
import { ControlRefusal } from '../../../protocol/control/plugin.ts';
import { filterProblem } from '../../../protocol/mqtt/topics.ts';
import type { TopicKind, TopicRequests } from '../model/topic-recorder.ts';

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

/** Parses commands. A field that is null counts as missing. Errors: ControlRefusal, INVALID with all issues. */
export const parseRequest: {
  readonly [Type in keyof TopicRequests]: (command: ControlCommand) => TopicRequests[Type];
} = {
  status: () => ({}),
  find: (command) =>
    checked(command, (fields) => ({
      kind: fields.kind(),
      prefix: fields.text('prefix'),
      search: fields.text('search'),
      filter: fields.filter('filter'),
      after: fields.text('after'),
      offset: fields.integer('offset', 0, Number.MAX_SAFE_INTEGER),
      first: fields.integer('first', 0, MAX_PAGE) ?? DEFAULT_FIRST,
      withCount: fields.flag('withCount'),
      withPayloads: fields.flag('withPayloads'),
    })),
  levels: (command) =>
    checked(command, (fields) => ({
      kind: fields.kind(),
      of: fields.text('of') ?? null,
      after: fields.text('after'),
      first: fields.integer('first', 0, MAX_PAGE) ?? DEFAULT_FIRST,
      withPayloads: fields.flag('withPayloads'),
    })),
  topic: (command) => checked(command, (fields) => ({ kind: fields.kind(), topic: fields.required('topic') })),
  changes: (command) =>
    checked(command, (fields) => ({
      kind: fields.kind(),
      prefix: fields.text('prefix'),
      since: fields.text('since') ?? null,
      first: fields.integer('first', 0, MAX_CHANGES) ?? DEFAULT_FIRST,
      withPayloads: fields.flag('withPayloads'),
    })),
};

function checked<Request>(command: ControlCommand, read: (fields: RequestFields) => Request): Request {
  const fields = new RequestFields(command);
  const request = read(fields);
  refuse(fields.issues);
  return request;
}

/** Throws a refusal. Its text, which is all that a client receives over MQTT, contains the first issue. */
export function refuse(issues: readonly InputIssue[]): void {
  const [first] = issues;
  if (first === undefined) return;
  throw new ControlRefusal(`Invalid ${first.path}: ${first.reason}`, { code: 'INVALID', info: issuesInfo(issues) });
}

class RequestFields {
  readonly issues: InputIssue[] = [];
  readonly #command: ControlCommand;

  constructor(command: ControlCommand) {
    this.#command = command;
  }

  kind(): TopicKind {
    const value = this.#given('kind') ?? 'PUBLISHED';
    if (value === 'PUBLISHED' || value === 'SUBSCRIBED') return value;
    this.#addIssue('kind', 'must be PUBLISHED or SUBSCRIBED');
    return 'PUBLISHED';
  }

  text(name: string): string | undefined {
    const value = this.#given(name);
    if (value === undefined) return undefined;
    if (typeof value === 'string' && value.length <= MAX_TEXT) return value;
    return this.#addIssue(name, `must be a text of at most ${MAX_TEXT} characters`);
  }

  required(name: string): string {
    if (this.#given(name) === undefined) this.#addIssue(name, 'must be given');
    return this.text(name) ?? '';
  }

  filter(name: string): string | undefined {
    const value = this.text(name);
    const problem = value === undefined ? null : filterProblem(value);
    return problem === null ? value : this.#addIssue(name, problem);
  }

  integer(name: string, min: number, max: number): number | undefined {
    const value = this.#given(name);
    if (value === undefined) return undefined;
    if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return value as number;
    return this.#addIssue(name, `must be a whole number from ${min} to ${max}`);
  }

  flag(name: string): boolean | undefined {
    const value = this.#given(name);
    if (value === undefined || typeof value === 'boolean') return value;
    return this.#addIssue(name, 'must be true or false');
  }

  #given(name: string): unknown {
    return fieldOf(this.#command, name) ?? undefined;
  }

  #addIssue(name: string, reason: string): undefined {
    this.issues.push({ path: `/${name}`, reason });
  }
}
