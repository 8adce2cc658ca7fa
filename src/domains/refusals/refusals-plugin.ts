import { LRUCache } from 'lru-cache';
import { entryLimit } from '../../platform/limits/entry-limit.ts';
import { type CapabilityReason, reasonOf } from '../../protocol/control/capability-reason.ts';
import type { ControlCommand } from '../../protocol/control/envelope.ts';
import type {
  BegunPlugin,
  ControlPlugin,
  PluginFactory,
  PluginHost,
  Unavailable,
} from '../../protocol/control/plugin.ts';
import type { BrokerMessage, Stop } from '../../protocol/mqtt/broker-session.ts';
import { DENIED, isDenied, LOG, LogVerification, NO_LOG } from '../clients/inspect/log-verification.ts';
import { executeRefusalCommand, REFUSALS_API, type RefusalCoverage, refusalsChanged } from './refusal-control.ts';
import { parseRefusalLine, type RefusalLine, type RefusedLine } from './refusal-lines.ts';
import { RefusalLog } from './refusal-log.ts';
import { UnidentifiedConnections } from './unidentified-connections.ts';

const COVERAGE: RefusalCoverage = {
  kinds: ['CONNECT', 'PACKET'],
  limit: {
    code: 'LOG_WITHOUT_DETAILS',
    text: 'Mosquitto reports refused connections in its log (`log_dest topic` with `log_type notice`; the reason of a failed TLS handshake with `log_type error`, of a wrong protocol version with `log_type information`). It does not report whether the account or the password is wrong, and Mosquitto 2.0 no client ids. It reports denied publishes and subscriptions to no topic: it writes denied publishes with `log_type debug` to a file or to the console only, and denied subscriptions nowhere. Use `explainAccess` to find the rule that denies a topic.',
  },
};

const CONNECTIONS_UNKNOWN: CapabilityReason = {
  code: 'CLIENTS_UNKNOWN',
  text: 'Refused connections cannot be followed',
};
const LINE_TIMEOUT_MS = 2_000;
/** Clients whose address and user name are remembered, for refused packets. */
const MAX_CLIENTS = 10_000;

export const refusalsPlugin: PluginFactory = {
  api: REFUSALS_API,
  begin: (host) => (host.session.knock ? new RefusalsPlugin(host) : NOT_FOLLOWED),
  create: async (host) => (host.session.knock ? new RefusalsPlugin(host).finish() : NOT_FOLLOWED.finish()),
};

const NOT_FOLLOWED: BegunPlugin = {
  finish: async () => ({ unavailable: NO_LOG }),
  close: () => undefined,
};

/**
 * `brokergraph/refusals` for Mosquitto, from its log topics. Follows the log from the constructor on. Whether the
 * broker logs connections is known from `cedalo/inspect`, which follows the same log; a broker that serves
 * `cedalo/inspect` itself is verified here.
 */
class RefusalsPlugin implements ControlPlugin, BegunPlugin {
  readonly api = REFUSALS_API;
  readonly limit = COVERAGE.limit;
  problem: CapabilityReason | null = null;
  readonly #host: PluginHost;
  readonly #verification: LogVerification;
  readonly #log: RefusalLog;
  readonly #connections = new UnidentifiedConnections();
  readonly #clients = new LRUCache<string, { readonly address: string; readonly username: string | null }>(
    entryLimit(MAX_CLIENTS),
  );
  readonly #subscribed: Promise<Stop>;
  #cause: Extract<RefusalLine, { kind: 'CAUSE' }> | null = null;
  /** The connection that was reported last: Mosquitto 2.1 writes a second line about some. */
  #reported: string | null = null;
  #isActive = false;

  constructor(host: PluginHost) {
    this.#host = host;
    this.#verification = new LogVerification(host.session, LINE_TIMEOUT_MS);
    this.#log = new RefusalLog(() => {
      if (this.#isActive) host.emit(refusalsChanged(this.#log));
    });
    this.#subscribed = host.session.subscribe(`${LOG}#`, (message) => this.#received(message), { qos: 1 });
    // `finish` reports the error, but may never be called.
    this.#subscribed.catch(() => undefined);
  }

  async finish(): Promise<ControlPlugin | Unavailable> {
    try {
      await this.#subscribed;
      this.problem = await this.#problemNow();
    } catch (error) {
      this.close();
      if (isDenied(error)) return { unavailable: DENIED, refused: true };
      throw error;
    }
    if (this.problem !== null) {
      this.close();
      return { unavailable: this.problem, mayPass: true };
    }
    this.#isActive = true;
    return this;
  }

  async lookAgain(): Promise<void> {
    // The link is down again; the next connection looks again.
    this.problem = await this.#problemNow().catch(() => this.problem);
  }

  execute(command: ControlCommand): unknown {
    return executeRefusalCommand(this.#log, COVERAGE, command);
  }

  close(): void {
    this.#isActive = false;
    this.#log.close();
    this.#verification.close();
    this.#subscribed.then(
      (stop) => stop(),
      () => undefined,
    );
  }

  async #problemNow(): Promise<CapabilityReason | null> {
    const inspect = await this.#host.controls?.capability('cedalo/inspect');
    if (inspect?.provider === 'GATEWAY') return null;
    if (inspect?.provider === 'NONE') return reasonOf(inspect) ?? CONNECTIONS_UNKNOWN;
    return this.#verification.verify();
  }

  #received({ topic, payload }: BrokerMessage): void {
    this.#verification.lineReceived();
    // Lines about subscriptions.
    if (topic.startsWith(`${LOG}M/`)) return;
    const text = Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString();
    const line = parseRefusalLine(text);
    const cause = this.#cause;
    this.#cause = line.kind === 'CAUSE' ? (cause ?? line) : null;
    if (line.kind === 'REFUSED') this.#refused(line, cause);
    else if (line.kind === 'OPENED') this.#connections.opened(line.address, line.port, line.listenerPort);
    else if (line.kind === 'CLOSED') this.#connections.closed();
    else if (line.kind === 'CONNECTED') {
      const { address, port, clientId, username } = line;
      this.#verification.connectionLogged();
      this.#connections.identified(address, port);
      this.#clients.set(clientId, { address, username });
    }
  }

  #refused(line: RefusedLine, cause: { readonly reason: RefusedLine['reason']; readonly detail: string } | null): void {
    const { clientId, port } = line;
    const known = clientId === null ? undefined : this.#clients.get(clientId);
    const isNew = line.address !== null && port !== null;
    const connection = isNew ? `${line.address}:${port}` : null;
    if (connection !== null && connection === this.#reported) return;
    this.#reported = connection;
    const opened = isNew
      ? this.#connections.identified(line.address ?? '', port ?? 0)
      : clientId === null && line.address === null
        ? this.#connections.closed()
        : null;
    // Mosquitto 2.0 names only admitted clients; 2.1 also those that are not authorised.
    const isConnected = clientId !== null && line.reason !== 'NOT_AUTHORIZED';
    this.#log.add({
      kind: isConnected ? 'PACKET' : 'CONNECT',
      reason: cause?.reason ?? line.reason,
      clientId,
      username: (isConnected ? known?.username : null) ?? null,
      address: line.address ?? (isConnected ? known?.address : opened?.address) ?? null,
      listenerPort: opened?.listenerPort ?? null,
      topic: null,
      reasonCode: null,
      detail: cause?.detail ?? line.detail,
    });
  }
}
