import { MAX_PAGE } from '../../../gateway/paging.ts';
import { type InputIssue, issuesInfo } from '../../../platform/errors.ts';
import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import { fieldOf } from '../../../protocol/control/fields.ts';
import { ControlRefusal } from '../../../protocol/control/plugin.ts';
import { filterProblem } from '../../../protocol/mqtt/topics.ts';
import type { TopicKind, TopicQuestions } from '../model/topic-recorder.ts';

/**
 * Commands of this service in addition to the documented ones. The fields of a request are those of the command, and
 * the result is its `data`.
 */
export const QUESTION_COMMANDS = {
  status: 'getTopicStatus',
  find: 'findTopics',
  levels: 'listLevels',
  topic: 'getTopic',
  changes: 'topicChanges',
} as const satisfies Record<keyof TopicQuestions, string>;

type QuestionReaders = {
  readonly [Type in keyof TopicQuestions]: (command: ControlCommand) => TopicQuestions[Type]['question'];
};

const DEFAULT_FIRST = 100;
const MAX_CHANGES = 1_000;
/** A topic has at most 65,535 bytes. */
const MAX_TEXT = 65_535;

/**
 * Reads requests from commands. A field that is null counts as missing. Errors: ControlRefusal, INVALID with all
 * issues.
 */
export const readQuestion: QuestionReaders = {
  status: () => ({}),
  find: (command) =>
    checked(command, (fields) => ({
      kind: fields.kind(),
      prefix: fields.text('prefix'),
      search: fields.text('search'),
      filter: fields.filter('filter'),
      after: fields.text('after'),
      offset: fields.whole('offset', 0, Number.MAX_SAFE_INTEGER),
      first: fields.whole('first', 0, MAX_PAGE) ?? DEFAULT_FIRST,
      withCount: fields.flag('withCount'),
      withPayloads: fields.flag('withPayloads'),
    })),
  levels: (command) =>
    checked(command, (fields) => ({
      kind: fields.kind(),
      of: fields.text('of') ?? null,
      after: fields.text('after'),
      first: fields.whole('first', 0, MAX_PAGE) ?? DEFAULT_FIRST,
      withPayloads: fields.flag('withPayloads'),
    })),
  topic: (command) => checked(command, (fields) => ({ kind: fields.kind(), topic: fields.required('topic') })),
  changes: (command) =>
    checked(command, (fields) => ({
      kind: fields.kind(),
      prefix: fields.text('prefix'),
      since: fields.text('since') ?? null,
      first: fields.whole('first', 0, MAX_CHANGES) ?? DEFAULT_FIRST,
      withPayloads: fields.flag('withPayloads'),
    })),
};

function checked<Question>(command: ControlCommand, read: (fields: QuestionFields) => Question): Question {
  const fields = new QuestionFields(command);
  const question = read(fields);
  refuse(fields.issues);
  return question;
}

/** Throws a refusal. Its text, which is all that a client receives over MQTT, contains the first issue. */
export function refuse(issues: readonly InputIssue[]): void {
  const [first] = issues;
  if (first === undefined) return;
  throw new ControlRefusal(`Invalid ${first.path}: ${first.reason}`, { code: 'INVALID', info: issuesInfo(issues) });
}

/** The fields of one command, and the issues of those that were read. */
class QuestionFields {
  readonly issues: InputIssue[] = [];
  readonly #command: ControlCommand;

  constructor(command: ControlCommand) {
    this.#command = command;
  }

  kind(): TopicKind {
    const value = this.#given('kind') ?? 'PUBLISHED';
    if (value === 'PUBLISHED' || value === 'SUBSCRIBED') return value;
    this.#wrong('kind', 'must be PUBLISHED or SUBSCRIBED');
    return 'PUBLISHED';
  }

  text(name: string): string | undefined {
    const value = this.#given(name);
    if (value === undefined) return undefined;
    if (typeof value === 'string' && value.length <= MAX_TEXT) return value;
    return this.#wrong(name, `must be a text of at most ${MAX_TEXT} characters`);
  }

  required(name: string): string {
    if (this.#given(name) === undefined) this.#wrong(name, 'must be given');
    return this.text(name) ?? '';
  }

  filter(name: string): string | undefined {
    const value = this.text(name);
    const problem = value === undefined ? null : filterProblem(value);
    return problem === null ? value : this.#wrong(name, problem);
  }

  whole(name: string, least: number, most: number): number | undefined {
    const value = this.#given(name);
    if (value === undefined) return undefined;
    if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) return value as number;
    return this.#wrong(name, `must be a whole number from ${least} to ${most}`);
  }

  flag(name: string): boolean | undefined {
    const value = this.#given(name);
    if (value === undefined || typeof value === 'boolean') return value;
    return this.#wrong(name, 'must be true or false');
  }

  #given(name: string): unknown {
    return fieldOf(this.#command, name) ?? undefined;
  }

  #wrong(name: string, reason: string): undefined {
    this.issues.push({ path: `/${name}`, reason });
  }
}
