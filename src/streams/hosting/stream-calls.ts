import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { ControlCommand, ControlEvent } from '../../control/envelope.ts';
import { isFields } from '../../control/fields.ts';
import { ControlRefusal } from '../../control/plugin.ts';
import { ERROR_STATUS, type ErrorCode, ServiceError } from '../../errors.ts';
import type { Stop } from '../../mqtt/broker-session.ts';
import { ANYTHING, type Changes } from '../../storage/changes.ts';
import type { Database } from '../../storage/database.ts';
import { STREAM_API, STREAM_CHANGED } from '../control/stream-control.ts';

export interface StreamCallsOptions {
  readonly db: Database;
  readonly changes: Changes;
  readonly log: Logger;
  /** Longest wait for an answer. */
  readonly timeoutMs: number;
}

type Execute = (command: ControlCommand) => unknown;

interface Asked {
  readonly settle: (answer: unknown) => void;
}

/** Kinds of announcements; the ids are `<brokerId>/<id of the call>`, the id of the call, and `<brokerId>/<name of the stream>`. */
const CALLED = 'streamCall';
const ANSWERED = 'streamAnswer';
const CHANGED = 'streamReport';

const MAX_ASKED = 1_000;
const MAX_COMMAND_CHARACTERS = 1_000_000;
const MAX_ANSWER_CHARACTERS = 10_000_000;
/** Calls that nobody took away are. */
const MAX_AGE_MS = 600_000;
/** How often others are told that a stream's report changed. */
const TELL_MS = 500;
/** More changed streams at a time are told as one. */
const MAX_TOLD = 100;

/**
 * Commands on streams between processes on one database: a row for each, announced to the process that runs the broker's streams,
 * which writes the answer into it and announces that. Whoever asked takes the row away.
 *
 * Events travel as hints (whose report changed, at most every TELL_MS), and who follows asks for the report.
 * Bounds: MAX_ASKED commands without answer, then BROKER_TIMEOUT; commands and answers by their size, then TOO_LARGE.
 */
export class StreamCalls {
  readonly #options: StreamCallsOptions;
  readonly #served = new Map<string, Execute>();
  readonly #asked = new Map<string, Asked>();
  /** Calls that are being executed here. */
  readonly #underWay = new Set<string>();
  readonly #changed = new Map<string, Set<string>>();
  readonly #followers = new Map<string, (event: ControlEvent) => void>();
  /** Brokers whose hints are being followed, and what came meanwhile. */
  readonly #following = new Map<string, Set<string>>();
  readonly #stops: readonly Stop[];
  #timer: NodeJS.Timeout | null = null;
  #clearedAt = 0;

