import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { HostedCall } from '../../generated/sqlite/client.ts';
import { ERROR_STATUS, type ErrorCode, ServiceError } from '../../platform/errors.ts';
import { ANYTHING, type Changes } from '../../platform/storage/changes/changes.ts';
import type { Database } from '../../platform/storage/database.ts';
import type { Sealer } from '../../platform/storage/encryption/sealed.ts';
import type { ControlApi, ControlCommand } from '../control/envelope.ts';
import { fieldsOf, isFields } from '../control/fields.ts';
import { ControlRefusal } from '../control/plugin.ts';
import type { Stop } from '../mqtt/broker-session.ts';
import { HostedEvents } from './hosted-events.ts';

interface HostedCallsOptions {
  readonly db: Database;
  readonly changes: Changes;
  /** All processes must have the same key. */
  readonly sealer: Sealer;
  readonly log: Logger;
  /** The longest wait for a broker. A call waits twice as long: its plugin may have to be started first. */
  readonly timeoutMs: number;
}

type Execute = (command: ControlCommand) => unknown;

/** `at`: epoch milliseconds. */
interface SentCommand {
  readonly command: ControlCommand;
  readonly at: number;
}

/** Who writes to the database cannot make another broker execute a sealed command. */
const contextOf = ({ id, brokerId, api }: Pick<HostedCall, 'id' | 'brokerId' | 'api'>): string =>
  `${id}/command/${brokerId}/${api}`;

/** The kinds of announcements; their ids are `<brokerId> <api> <id of the call>` and the id of the call. */
const CALLED = 'hostedCall';
const ANSWERED = 'hostedAnswer';

const MAX_PENDING = 1_000;
const MAX_COMMAND_CHARACTERS = 1_000_000;
const MAX_RESPONSE_CHARACTERS = 10_000_000;
const MAX_AGE_MS = 600_000;
/** Memory of executed calls, in characters of unstored responses. Each call counts as CALL_CHARACTERS more. */
const MAX_EXECUTED_CHARACTERS = 40_000_000;
const CALL_CHARACTERS = 2_000;
/** In place of a response that the database has. */
const STORED = '';

/**
 * Commands for hosted plugins in another process on the same database. The caller writes a row and announces it; the
 * other process writes the response into the row and announces that. Both are sealed, because configurations contain
 * credentials. A response that could not be stored is stored when the call is announced again, which happens after a
 * reconnect to the database.
 *
 * Bounds: MAX_PENDING calls, beyond them BROKER_TIMEOUT; the sizes of commands and responses, beyond them TOO_LARGE.
 */
