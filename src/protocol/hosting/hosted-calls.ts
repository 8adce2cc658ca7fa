import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { HostedCall } from '../../generated/sqlite/client.ts';
import { ERROR_STATUS, type ErrorCode, ServiceError } from '../../platform/errors.ts';
import { ANYTHING, type Changes } from '../../platform/storage/changes.ts';
import type { Database } from '../../platform/storage/database.ts';
import type { Sealer } from '../../platform/storage/sealed.ts';
import type { ControlApi, ControlCommand } from '../control/envelope.ts';
import { isFields } from '../control/fields.ts';
import { ControlRefusal } from '../control/plugin.ts';
import type { Stop } from '../mqtt/broker-session.ts';
import { HostedHints } from './hosted-hints.ts';

export interface HostedCallsOptions {
  readonly db: Database;
  readonly changes: Changes;
  /** With the same key in each process. */
  readonly sealer: Sealer;
  readonly log: Logger;
  /** Longest wait for an answer. */
  readonly timeoutMs: number;
}

type Execute = (command: ControlCommand) => unknown;

/** The sealed answer; null: it did not come in time. */
type Settle = (answer: string | null) => void;

/** Kinds of announcements; the ids are `<brokerId> <api> <id of the call>`, and the id of the call. */
const CALLED = 'hostedCall';
const ANSWERED = 'hostedAnswer';

const MAX_ASKED = 1_000;
const MAX_COMMAND_CHARACTERS = 1_000_000;
const MAX_ANSWER_CHARACTERS = 10_000_000;
/** Calls that nobody took away are. */
const MAX_AGE_MS = 600_000;

/**
 * Commands for what is hosted beside brokers, between processes on one database: a row for each, announced to the process that runs it,
 * which writes the answer into it and announces that. Whoever asked takes the row away. Both are sealed, because there are credentials in
 * configurations.
 *
 * Bounds: MAX_ASKED commands without answer, then BROKER_TIMEOUT; commands and answers by their size, then TOO_LARGE.
 */
export class HostedCalls {
  /** Events, likewise. */
  readonly hints: HostedHints;
  readonly #options: HostedCallsOptions;
  /** By `<brokerId> <api>`. */
  readonly #served = new Map<string, Execute>();
  readonly #asked = new Map<string, Settle>();
  /** Calls that are being executed here. */
  readonly #underWay = new Set<string>();
  readonly #stops: readonly Stop[];
  #clearedAt = 0;