  constructor(options: StreamCallsOptions) {
    const { changes } = options;
    this.#options = options;
    this.#stops = [
      changes.on(CALLED, (id) => this.#guard(this.#called(id))),
      changes.on(ANSWERED, (id) => this.#guard(this.#answered(id))),
      changes.on(CHANGED, (id) => this.#hinted(id)),
    ];
  }

  /** Answers commands on the streams of a broker, which run in this process. */
  serve(brokerId: string, execute: Execute): Stop {
    this.#served.set(brokerId, execute);
    // What was asked while nobody was there.
    this.#guard(this.#called(ANYTHING));
    return () => {
      if (this.#served.get(brokerId) === execute) this.#served.delete(brokerId);
    };
  }

  /** Errors: what the other process refused or failed with, BROKER_TIMEOUT, TOO_LARGE. */
  async ask(brokerId: string, command: ControlCommand): Promise<unknown> {
    const { db, changes, timeoutMs } = this.#options;
    const text = JSON.stringify(command);
    if (text.length > MAX_COMMAND_CHARACTERS) throw new ServiceError('TOO_LARGE', 'The command is too large');
    if (this.#asked.size >= MAX_ASKED) {
      throw new ServiceError('BROKER_TIMEOUT', 'Too many commands wait for the process that runs the streams');
    }
    await this.#clearOld();
    const id = randomUUID();
    let timer: NodeJS.Timeout | undefined;
    const answer = new Promise<unknown>((settle, reject) => {
      timer = setTimeout(() => {
        reject(
          new ServiceError('BROKER_TIMEOUT', `The process that runs the streams did not answer in ${timeoutMs} ms`),
        );
      }, timeoutMs);
      this.#asked.set(id, { settle });
    });
    try {
      await db.hostedCall.create({ data: { id, brokerId, api: STREAM_API, command: text } });
      await changes.announce(CALLED, `${brokerId}/${id}`);
      return read(await answer);
    } finally {
      clearTimeout(timer);
      // Had the writing failed, nobody would hear of a refusal.
      answer.catch(() => undefined);
      this.#asked.delete(id);
      this.#guard(db.hostedCall.deleteMany({ where: { id } }));
    }
  }

  /** Lets the other processes know what a stream of this one told. */
  tell(brokerId: string, { streamname }: ControlEvent): void {
    if (typeof streamname !== 'string') return;
    const changed = this.#changed.get(brokerId) ?? new Set();
    this.#changed.set(brokerId, changed.add(streamname));
    this.#timer ??= setTimeout(() => this.#tellChanged(), TELL_MS);
  }

  /** Events of a broker's streams that run in another process. One follower for each broker. */
  onEvent(brokerId: string, listener: (event: ControlEvent) => void): Stop {
    this.#followers.set(brokerId, listener);
    return () => {
      if (this.#followers.get(brokerId) === listener) this.#followers.delete(brokerId);
    };
  }

  close(): void {
    for (const stop of this.#stops) stop();
    if (this.#timer) clearTimeout(this.#timer);
    this.#served.clear();
    this.#followers.clear();
  }

  async #called(announced: string): Promise<void> {
    const [brokerId = '', id = ''] = announced.split('/');
    const { db } = this.#options;
    if (announced !== ANYTHING && !this.#served.has(brokerId)) return;
    const which = announced === ANYTHING ? { brokerId: { in: [...this.#served.keys()] } } : { id };
    const calls = await db.hostedCall.findMany({ where: { ...which, answer: null }, take: MAX_ASKED });
    await Promise.all(calls.map((call) => this.#execute(call)));
  }

  async #execute({ id, brokerId, command }: { id: string; brokerId: string; command: string }): Promise<void> {
    const { db, changes } = this.#options;
    const execute = this.#served.get(brokerId);
    if (execute === undefined || this.#underWay.has(id)) return;
    this.#underWay.add(id);
    try {
      const answer = await this.#run(execute, JSON.parse(command) as ControlCommand);
      const { count } = await db.hostedCall.updateMany({ where: { id, answer: null }, data: { answer } });
      // Nobody waits for it any more.
      if (count === 0) return;
      await changes.announce(ANSWERED, id);
    } finally {
      this.#underWay.delete(id);
    }
  }

  async #run(execute: Execute, command: ControlCommand): Promise<string> {
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
      this.#options.log.error({ err: error, command: command.command }, 'a command on streams failed');
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
    for (const { id, answer } of calls) this.#asked.get(id)?.settle(JSON.parse(answer ?? 'null'));
  }

  #tellChanged(): void {
    this.#timer = null;
    const { changes } = this.#options;
    for (const [brokerId, names] of this.#changed) {
      if (names.size > MAX_TOLD) void changes.announce(CHANGED, `${brokerId}/`);
      else for (const name of names) void changes.announce(CHANGED, `${brokerId}/${name}`);
    }
    this.#changed.clear();
  }

  /** One question after the other for each broker; what is told meanwhile is asked once. An empty name is all of its streams. */
  #hinted(announced: string): void {
    if (announced === ANYTHING) {
      for (const brokerId of this.#followers.keys()) this.#hinted(`${brokerId}/`);
      return;
    }
    const [brokerId = ''] = announced.split('/', 1);
    if (!this.#followers.has(brokerId) || this.#served.has(brokerId)) return;
    const name = announced.slice(brokerId.length + 1);
    const following = this.#following.get(brokerId);
    if (following !== undefined) {
      if (following.size < MAX_TOLD) following.add(name);
      else following.add('');
      return;
    }
    const names = new Set([name]);
    this.#following.set(brokerId, names);
    this.#guard(this.#follow(brokerId, names).finally(() => this.#following.delete(brokerId)));
  }

  async #follow(brokerId: string, names: Set<string>): Promise<void> {
    for (const name of names) {
      names.delete(name);
      const data = await this.ask(
        brokerId,
        name === '' ? { command: 'listStreams', verbose: true } : { command: 'getStream', streamname: name },
      ).catch(refusedOnly);
      if (!isFields(data)) continue;
      const streams = Array.isArray(data.streams) ? data.streams : [data.stream];
      for (const { streamname, report } of streams.filter(isFields)) {
        this.#followers.get(brokerId)?.({ type: 'event', event: STREAM_CHANGED, streamname, report });
      }
    }
  }

  async #clearOld(): Promise<void> {
    const now = Date.now();
    if (now - this.#clearedAt < MAX_AGE_MS) return;
    this.#clearedAt = now;
    await this.#options.db.hostedCall.deleteMany({ where: { createdAt: { lt: new Date(now - MAX_AGE_MS) } } });
  }

  #guard(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      this.#options.log.warn({ err: error }, 'a command on streams got lost between processes');
    });
  }
}

/** It is gone, or whoever runs it is: its report comes again with the next change. */
function refusedOnly(error: unknown): null {
  if (error instanceof ControlRefusal || error instanceof ServiceError) return null;
  throw error;
}

/** An answer as the other process wrote it. */
function read(answer: unknown): unknown {
  const { data, refusal, detail } = isFields(answer) ? answer : {};
  if (typeof refusal !== 'string') return data;
  const { code, info } = isFields(detail) ? detail : {};
  if (typeof code !== 'string' || !Object.hasOwn(ERROR_STATUS, code)) throw new ControlRefusal(refusal);
  throw new ControlRefusal(refusal, { code: code as ErrorCode, ...(isFields(info) ? { info } : {}) });
}
