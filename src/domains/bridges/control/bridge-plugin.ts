import { isDeepStrictEqual } from 'node:util';
import type { Bridge } from '../../../data-plane/bridges/model/bridge.ts';
import { type BridgeKind, type BridgeRules, connectionsOf } from '../../../data-plane/bridges/model/bridge-kind.ts';
import { type BridgeConnectionStatus, NO_COUNTS } from '../../../data-plane/bridges/model/bridge-status.ts';
import { type InputIssue, type IssuesInfo, issuesInfo, ServiceError } from '../../../platform/errors.ts';
import { ConcurrencyLimit } from '../../../platform/scheduling/concurrency-limit.ts';
import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';
import { type CheckValue, compileCheck, createValidator } from '../../../platform/text/json-schema.ts';
import type { ControlCommand, ControlEvent } from '../../../protocol/control/envelope.ts';
import { fieldOf, isFields } from '../../../protocol/control/fields.ts';
import { asRefusal, refuseIssues } from '../../../protocol/control/issue-refusals.ts';
import { type ControlPlugin, ControlRefusal } from '../../../protocol/control/plugin.ts';
import { runCommandOf } from '../../../protocol/control/plugin-arguments.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { LeadsToOwnBroker } from '../../brokers/own-listeners.ts';
import type { BridgeConfigs } from './bridge-configs.ts';
import { BRIDGE_STATUS, configSizeIssues } from './bridge-control.ts';
import { masked, unmasked } from './config-secrets.ts';
import { SecretPlace } from './secret-places.ts';
import { trustedOf, withTrust } from './trusted-addresses.ts';

/** Internal field of `updateConfig`: whether a root administrator sent the command. */
export const BY_ROOT_ADMIN = 'byRootAdmin';

interface BridgePluginOptions {
  readonly kind: BridgeKind;
  readonly configs: BridgeConfigs;
  readonly bridge: Bridge;
  readonly rules: BridgeRules;
  readonly isOwnBroker: LeadsToOwnBroker;
  readonly emit: (event: ControlEvent) => void;
  readonly onFault: (error: unknown) => void;
}

/**
 * The control API of one kind of bridge for one broker: `getSchema`, `getConfig`, `updateConfig`, `getStatus`, and the
 * event `bridgeStatus` for each change of a connection's state. Commands run one after the other. Names of fields are
 * not case-sensitive.
 * A configuration is validated, stored, and then applied. An unchanged configuration has no effect. Secrets are
 * returned as `***`, and remain unchanged if sent back so. The stored configuration runs from the start, unless the
 * operator's rules now forbid it: its connections are then FAILED.
 * Refusals: `Invalid/missing configChange`; `Invalid <path>: <reason>` as INVALID with all issues, whose paths are JSON
 * pointers into the configuration.
 */
export class BridgePlugin implements ControlPlugin {
  readonly api: BridgeKind['api'];
  readonly #options: BridgePluginOptions;
  readonly #checkSchema: CheckValue;
  readonly #stops: readonly Stop[];
  #isApplied = false;
  /** Replaces the status of the bridge while the stored configuration must not run. */
  #forbidden: readonly BridgeConnectionStatus[] | null = null;
  readonly #queue = new ConcurrencyLimit({ maxRunning: 1 });
  #closed = false;

  constructor(options: BridgePluginOptions) {
    const { kind, configs, bridge } = options;
    this.api = kind.api;
    this.#options = options;
    this.#checkSchema = compileCheck(createValidator(), kind.schema);
    this.#stops = [configs.onChange(() => this.#follow()), bridge.onStatus(() => this.#emitStatus())];
    this.#follow();
  }