export class HostedCalls {
  readonly events: HostedEvents;
  readonly #options: HostedCallsOptions;
  readonly #served = new Map<string, Execute>();
  /** By id; resolved with the sealed response, or `null` after the timeout. */
  readonly #pending = new Map<string, (response: string | null) => void>();
  readonly #executing = new Set<string>();
  /**
   * The sealed responses of executed calls, or STORED. An announcement may repeat a call whose response could not be
   * stored, or is being stored: it must not be executed again.
   */
  readonly #executed = new LRUCache<string, string>({
    maxSize: MAX_EXECUTED_CHARACTERS,
    sizeCalculation: (response) => CALL_CHARACTERS + response.length,
    ttl: MAX_AGE_MS,
  });
  readonly #onUnserved = new Set<(brokerId: string, api: string) => void>();
  readonly #stops: readonly Stop[];
  #oldDeletedAt = 0;

  constructor(options: HostedCallsOptions) {
    const { changes } = options;
    this.#options = options;
    this.#stops = [
      changes.on(CALLED, (id) => this.#guard(this.#called(id))),
      changes.on(ANSWERED, (id) => this.#guard(this.#answered(id))),
    ];
    this.events = new HostedEvents({
      changes,
      call: (brokerId, api, command) => this.call(brokerId, api, command),
      guard: (work) => this.#guard(work),
    });
  }

  /** Executes the commands for a plugin that runs in this process, also those sent before. */
  serve(brokerId: string, api: ControlApi, execute: Execute): Stop {
    const plugin = `${brokerId} ${api}`;
    this.#served.set(plugin, execute);
    this.#guard(this.#executeAll({ brokerId, api }));
    return () => {
      if (this.#served.get(plugin) === execute) this.#served.delete(plugin);
    };
  }

  /** Calls `listener` for a command of another process that no plugin of this process serves. It must not throw. */
  onUnserved(listener: (brokerId: string, api: string) => void): Stop {
    this.#onUnserved.add(listener);
    return () => this.#onUnserved.delete(listener);
  }

  /** Errors: those of the plugin; BROKER_TIMEOUT; TOO_LARGE; INTERNAL_ERROR if the SECRET_KEYs differ. */
  async call(brokerId: string, api: ControlApi, command: ControlCommand): Promise<unknown> {
    const { db, changes, sealer } = this.#options;
    const timeoutMs = 2 * this.#options.timeoutMs;
    const text = JSON.stringify({ command, at: Date.now() } satisfies SentCommand);
    if (text.length > MAX_COMMAND_CHARACTERS) throw new ServiceError('TOO_LARGE', 'The command is too large');
    if (this.#pending.size >= MAX_PENDING) {
      throw new ServiceError('BROKER_TIMEOUT', `Too many commands wait for the process that serves ${api}`);
    }
    this.#guard(this.#deleteOld());
    const id = randomUUID();
    let timer: NodeJS.Timeout | undefined;
    const response = new Promise<string | null>((resolve) => {
      timer = setTimeout(() => resolve(null), timeoutMs);
      this.#pending.set(id, resolve);
    });
    try {
      const sealedCommand = sealer.seal(text, contextOf({ id, brokerId, api }));
      await db.hostedCall.create({ data: { id, brokerId, api, command: sealedCommand } });
      await changes.announce(CALLED, `${brokerId} ${api} ${id}`);
      const sealed = await response;
      if (sealed !== null) return parseResponse(JSON.parse(sealer.open(sealed, `${id}/answer`)));
      throw new ServiceError('BROKER_TIMEOUT', `The process that serves ${api} did not respond in ${timeoutMs} ms`);
    } finally {
      clearTimeout(timer);
      this.#pending.delete(id);
      this.#guard(db.hostedCall.deleteMany({ where: { id } }));
    }
  }

  close(): void {
    for (const stop of this.#stops) stop();
    this.events.close();
    this.#served.clear();
  }

  async #called(announced: string): Promise<void> {
    if (announced === ANYTHING) {
      const brokers = new Set([...this.#served.keys()].map((plugin) => plugin.split(' ', 1)[0] ?? ''));
      if (brokers.size > 0) await this.#executeAll({ brokerId: { in: [...brokers] } });
      return;
    }
    const [brokerId = '', api = '', id = ''] = announced.split(' ');
    if (this.#served.has(`${brokerId} ${api}`)) await this.#executeAll({ id });
    else for (const listener of this.#onUnserved) listener(brokerId, api);
  }

  async #executeAll(where: { id?: string; brokerId?: string | { in: string[] }; api?: string }): Promise<void> {
    const calls = await this.#options.db.hostedCall.findMany({ where: { ...where, answer: null }, take: MAX_PENDING });
    await Promise.all(calls.map((call) => this.#execute(call)));
  }

  async #execute({ id, brokerId, api, command }: HostedCall): Promise<void> {
    const { db, changes, sealer } = this.#options;
    const execute = this.#served.get(`${brokerId} ${api}`);
    if (execute === undefined || this.#executing.has(id) || this.#executed.get(id) === STORED) return;
    this.#executing.add(id);
    try {
      let response = this.#executed.get(id);
      if (response === undefined) {
        const sent = JSON.parse(sealer.open(command, contextOf({ id, brokerId, api }))) as SentCommand;
        // A copy of a row must not be executed again when no process remembers its execution.
        if (Math.abs(Date.now() - sent.at) > MAX_AGE_MS) return;
        response = sealer.seal(await this.#responseOf(api, execute, sent.command), `${id}/answer`);
        this.#executed.set(id, response);
      }
      const { count } = await db.hostedCall.updateMany({ where: { id, answer: null }, data: { answer: response } });
      this.#executed.set(id, STORED, { noUpdateTTL: true });
      // 0: the caller has deleted the row after its timeout.
      if (count > 0) await changes.announce(ANSWERED, id);
    } finally {
      this.#executing.delete(id);
    }
  }

  async #responseOf(api: string, execute: Execute, command: ControlCommand): Promise<string> {
    try {
      const text = JSON.stringify({ data: await execute(command) });
      if (text.length <= MAX_RESPONSE_CHARACTERS) return text;
      throw new ControlRefusal('The response is too large', { code: 'TOO_LARGE' });
    } catch (error) {
      if (error instanceof ControlRefusal) return JSON.stringify({ refusal: error.message, detail: error.detail });
      if (error instanceof ServiceError) {
        return JSON.stringify({ refusal: error.message, detail: { code: error.code, info: error.info } });
      }
      this.#options.log.error({ err: error, api, command: command.command }, 'a command of another process failed');
      const detail: { code: ErrorCode } = { code: 'INTERNAL_ERROR' };
      return JSON.stringify({ refusal: 'Internal error', detail });
    }
  }

  async #answered(announced: string): Promise<void> {
    const ids = announced === ANYTHING ? [...this.#pending.keys()] : [announced];
    const pending = ids.filter((id) => this.#pending.has(id));
    if (pending.length === 0) return;
    const calls = await this.#options.db.hostedCall.findMany({ where: { id: { in: pending }, answer: { not: null } } });
    for (const { id, answer } of calls) this.#pending.get(id)?.(answer);
  }

  async #deleteOld(): Promise<void> {
    const now = Date.now();
    if (now - this.#oldDeletedAt < MAX_AGE_MS) return;
    this.#oldDeletedAt = now;
    await this.#options.db.hostedCall.deleteMany({ where: { createdAt: { lt: new Date(now - MAX_AGE_MS) } } });
  }

  #guard(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      this.#options.log.warn({ err: error }, 'a command for a hosted plugin was lost between processes');
    });
  }
}

function parseResponse(response: unknown): unknown {
  const { data, refusal, detail } = fieldsOf(response);
  if (typeof refusal !== 'string') return data;
  const { code, info } = fieldsOf(detail);
  if (typeof code !== 'string' || !Object.hasOwn(ERROR_STATUS, code)) throw new ControlRefusal(refusal);
  throw new ControlRefusal(refusal, { code: code as ErrorCode, ...(isFields(info) ? { info } : {}) });
}
