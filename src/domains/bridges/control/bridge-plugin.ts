import { isDeepStrictEqual } from 'node:util';
import { type InputIssue, type IssuesInfo, issuesInfo, ServiceError } from '../../../platform/errors.ts';
import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';
import { type CheckValue, compileCheck, createValidator } from '../../../platform/text/json-schema.ts';
import type { ControlCommand, ControlEvent } from '../../../protocol/control/envelope.ts';
import { fieldOf, isFields } from '../../../protocol/control/fields.ts';
import { type ControlPlugin, ControlRefusal } from '../../../protocol/control/plugin.ts';
import { runCommandOf } from '../../../protocol/control/plugin-arguments.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { Bridge } from '../model/bridge.ts';
import type { BridgeKind, BridgeRules } from '../model/bridge-kind.ts';
import type { BridgeConnectionStatus } from '../model/bridge-status.ts';
import type { BridgeConfigs } from './bridge-configs.ts';
import { BRIDGE_STATUS, configSizeIssues } from './bridge-control.ts';
import { masked, unmasked } from './config-secrets.ts';
import { SecretPlace } from './secret-places.ts';
import { addressesOf, withTrust } from './trusted-addresses.ts';

/** Field of `updateConfig` between parts of this service: whether a root administrator gave the command. No other caller reaches it. */
export const BY_ROOT_ADMIN = 'byRootAdmin';

export interface BridgePluginOptions {
  readonly kind: BridgeKind;
  readonly configs: BridgeConfigs;
  /** Its maker's to close. */
  readonly bridge: Bridge;
  readonly rules: BridgeRules;
  readonly emit: (event: ControlEvent) => void;
  /** The bridge failed in what nobody asked for: a bug. */
  readonly onFault: (error: unknown) => void;
}

/**
 * The control API of one kind of bridge beside one broker: `getSchema`, `getConfig`, `updateConfig`, `getStatus`, and the event
 * `bridgeStatus` at each change of a connection's state. One command after the other. Field names are found in any case.
 *
 * A configuration is checked whole, kept, and then applied. One that is as it was changes nothing. Secrets are told as `***`, which
 * sent back keeps them. What is kept runs from the beginning, unless the operator's rules have come to forbid it: then its
 * connections are told as FAILED.
 *
 * Refusals: `Invalid/missing configChange`, and `Invalid <path>: <reason>` as INVALID with all issues, paths being JSON pointers into
 * the configuration.
 */