  execute(command: ControlCommand): unknown {
    if (this.#closed) throw new ControlRefusal('This bridge is no longer served', { code: 'BROKER_UNREACHABLE' });
    const { kind } = this.#options;
    return runCommandOf(
      {
        getschema: () => kind.schema,
        getconfig: () => this.#queue.run(() => asRefusal(this.#config())),
        updateconfig: (c) => this.#queue.run(() => this.#update(fieldOf(c, 'configChange'), c[BY_ROOT_ADMIN] === true)),
        getstatus: () => this.#queue.run(async () => this.#status()),
      },
      command,
    );
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const stop of this.#stops) stop();
    await this.#queue.run(async () => undefined);
  }

  #secrets(): SecretPlace {
    return SecretPlace.whole(this.#options.kind.schema, { byName: false });
  }

  async #config(): Promise<unknown> {
    return masked(this.#stored(), this.#secrets());
  }

  #stored(): unknown {
    const { configs, kind } = this.#options;
    return configs.get() ?? kind.empty;
  }

  /** `null` if it cannot be unsealed: it is then replaced. */
  #readable(): unknown {
    try {
      return this.#stored();
    } catch (error) {
      if (error instanceof ServiceError) return null;
      throw error;
    }
  }

  async #update(change: unknown, isByRootAdmin: boolean): Promise<object> {
    const { configs, isOwnBroker } = this.#options;
    if (!isFields(change)) throw new ControlRefusal('Invalid/missing configChange');
    refuseIssues(configSizeIssues(change));
    const stored = this.#readable();
    const { config, issues } = await runInSlices(unmasked(change, stored, this.#secrets()));
    // A missing secret has no further issues.
    const known = new Set(issues.map(({ path }) => path));
    const before = this.#trusted(stored);
    const checked = this.#checked(config, (digest, url) => isByRootAdmin || before.has(digest) || isOwnBroker(url));
    const { issues: others, omitted, trusted } = checked;
    refuseIssues([...issues, ...others.filter(({ path }) => !known.has(path))], omitted);
    const isAsBefore = isDeepStrictEqual(config, stored) && isDeepStrictEqual(new Set(trusted), before);
    // A configuration that was forbidden is allowed now.
    if (!isAsBefore || this.#forbidden !== null) {
      await asRefusal(configs.put(config, trusted));
      await this.#apply(config, trusted);
    }
    return { response: 'SUCCESS' };
  }

  /** Digests. A configuration that was stored without digests trusts all addresses. */
  #trusted(stored: unknown): ReadonlySet<string> {
    const { kind, configs } = this.#options;
    return configs.trusted() ?? new Set(trustedOf(kind, stored));
  }

  #checked(
    config: unknown,
    isTrusted: (digest: string, address: string) => boolean,
  ): IssuesInfo & { readonly trusted: string[] } {
    const { kind, rules } = this.#options;
    try {
      this.#checkSchema(config);
    } catch (error) {
      if (error instanceof ServiceError) return { ...(error.info as IssuesInfo), trusted: [] };
      throw error;
    }
    const trusted = trustedOf(kind, config, isTrusted);
    return { ...issuesInfo(kind.check(withTrust(kind, config, new Set(trusted)), rules)), trusted };
  }

  /** Runs the configuration that was stored before the start or by another process. */
  #follow(): void {
    this.#queue
      .run(async () => {
        const config = this.#readable();
        if (config === null || (!this.#isApplied && connectionsOf(config).length === 0)) return;
        const before = this.#trusted(config);
        const { issues, trusted } = this.#checked(config, (digest) => before.has(digest));
        const [issue] = issues;
        if (issue === undefined) await this.#apply(config, trusted);
        else await this.#forbid(config, issue);
      })
      .catch(this.#options.onFault);
  }

  async #apply(config: unknown, trusted: readonly string[]): Promise<void> {
    this.#forbidden = null;
    this.#isApplied = true;
    try {
      const { kind, bridge } = this.#options;
      await bridge.apply(withTrust(kind, config, new Set(trusted)));
    } catch (error) {
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
      error: `Its configuration is no longer allowed: ${path} ${reason}`,
      ...NO_COUNTS,
    }));
    this.#emitStatus();
  }

  #status(): readonly BridgeConnectionStatus[] {
    return this.#forbidden ?? this.#options.bridge.status();
  }

  #emitStatus(): void {
    this.#options.emit({ type: 'event', event: BRIDGE_STATUS, status: this.#status() });
  }
}

const namesOf = (config: unknown): string[] =>
  connectionsOf(config).map((connection) => (isFields(connection) ? String(connection.name) : ''));
