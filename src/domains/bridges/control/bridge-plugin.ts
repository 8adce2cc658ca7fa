import { isDeepStrictEqual } from 'node:util';
import type { Bridge } from '../../../data-plane/bridges/model/bridge.ts';
import { type BridgeKind, connectionsOf } from '../../../data-plane/bridges/model/bridge-kind.ts';
import { type BridgeConnectionStatus, NO_COUNTS } from '../../../data-plane/bridges/model/bridge-status.ts';
import { type InputIssue, ServiceError } from '../../../platform/errors.ts';
import { ConcurrencyLimit } from '../../../platform/scheduling/concurrency-limit.ts';
import { runInSlices } from '../../../platform/scheduling/sliced-task.ts';
import type { ControlCommand, ControlEvent } from '../../../protocol/control/envelope.ts';
import { fieldOf, isFields } from '../../../protocol/control/fields.ts';
import { asRefusal, refuseIssues } from '../../../protocol/control/issue-refusals.ts';
import { type ControlPlugin, ControlRefusal } from '../../../protocol/control/plugin.ts';
import { runCommandOf } from '../../../protocol/control/plugin-arguments.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import { BridgeConfigCheck, type BridgeConfigCheckOptions } from './bridge-config-check.ts';
import { BRIDGE_STATUS } from './bridge-control.ts';
import { masked } from './config-secrets.ts';
import { withTrust } from './trusted-addresses.ts';

/** Internal field of `updateConfig`: whether a root administrator sent the command. */
export const BY_ROOT_ADMIN = 'byRootAdmin';

interface BridgePluginOptions extends BridgeConfigCheckOptions {
  readonly bridge: Bridge;
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
  readonly #check: BridgeConfigCheck;
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
    this.#check = new BridgeConfigCheck(options);
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

  async #config(): Promise<unknown> {
    return runInSlices(masked(this.#check.stored(), this.#check.secrets));
  }

  async #update(change: unknown, isByRootAdmin: boolean): Promise<object> {
    if (!isFields(change)) throw new ControlRefusal('Invalid/missing configChange');
    const stored = this.#check.readable();
    const { config, issues, omitted, trusted } = await this.#check.given(change, stored, isByRootAdmin);
    refuseIssues(issues, omitted);
    const before = this.#check.trusted(stored);
    const isAsBefore = isDeepStrictEqual(config, stored) && isDeepStrictEqual(new Set(trusted), before);
    // A configuration that was forbidden is allowed now.
    if (!isAsBefore || this.#forbidden !== null) {
      await asRefusal(this.#options.configs.put(config, trusted));
      await this.#apply(config, trusted);
    }
    return { response: 'SUCCESS' };
  }

  /** Runs the configuration that was stored before the start or by another process. */
  #follow(): void {
    this.#queue
      .run(async () => {
        const config = this.#check.readable();
        if (config === null || (!this.#isApplied && connectionsOf(config).length === 0)) return;
        const before = this.#check.trusted(config);
        const { issues, trusted } = this.#check.checked(config, (digest) => before.has(digest));
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
