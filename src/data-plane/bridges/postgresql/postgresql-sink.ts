import { type EventEmitter, once } from 'node:events';
import { type LookupFunction, Socket } from 'node:net';
import pg, { type ClientConfig } from 'pg';
import { keepCertificate } from '../../../platform/network/tls-failure.ts';
import type { AllowedHosts } from '../../../protocol/network/allowed-hosts.ts';
import { type BridgeRules, hostsOf } from '../model/bridge-kind.ts';
import type { BridgeMessage } from '../model/bridge-message.ts';
import { BadBatch, type Delivered, type Sink, SinkFailure, type SinkTest } from '../sink/sink.ts';
import { tlsOptions } from '../sink/tls-material.ts';
import { MessageParts, type SqlValue } from './column-value.ts';
import { boundMessages } from './message-bounds.ts';
import { type MappingConfig, type PostgresqlConnectionConfig, STATEMENT_TIMEOUT_MS } from './postgresql-config.ts';
import { failureOf, openReason, unusable } from './postgresql-errors.ts';
import { dialledHost, isAddress, serverAddress } from './server-address.ts';
import {
  checkDeadLetters,
  insertDeadLetter,
  prepareDeadLetters,
  prepareInsert,
  type TableInsert,
} from './table-insert.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const END_TIMEOUT_MS = 1_000;
const KEEP_ALIVE_MS = 10_000;
/** How much longer than the server's statement timeout the client waits before it closes the connection. */
const ANSWER_GRACE_MS = 5_000;

const ENDED = 'PostgreSQL ended the connection';

/** Not in the types of pg 8. */
type PgConnection = pg.Connection & { attachListeners(stream: EventEmitter): void };

interface BatchRows {
  readonly rows: ReadonlyMap<TableInsert, readonly (readonly SqlValue[])[]>;
  readonly bad: readonly BadRow[];
}

interface BadRow {
  readonly message: BridgeMessage;
  /** `null` if no mapping matches, because the configuration changed after the message was queued. */
  readonly mapping: MappingConfig | null;
  readonly reason: string;
}

export class PostgresqlSink implements Sink {
  readonly #config: PostgresqlConnectionConfig;
  readonly #hosts: AllowedHosts;
  #client: pg.Client | null = null;
  #inserts: readonly TableInsert[] = [];
  #onLost: (failure: SinkFailure) => void = () => undefined;

  constructor(config: PostgresqlConnectionConfig, rules: BridgeRules) {
    this.#config = config;
    this.#hosts = hostsOf(rules, config);
  }

  onLost(listener: (failure: SinkFailure) => void): void {
    this.#onLost = listener;
  }

