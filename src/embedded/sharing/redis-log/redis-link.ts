import { createHash } from 'node:crypto';
import { createClient, RESP_TYPES } from '@redis/client';
import { type LogKeys, logKeys } from './log-keys.ts';
import { LOG_SCRIPTS, type LogScript } from './log-scripts.ts';

/** A reading that blocks does so for this long at most (ms). */
export const MOST_BLOCK_MS = 1_000;

const HEAR_AGAIN_MS = 250;

/** What a command may take. */
export type RedisArgument = string | Buffer;

/** As Redis tells it, with bytes for texts. */
export type RawReply = null | number | Buffer | readonly RawReply[];

/**
 * The three connections of a node to one process of Redis: for commands, for reading (which blocks), for what is told. When one of the
 * first two is lost, all are, and everything that waits for an answer is rejected; a new link is made instead. The third one comes
 * back by itself: Redis ends it when a node is too slow for what it is told, which is no reason to stop sharing.
 */
export class RedisLink {
  readonly keys: LogKeys;
  /** Changes with each start of Redis. `?` where Redis does not tell. */
  readonly server: string;
  /** Resolves with the reason once the link is lost or closed. */
  readonly lost: Promise<Error>;
  readonly #clients: Clients;
  readonly #commands: Answers;
  readonly #readings: Answers;
  #isUp = true;

  private constructor(keys: LogKeys, server: string, clients: Clients, answerMs: number) {
    this.keys = keys;
    this.server = server;
    this.#clients = clients;
    this.#commands = new Answers(answerMs);
    this.#readings = new Answers(answerMs + MOST_BLOCK_MS);
    const watch = setInterval(() => {
      if (this.#commands.areLate || this.#readings.areLate) this.fail(new Error(`no answer within ${answerMs} ms`));
    }, answerMs / 4);
    this.lost = clients.lost.then((error) => {
      this.#isUp = false;
      clearInterval(watch);
      return error;
    });
  }

  /**
   * A link without an answer for `answerMs` is lost. Rejects with what Redis or the network says, which has neither the URL nor a
   * password.
   */
  static async open(url: string, clusterId: string, answerMs: number): Promise<RedisLink> {
    const clients = new Clients(url);
    const late = setTimeout(() => clients.fail(new Error(`no answer within ${answerMs} ms`)), answerMs);
    try {
      await clients.unlessLost(clients.connect());
      const [server] = await Promise.all([serverOf(clients.commands), loadScripts(clients.commands)]);
      return new RedisLink(logKeys(clusterId), server, clients, answerMs);
    } catch (error) {
      clients.fail(error);
      // The first reason: what is rejected afterwards says that it was closed.
      throw await clients.lost;
    } finally {
      clearTimeout(late);
    }
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** Pipelined: commands of one turn go out together, and are done in this order. */
  command(...command: RedisArgument[]): Promise<RawReply> {
    return this.#commands.watched(this.#clients.commands.sendCommand<RawReply>(command));
  }

  run(script: LogScript, ...values: RedisArgument[]): Promise<RawReply> {
    const { state, log, votes } = this.keys;
    return this.command('EVALSHA', SHA[script], '3', state, log, votes(this.server), ...values);
  }

  /** On the connection of its own: may block for MOST_BLOCK_MS. One at a time. */
  read(...command: RedisArgument[]): Promise<RawReply> {
    return this.#readings.watched(this.#clients.reading.sendCommand<RawReply>(command));
  }

  async hear(listener: (message: Buffer) => void): Promise<void> {
    await this.#clients.unlessLost(
      this.#commands.watched(this.#clients.hearing.subscribe(this.keys.told, listener, true)),
    );
  }

  fail(error: Error): void {
    this.#isUp = false;
    this.#clients.fail(error);
  }
}

const SHA = Object.fromEntries(
  Object.entries(LOG_SCRIPTS).map(([name, text]) => [name, createHash('sha1').update(text).digest('hex')]),
) as Record<LogScript, string>;

/** Whether a connection still answers: some connections end without anybody's word. */
class Answers {
  readonly #patience: number;
  #awaited = 0;
  #since = 0;

  constructor(patience: number) {
    this.#patience = patience;
  }

  get areLate(): boolean {
    return this.#awaited > 0 && performance.now() - this.#since > this.#patience;
  }

  watched<Reply>(reply: Promise<Reply>): Promise<Reply> {
    if (this.#awaited === 0) this.#since = performance.now();
    this.#awaited += 1;
    reply.then(this.#answered, this.#answered);
    return reply;
  }

  readonly #answered = () => {
    this.#awaited -= 1;
    this.#since = performance.now();
  };
}

type Connection = ReturnType<typeof connection>;

class Clients {
  readonly lost: Promise<Error>;
  readonly commands: Connection;
  readonly reading: Connection;
  readonly hearing: Connection;
  #lose: (error: Error) => void = () => undefined;

  constructor(url: string) {
    this.lost = new Promise((resolve) => {
      this.#lose = resolve;
    });
    const fail = (error: unknown) => this.fail(error);
    this.commands = connection(url, false, fail);
    this.reading = connection(url, false, fail);
    this.hearing = connection(url, HEAR_AGAIN_MS, () => undefined);
  }

  async connect(): Promise<void> {
    await Promise.all(this.#all().map((client) => client.connect()));
  }

  /** A client that is ended while it connects leaves its promises as they are. */
  unlessLost<Result>(result: Promise<Result>): Promise<Result> {
    const lost = this.lost.then((error) => {
      throw error;
    });
    return Promise.race([result, lost]);
  }

  fail(error: unknown): void {
    this.#lose(error instanceof Error ? error : new Error(String(error)));
    for (const client of this.#all()) {
      if (client.isOpen) client.destroy();
    }
  }

  #all(): Connection[] {
    return [this.commands, this.reading, this.hearing];
  }
}

function connection(url: string, reconnectStrategy: false | number, onFailure: (error: unknown) => void) {
  const client = createClient({
    url,
    RESP: 2,
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: 'disabled',
    // The link has its own; one timer for each command is a good part of what a command costs.
    commandOptions: {
      timeout: 0,
      typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer, [RESP_TYPES.SIMPLE_STRING]: Buffer },
    },
    socket: { reconnectStrategy },
  });
  client.on('error', onFailure);
  client.on('end', () => onFailure(new Error('the connection was closed')));
  return client;
}

async function serverOf(commands: Connection): Promise<string> {
  try {
    const about = String(await commands.sendCommand<RawReply>(['INFO', 'server']));
    return /^run_id:(\w+)/m.exec(about)?.[1] ?? '?';
  } catch (error) {
    // Users may be refused it; then only what is missing tells that Redis lost something.
    if (error instanceof Error && error.message.startsWith('NOPERM')) return '?';
    throw error;
  }
}

async function loadScripts(commands: Connection): Promise<void> {
  await Promise.all(Object.values(LOG_SCRIPTS).map((text) => commands.sendCommand(['SCRIPT', 'LOAD', text])));
}