export class BridgePlugin implements ControlPlugin {
  readonly api: BridgeKind['api'];
  readonly #options: BridgePluginOptions;
  readonly #checkSchema: CheckValue;
  readonly #stops: readonly Stop[];
  #isApplied = false;
  /** Told in place of the bridge's status: what is kept must not run. */
  #forbidden: readonly BridgeConnectionStatus[] | null = null;
  /** The last command; never rejects. */
  #tail: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(options: BridgePluginOptions) {
    const { kind, configs, bridge } = options;
    this.api = kind.api;
    this.#options = options;
    this.#checkSchema = compileCheck(createValidator(), kind.schema);
    this.#stops = [configs.onChange(() => this.#follow()), bridge.onStatus(() => this.#tell())];
    this.#follow();
  }

  execute(command: ControlCommand): unknown {
    if (this.#closed) throw new ControlRefusal('This bridge is not served any more', { code: 'BROKER_UNREACHABLE' });
    const { kind } = this.#options;
    return runCommandOf(
      {
        getschema: () => kind.schema,
        getconfig: () => this.#inOrder(async () => masked(await asked(() => this.#kept()), this.#secrets())),
        updateconfig: (c) => this.#inOrder(() => this.#update(fieldOf(c, 'configChange'), c[BY_ROOT_ADMIN] === true)),
        getstatus: () => this.#inOrder(() => this.#status()),
      },
      command,
    );
  }

  /** What was begun is brought to its end. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const stop of this.#stops) stop();
    await this.#tail;
  }

  #secrets(): SecretPlace {
    return SecretPlace.whole(this.#options.kind.schema, { byName: false });
  }

  /** Errors: ServiceError where it cannot be unsealed. */
  #kept(): unknown {
    const { configs, kind } = this.#options;
    return configs.get() ?? kind.empty;
  }

  /** Null: it cannot be unsealed, and is entered again. */
  #readable(): unknown {
    try {
      return this.#kept();
    } catch (error) {
      if (error instanceof ServiceError) return null;
      throw error;
    }
  }

  async #update(change: unknown, isByRootAdmin: boolean): Promise<object> {
    const { configs } = this.#options;
    if (!isFields(change)) throw new ControlRefusal('Invalid/missing configChange');
    refuse(configSizeIssues(change));
    const kept = this.#readable();
    const { config, issues } = await runInSlices(unmasked(change, kept, this.#secrets()));
    // Of a secret that is missing nothing else is to be said.
    const known = new Set(issues.map(({ path }) => path));
    const before = this.#trusted(kept);
    const checked = this.#checked(config, (address) => isByRootAdmin || before.has(address));
    const { issues: others, omitted, trusted } = checked;
    refuse([...issues, ...others.filter(({ path }) => !known.has(path))], omitted);
    const isAsBefore = isDeepStrictEqual(config, kept) && isDeepStrictEqual(new Set(trusted), before);
    // Also one that was forbidden once: it is allowed now.
    if (!isAsBefore || this.#forbidden !== null) {
      await asked(() => configs.put(config, trusted));
      await this.#apply(config, trusted);
    }
    return { response: 'SUCCESS' };
  }

  /** Digests. Of a configuration from before they were noted all addresses count, so that it goes on. */
  #trusted(kept: unknown): ReadonlySet<string> {
    const { kind, configs } = this.#options;
    return configs.trusted() ?? new Set(addressesOf(kind, kept));
  }

  /** What is wrong with it, and its addresses that are trusted, as digests. */
  #checked(config: unknown, isTrusted: (address: string) => boolean): IssuesInfo & { readonly trusted: string[] } {
    const { kind, rules } = this.#options;
    try {
      this.#checkSchema(config);
    } catch (error) {
      if (error instanceof ServiceError) return { ...(error.info as IssuesInfo), trusted: [] };
      throw error;
    }
    const trusted = addressesOf(kind, config).filter(isTrusted);
    return { ...issuesInfo(kind.check(withTrust(kind, config, new Set(trusted)), rules)), trusted };
  }

  /** Runs what is kept, as it was kept before this began or by another process. */
  #follow(): void {
    this.#inOrder(async () => {
      const config = this.#readable();
      if (config === null || (!this.#isApplied && !hasConnections(config))) return;
      const before = this.#trusted(config);
      const { issues, trusted } = this.#checked(config, (address) => before.has(address));
      const [issue] = issues;
      if (issue === undefined) await this.#apply(config, trusted);
      else await this.#forbid(config, issue);
    }).catch(this.#options.onFault);
  }

  async #apply(config: unknown, trusted: readonly string[]): Promise<void> {
    this.#forbidden = null;
    this.#isApplied = true;
    try {
      const { kind, bridge } = this.#options;
      await bridge.apply(withTrust(kind, config, new Set(trusted)));
    } catch (error) {
      // It is kept, and whatever runs the bridge next begins with it.
      if (!(error instanceof ServiceError)) throw error;
    }
  }

  async #forbid(config: unknown, { path, reason }: InputIssue): Promise<void> {
    if (this.#isApplied) await this.#apply(this.#options.kind.empty, []);
    this.#forbidden = namesOf(config).map((connectionName) => ({
      connectionName,
      isConnected: false,
      state: 'FAILED',
      since: Date.now(),
      error: `Its configuration is not allowed any more: ${path} ${reason}`,
      ...NO_COUNTS,
    }));
    this.#tell();
  }

  #status(): readonly BridgeConnectionStatus[] {
    return this.#forbidden ?? this.#options.bridge.status();
  }

  #tell(): void {
    this.#options.emit({ type: 'event', event: BRIDGE_STATUS, status: this.#status() });
  }

  #inOrder<T>(step: () => T | Promise<T>): Promise<T> {
    const done = this.#tail.then(step);
    this.#tail = done.catch(() => undefined);
    return done;
  }
}

const NO_COUNTS = { queuedMessages: 0, queuedBytes: 0, received: 0, delivered: 0, dropped: 0, rejected: 0 } as const;

const connectionsOf = (config: unknown): readonly unknown[] =>
  isFields(config) && Array.isArray(config.connections) ? config.connections : [];

const hasConnections = (config: unknown): boolean => connectionsOf(config).length > 0;

const namesOf = (config: unknown): string[] =>
  connectionsOf(config).map((connection) => (isFields(connection) ? String(connection.name) : ''));

function refuse(issues: readonly InputIssue[], omitted?: number): void {
  const [first] = issues;
  if (first === undefined) return;
  throw new ControlRefusal(`Invalid ${first.path}: ${first.reason}`, {
    code: 'INVALID',
    info: issuesInfo(issues, omitted),
  });
}

/** What the database refuses is refused to whoever gave the command. */
async function asked<T>(question: () => T | Promise<T>): Promise<T> {
  try {
    return await question();
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { code, message, info } = error;
    throw new ControlRefusal(message, { code, ...(info === undefined ? {} : { info }) });
  }
}