  constructor(options: HostedCallsOptions) {
    const { changes } = options;
    this.#options = options;
    this.#stops = [
      changes.on(CALLED, (id) => this.#guard(this.#called(id))),
      changes.on(ANSWERED, (id) => this.#guard(this.#answered(id))),
    ];
    this.hints = new HostedHints({
      changes,
      ask: (brokerId, api, command) => this.ask(brokerId, api, command),
      guard: (work) => this.#guard(work),
    });
  }

  /** Answers commands on what runs in this process. */
  serve(brokerId: string, api: ControlApi, execute: Execute): Stop {
    const key = keyOf(brokerId, api);
    this.#served.set(key, execute);
    // What was asked while nobody was there.
    this.#guard(this.#executeAll({ brokerId, api }));
    return () => {
      if (this.#served.get(key) === execute) this.#served.delete(key);
    };
  }

  /** Errors: what the other process refused or failed with, BROKER_TIMEOUT, TOO_LARGE; INTERNAL_ERROR where it has another key. */
  async ask(brokerId: string, api: ControlApi, command: ControlCommand): Promise<unknown> {
    const { db, changes, sealer, timeoutMs } = this.#options;
    const text = JSON.stringify(command);
    if (text.length > MAX_COMMAND_CHARACTERS) throw new ServiceError('TOO_LARGE', 'The command is too large');
    if (this.#asked.size >= MAX_ASKED) {
      throw new ServiceError('BROKER_TIMEOUT', `Too many commands wait for the process that serves ${api}`);
    }
    this.#guard(this.#clearOld());
    const id = randomUUID();
    let timer: NodeJS.Timeout | undefined;
    const answer = new Promise<string | null>((settle) => {
      timer = setTimeout(() => settle(null), timeoutMs);
      this.#asked.set(id, settle);
    });
    try {
      await db.hostedCall.create({ data: { id, brokerId, api, command: sealer.seal(text, `${id}/command`) } });
      await changes.announce(CALLED, `${keyOf(brokerId, api)} ${id}`);
      const sealed = await answer;
      if (sealed !== null) return read(JSON.parse(sealer.open(sealed, `${id}/answer`)));
      throw new ServiceError('BROKER_TIMEOUT', `The process that serves ${api} did not answer in ${timeoutMs} ms`);
    } finally {
      clearTimeout(timer);
      this.#asked.delete(id);
      this.#guard(db.hostedCall.deleteMany({ where: { id } }));
    }
  }

  close(): void {
    for (const stop of this.#stops) stop();
    this.hints.close();
    this.#served.clear();
  }

  async #called(announced: string): Promise<void> {
    if (announced === ANYTHING) {
      const brokers = new Set([...this.#served.keys()].map((key) => key.split(' ', 1)[0] ?? ''));
      if (brokers.size > 0) await this.#executeAll({ brokerId: { in: [...brokers] } });
      return;
    }
    const [brokerId = '', api = '', id = ''] = announced.split(' ');
    if (this.#served.has(keyOf(brokerId, api))) await this.#executeAll({ id });
  }

  async #executeAll(where: { id?: string; brokerId?: string | { in: string[] }; api?: string }): Promise<void> {
    const calls = await this.#options.db.hostedCall.findMany({ where: { ...where, answer: null }, take: MAX_ASKED });
    await Promise.all(calls.map((call) => this.#execute(call)));
  }

  async #execute({ id, brokerId, api, command }: HostedCall): Promise<void> {
    const { db, changes, sealer } = this.#options;
    const execute = this.#served.get(keyOf(brokerId, api));
    if (execute === undefined || this.#underWay.has(id)) return;
    this.#underWay.add(id);
    try {
      const text = await this.#run(api, execute, JSON.parse(sealer.open(command, `${id}/command`)) as ControlCommand);
      const answer = sealer.seal(text, `${id}/answer`);
      const { count } = await db.hostedCall.updateMany({ where: { id, answer: null }, data: { answer } });
      // Nobody waits for it any more.
      if (count === 0) return;
      await changes.announce(ANSWERED, id);
    } finally {
      this.#underWay.delete(id);
    }
  }

  async #run(api: string, execute: Execute, command: ControlCommand): Promise<string> {
    try {
      const data = await execute(command);
      const text = JSON.stringify({ data });
      if (text.length <= MAX_ANSWER_CHARACTERS) return text;
      throw new ControlRefusal('The answer is too large', { code: 'TOO_LARGE' });
    } catch (error) {
      if (error instanceof ControlRefusal) return JSON.stringify({ refusal: error.message, detail: error.detail });
      if (error instanceof ServiceError) {
        return JSON.stringify({ refusal: error.message, detail: { code: error.code, info: error.info } });
      }
      this.#options.log.error({ err: error, api, command: command.command }, 'a command of another process failed');
      return JSON.stringify({
        refusal: 'Internal error',
        detail: { code: 'INTERNAL_ERROR' satisfies ErrorCode },
      });
    }
  }

  async #answered(announced: string): Promise<void> {
    const ids = announced === ANYTHING ? [...this.#asked.keys()] : [announced];
    const wanted = ids.filter((id) => this.#asked.has(id));
    if (wanted.length === 0) return;
    const calls = await this.#options.db.hostedCall.findMany({ where: { id: { in: wanted }, answer: { not: null } } });
    for (const { id, answer } of calls) this.#asked.get(id)?.(answer);
  }

  async #clearOld(): Promise<void> {
    const now = Date.now();
    if (now - this.#clearedAt < MAX_AGE_MS) return;
    this.#clearedAt = now;
    await this.#options.db.hostedCall.deleteMany({ where: { createdAt: { lt: new Date(now - MAX_AGE_MS) } } });
  }

  #guard(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      this.#options.log.warn({ err: error }, 'a command for what is hosted got lost between processes');
    });
  }
}

const keyOf = (brokerId: string, api: string) => `${brokerId} ${api}`;

/** An answer as the other process wrote it. */
function read(answer: unknown): unknown {
  const { data, refusal, detail } = isFields(answer) ? answer : {};
  if (typeof refusal !== 'string') return data;
  const { code, info } = isFields(detail) ? detail : {};
  if (typeof code !== 'string' || !Object.hasOwn(ERROR_STATUS, code)) throw new ControlRefusal(refusal);
  throw new ControlRefusal(refusal, { code: code as ErrorCode, ...(isFields(info) ? { info } : {}) });
}