  open(): Promise<void> {
    return this.#connect(async (client) => {
      const inserts: TableInsert[] = [];
      for (const mapping of this.#config.mappings) {
        inserts.push(await prepareInsert(client, mapping, inserts.length));
        await prepareDeadLetters(client, mapping);
      }
      this.#inserts = inserts;
    });
  }

  /** The server itself refuses changes in the transaction. */
  async test(): Promise<SinkTest> {
    await this.#connect(async (client) => {
      try {
        await client.query('BEGIN READ ONLY');
        for (const [index, mapping] of this.#config.mappings.entries()) {
          await (await prepareInsert(client, mapping, index)).explain(client);
          await checkDeadLetters(client, mapping);
        }
      } catch (error) {
        throw unusable(error);
      }
    });
    return { responseStatus: null };
  }

  async #connect(prepare: (client: pg.Client) => Promise<void>): Promise<void> {
    const client = new pg.Client(clientConfig(this.#config, this.#hosts.lookup));
    this.#client = client;
    let lost: Error | null = null;
    client.on('error', (error) => {
      lost ??= error;
      if (this.#client === client) this.#onLost(passing(error));
    });
    client.on('end', () => {
      if (this.#client === client) this.#onLost(new SinkFailure('UNREACHABLE', ENDED));
    });
    // pg 8.23 settles no `connect` during which `end` is called.
    const ended = once(client, 'end').then(() => {
      throw new SinkFailure('UNREACHABLE', ENDED);
    });
    ended.catch(() => undefined);
    try {
      const connection = client.connection as PgConnection;
      connection.once('sslconnect', () => keepCertificate(connection.stream));
      // pg calls it with the socket, or with the TLS stream once there is one, immediately before it reads.
      const attach = connection.attachListeners.bind(connection);
      connection.attachListeners = () => attach(boundMessages(connection.stream));
      await Promise.race([client.connect(), ended]);
      await prepare(client);
    } catch (error) {
      // A query on a lost connection fails without its reason.
      throw passing(lost ?? error);
    }
  }

  async deliver(batch: readonly BridgeMessage[]): Promise<Delivered> {
    const { rows, bad } = this.#rowsOf(batch);
    const inserts = [...rows];
    const [only] = inserts;
    const isOne = inserts.length === 1 && only !== undefined && bad.length === 0;
    try {
      // A single statement is a transaction of its own, with one response to wait for.
      if (isOne) await only[0].insert(this.#connected, only[1]);
      else if (inserts.length > 0 || bad.length > 0) {
        await this.#inTransaction(async (client) => {
          for (const [insert, its] of inserts) await insert.insert(client, its);
          for (const row of bad) await setRowAside(client, row);
        });
      }
    } catch (error) {
      throw failureOf(error);
    }
    return deliveredBut(bad);
  }

  /** Rows of its other mappings are inserted. */
  async setAside(message: BridgeMessage): Promise<Delivered> {
    const { rows, bad: unmade } = this.#rowsOf([message]);
    const bad = [...unmade];
    try {
      await this.#inTransaction(async (client) => {
        for (const [insert, its] of rows) {
          const problem = await tried(client, () => insert.insert(client, its));
          if (problem) bad.push({ message, mapping: insert.mapping, reason: problem.message });
        }
        for (const row of bad) await setRowAside(client, row);
      });
    } catch (error) {
      throw passing(error);
    }
    return deliveredBut(bad);
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    if (client === null) return;
    // pg has no method that closes the connection to a server that does not respond.
    const { connection } = client;
    const timer = setTimeout(() => connection.stream.destroy(), END_TIMEOUT_MS);
    await client.end().catch(() => undefined);
    clearTimeout(timer);
  }

  get #connected(): pg.Client {
    if (this.#client === null) throw new SinkFailure('UNREACHABLE', 'The connection is closed');
    return this.#client;
  }

  #rowsOf(batch: readonly BridgeMessage[]): BatchRows {
    const rows = new Map<TableInsert, (readonly SqlValue[])[]>();
    const bad: BadRow[] = [];
    for (const message of batch) {
      const parts = new MessageParts(message);
      const inserts = this.#inserts.filter((insert) => insert.matches(message.topic));
      if (inserts.length === 0) bad.push({ message, mapping: null, reason: 'No mapping is for its topic any more' });
      for (const insert of inserts) {
        try {
          const row = insert.rowOf(parts);
          const known = rows.get(insert);
          if (known) known.push(row);
          else rows.set(insert, [row]);
        } catch (error) {
          if (!(error instanceof BadBatch)) throw error;
          bad.push({ message, mapping: insert.mapping, reason: error.message });
        }
      }
    }
    return { rows, bad };
  }

  async #inTransaction(work: (client: pg.Client) => Promise<void>): Promise<void> {
    const client = this.#connected;
    await client.query('BEGIN');
    try {
      await work(client);
    } catch (error) {
      await client.query('ROLLBACK').catch(() => undefined);
      throw error;
    }
    await client.query('COMMIT');
  }
}

function deliveredBut(bad: readonly BadRow[]): Delivered {
  const reason = bad.at(-1)?.reason;
  return {
    rejected: new Set(bad.map(({ message }) => message)).size,
    reason: reason === undefined ? null : openReason(reason),
  };
}

/** Returns the reason if the row is refused, after a rollback; `null` if it is inserted. */
async function tried(client: pg.Client, work: () => Promise<unknown>): Promise<BadBatch | null> {
  await client.query('SAVEPOINT bridge_row');
  try {
    await work();
    await client.query('SET CONSTRAINTS ALL IMMEDIATE');
    return null;
  } catch (error) {
    const failure = failureOf(error);
    if (!(failure instanceof BadBatch)) throw failure;
    await client.query('ROLLBACK TO SAVEPOINT bridge_row');
    return failure;
  }
}

async function setRowAside(client: pg.Client, { message, mapping, reason }: BadRow): Promise<void> {
  if (mapping !== null) await insertDeadLetter(client, mapping, message, reason);
}

/** An error that would be caused by a row is caused by the connection here, because there is no row. */
function passing(error: unknown): SinkFailure {
  const failure = failureOf(error);
  return failure instanceof SinkFailure
    ? failure
    : new SinkFailure('FAILED', `PostgreSQL: ${openReason(failure.message)}`, { cause: error });
}

function clientConfig(config: PostgresqlConnectionConfig, lookup: LookupFunction | undefined): ClientConfig {
  const address = serverAddress(config);
  if (!isAddress(address)) throw new SinkFailure('FAILED', 'The configuration names no server');
  const { statementTimeoutMs = STATEMENT_TIMEOUT_MS } = config;
  const { port, database, user, password, tls, verifyCa } = address;
  return {
    host: dialledHost(address),
    port,
    database,
    user,
    // A function, so that pg does not search for a password elsewhere.
    password: () => password ?? '',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + ANSWER_GRACE_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    application_name: 'brokergraph bridge',
    ssl: tls ? tlsOptions({ ...config, verifyCa }) : false,
    ...(lookup === undefined ? {} : { stream: () => socketThatLooksUp(lookup) }),
  };
}

/** pg passes only a port and a host to its socket. */
function socketThatLooksUp(lookup: LookupFunction): Socket {
  const socket = new Socket();
  const connect = socket.connect.bind(socket);
  return Object.assign(socket, { connect: (port: number, host: string) => connect({ port, host, lookup }) });
}
