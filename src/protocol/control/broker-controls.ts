import { ServiceError } from '../../platform/errors.ts';
import { within } from '../../platform/scheduling/within.ts';
import type { BrokerSession, LinkStatus, Stop } from '../mqtt/broker-session.ts';
import { unreachable, whenConnected } from '../mqtt/when-connected.ts';
import { KNOWN_APIS, PatientProbes, probe } from './capability-probe.ts';
import { type CapabilityReason, notSupported } from './capability-reason.ts';
import { ControlClient } from './control-client.ts';
import type { ControlApi, ControlEvent } from './envelope.ts';
import type { Fields } from './fields.ts';
import { isRead, withoutNulls } from './payloads.ts';
import {
  type BegunPlugin,
  type ControlCall,
  type ControlCaller,
  type ControlCapability,
  type ControlPlugin,
  ControlRefusal,
  type PluginFactory,
  type PluginHost,
  type Unavailable,
} from './plugin.ts';
import { refusalOf } from './refusals.ts';

export interface BrokerControlsOptions {
  readonly timeoutMs: number;
  /** Milliseconds of silence that mean "not served"; `null`: the broker always responds. Default: 1,000. */
  readonly silenceMs?: number | null;
  /** Milliseconds after which a refused probe is repeated. Default: 30,000. */
  readonly doubtMs?: number;
  readonly plugins?: readonly PluginFactory[];
  /** APIs that are resolved when the broker connects, because their plugins follow events. */
  readonly eager?: readonly ControlApi[];
  /** Called after each observed write to the access control of the broker. */
  readonly onAccessWrite?: () => void;
  readonly onFault?: (error: unknown) => void;
}

interface Resolution {
  readonly capability: ControlCapability;
  readonly plugin: ControlPlugin | null;
  /** Whether the result may change without a reconnect. */
  readonly mayPass: boolean;
}

interface Resolving {
  readonly result: Promise<Resolution>;
  done: Resolution | null;
}

const ACCESS_API: ControlApi = 'dynamic-security';

/**
 * The control APIs of one broker. An API is served by the broker if it responds, otherwise by a plugin hosted by this
 * gateway. If neither is possible, callers receive the reason.
 *
 * The provider is resolved when it is first needed and after each reconnect; for `eager` APIs, APIs with listeners and
 * plugins with `begin`, when the broker connects. A refusal is valid for `doubtMs`, or until a write to the broker's
 * access control is observed; silence, until the broker responds after all. While the broker was never reachable, a
 * plugin with stored data (`isKept`) serves the API; a plugin with `instead` always does.
 *
 * A hosted plugin is closed when the broker serves the API, and by `close`.
 */
export class BrokerControls implements ControlCaller {
  readonly #session: BrokerSession;
  readonly #client: ControlClient;
  readonly #options: BrokerControlsOptions;
  readonly #factories: ReadonlyMap<ControlApi, PluginFactory>;
  readonly #onFault: (error: unknown) => void;
  readonly #resolutions = new Map<ControlApi, Resolving>();
  readonly #plugins = new Map<ControlApi, ControlPlugin>();
  /** Plugins started before it is known whether they are needed. */
  readonly #begun = new Map<ControlApi, BegunPlugin>();
  readonly #unhosted = new Map<ControlApi, { readonly reason: Unavailable; readonly since: number }>();
  readonly #listeners = new Map<ControlApi, Set<(event: ControlEvent) => void>>();
  readonly #patient = new PatientProbes();
  readonly #stopStatus: Stop;
  #closed = false;

  constructor(session: BrokerSession, options: BrokerControlsOptions) {
    this.#session = session;
    this.#options = options;
    const { timeoutMs } = options;
    this.#client = new ControlClient(session, { timeoutMs, onLateProbe: (api) => this.#servedLate(api) });
    this.#factories = new Map(options.plugins?.map((factory) => [factory.api, factory]));
    this.#onFault = options.onFault ?? (() => undefined);
    this.#stopStatus = session.onStatus((status) => this.#statusChanged(status));
    this.#client.onForeignAnswers(ACCESS_API, (commands) => this.#observe(ACCESS_API, commands));
    if (session.status.state === 'CONNECTED') this.#startConnection();
  }

  async call<T = unknown>(api: ControlApi, command: string, fields: Fields = {}): Promise<T> {
    const plugin = await this.#provider(api);
    if (plugin) return (await this.#execute(plugin, command, fields, this.#options.timeoutMs)) as T;
    const response = await this.#client.call(api, command, fields);
    this.#observe(api, [command]);
    return response as T;
  }

  async callAll(api: ControlApi, commands: readonly ControlCall[]): Promise<PromiseSettledResult<unknown>[]> {
    let plugin: ControlPlugin | null;
    try {
      plugin = await this.#provider(api);
    } catch (reason) {
      return commands.map(() => ({ status: 'rejected', reason }));
    }
    if (!plugin) {
      const responses = await this.#client.callAll(api, commands);
      const names = commands.map(({ command }) => command);
      this.#observe(api, names);
      return responses;
    }
    const results: PromiseSettledResult<unknown>[] = [];
    for (const { command, fields = {} } of commands) {
      const result = this.#execute(plugin, command, fields, this.#options.timeoutMs);
      results.push(...(await Promise.allSettled([result])));
    }
    return results;
  }

  onForeignAnswers(api: ControlApi, listener: (commands: readonly string[]) => void): Stop {
    return this.#client.onForeignAnswers(api, (commands) => {
      try {
        listener(commands);
      } catch (error) {
        this.#onFault(error);
      }
    });
  }

  onEvent(api: ControlApi, listener: (event: ControlEvent) => void): Stop {
    let listeners = this.#listeners.get(api);
    if (!listeners) {
      listeners = new Set();
      this.#listeners.set(api, listeners);
      if (!this.#isInstead(api)) this.#client.onEvent(api, (event) => this.#emit(api, event));
    }
    listeners.add(listener);
    if (this.#session.status.state === 'CONNECTED') this.#resolveInBackground(api);
    return () => listeners.delete(listener);
  }

  /** Errors: BROKER_UNREACHABLE if the provider is unknown. */
  async capability(api: ControlApi): Promise<ControlCapability> {
    return capabilityOf(await this.#resolution(api));
  }

  /** Without asking the broker. `null`: not resolved now. */
  known(api: ControlApi): ControlCapability | null {
    const done = this.#resolutions.get(api)?.done ?? null;
    return done && capabilityOf(done);
  }

  capabilities(): Promise<ControlCapability[]> {
    const apis = new Set<ControlApi>([...KNOWN_APIS, ...this.#factories.keys()]);
    return Promise.all([...apis].map((api) => this.capability(api)));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopStatus();
    this.#client.close();
    this.#listeners.clear();
    this.#resolutions.clear();
    await Promise.all([
      ...[...this.#plugins.keys()].map((api) => this.#closePlugin(api)),
      ...[...this.#begun.keys()].map((api) => this.#dropBegun(api)),
    ]);
  }

  /** Returns the gateway plugin, or `null` if the broker serves the API. Errors: NOT_SUPPORTED_BY_BROKER. */
  async #provider(api: ControlApi): Promise<ControlPlugin | null> {
    const resolution = await this.#resolution(api);
    const capability = capabilityOf(resolution);
    if (capability.provider !== 'NONE') return resolution.plugin;
    throw notSupported(capability);
  }

  #resolution(api: ControlApi): Promise<Resolution> {
    const known = this.#resolutions.get(api);
    if (known && !this.#isDoubtful(known)) return known.result;
    const resolving: Resolving = { result: this.#resolve(api), done: null };
    this.#resolutions.set(api, resolving);
    resolving.result.then(
      (resolution) => {
        resolving.done = resolution;
      },
      () => {
        if (this.#resolutions.get(api) === resolving) this.#resolutions.delete(api);
      },
    );
    return resolving.result;
  }

  async #resolve(api: ControlApi): Promise<Resolution> {
    const { timeoutMs, silenceMs = 1_000 } = this.#options;
    if (this.#isInstead(api)) return this.#hosted(api, { code: 'NOT_OFFERED', text: `${api} is not available` });
    try {
      await whenConnected(this.#session, timeoutMs);
    } catch (error) {
      const offline = await this.#hostOffline(api);
      if (offline === null) throw error;
      // The next connection resolves the API again, unless it exists already.
      if (this.#session.status.state !== 'CONNECTED') return offline;
    }
    const { reason, refused } =
      silenceMs === null
        ? await this.#patient.probe(this.#client, api, timeoutMs)
        : await probe(this.#client, api, silenceMs);
    if (reason === null) {
      const since = Date.now();
      await Promise.all([this.#closePlugin(api), this.#dropBegun(api)]);
      return { capability: { api, provider: 'BROKER', since }, plugin: null, mayPass: false };
    }
    return this.#hosted(api, reason, refused);
  }

  /** A plugin that is hosted meanwhile serves until the next connection. */
  #servedLate(api: ControlApi): void {
    if (this.#resolutions.get(api)?.done?.capability.provider !== 'NONE') return;
    const capability = { api, provider: 'BROKER', since: Date.now() } as const;
    const done = { capability, plugin: null, mayPass: false };
    this.#resolutions.set(api, { result: Promise.resolve(done), done });
  }

  async #hosted(api: ControlApi, reason: CapabilityReason, refused = false): Promise<Resolution> {
    const since = Date.now();
    const hosted = await this.#host(api);
    if (hosted && !('unavailable' in hosted)) {
      return { capability: { api, provider: 'GATEWAY', since }, plugin: hosted, mayPass: false };
    }
    return {
      capability: withReason({ api, provider: 'NONE', since }, hosted?.unavailable ?? reason),
      plugin: null,
      mayPass: refused || hosted?.refused === true || hosted?.mayPass === true,
    };
  }

  #isInstead(api: ControlApi): boolean {
    return this.#factories.get(api)?.instead === true;
  }

  async #hostOffline(api: ControlApi): Promise<Resolution | null> {
    if (this.#session.status.state !== 'UNREACHABLE' || this.#factories.get(api)?.isKept?.() !== true) return null;
    const plugin = await this.#host(api);
    if (plugin === null || 'unavailable' in plugin) return null;
    return { capability: { api, provider: 'GATEWAY', since: Date.now() }, plugin, mayPass: false };
  }

  #isDoubtful({ done }: Resolving): boolean {
    return done !== null && mayPass(done) && this.#isOld(done.capability.since);
  }

  #isOld(since: number): boolean {
    return Date.now() - since >= (this.#options.doubtMs ?? 30_000);
  }

  /** A write to the access control may have granted missing permissions. */
  #observe(api: ControlApi, commands: readonly string[]): void {
    if (api !== ACCESS_API || commands.every(isRead)) return;
    for (const [name, { done }] of this.#resolutions) if (done?.mayPass) this.#resolutions.delete(name);
    this.#options.onAccessWrite?.();
  }

  async #host(api: ControlApi): Promise<ControlPlugin | Unavailable | null> {
    const running = this.#plugins.get(api);
    if (running) {
      await this.#dropBegun(api);
      if (problemOf(running) !== null || running.limit !== undefined) await running.lookAgain?.();
      return running;
    }
    const known = this.#unhosted.get(api);
    if (known && !known.reason.refused && !(known.reason.mayPass && this.#isOld(known.since))) return known.reason;
    const begun = this.#begun.get(api);
    this.#begun.delete(api);
    const plugin = await (begun ? begun.finish() : this.#factories.get(api)?.create(this.#hostOf(api)));
    if (!plugin) return null;
    if ('unavailable' in plugin) {
      this.#unhosted.set(api, { reason: plugin, since: Date.now() });
      return plugin;
    }
    if (this.#closed) {
      await plugin.close();
      throw unreachable(this.#session.status);
    }
    this.#plugins.set(api, plugin);
    await this.#dropBegun(api);
    return plugin;
  }

  #hostOf(api: ControlApi): PluginHost {
    return {
      session: this.#session,
      controls: this,
      emit: (event) => this.#emit(api, event),
      isHeard: () => (this.#listeners.get(api)?.size ?? 0) > 0,
    };
  }

  async #execute(plugin: ControlPlugin, command: string, fields: Fields, timeoutMs: number): Promise<unknown> {
    const execute = async () => plugin.execute({ ...withoutNulls(plugin.api, fields), command });
    const text = `${command} of ${plugin.api} took longer than ${timeoutMs} ms`;
    try {
      return await within(timeoutMs, execute(), () => new ServiceError('BROKER_TIMEOUT', text));
    } catch (error) {
      if (error instanceof ControlRefusal) throw refusalBy(plugin, command, error, fields);
      throw error;
    }
  }

  #statusChanged({ state }: LinkStatus): void {
    this.#unhosted.clear();
    this.#patient.clear();
    if (state !== 'CONNECTED') return;
    const resolved = [...this.#resolutions].filter(([, { done }]) => done !== null).map(([api]) => api);
    for (const api of resolved) this.#resolutions.delete(api);
    this.#startConnection();
    // A restart of the broker may have made gateway plugins possible or unnecessary.
    for (const api of resolved) if (this.#factories.has(api)) this.#resolveInBackground(api);
  }

  #startConnection(): void {
    for (const [api, factory] of this.#factories) {
      if (!factory.begin || this.#plugins.has(api) || this.#begun.has(api)) continue;
      this.#begun.set(api, factory.begin(this.#hostOf(api)));
    }
    const listened = [...this.#listeners].filter(([, listeners]) => listeners.size > 0).map(([api]) => api);
    const apis = new Set([...(this.#options.eager ?? []), ...listened, ...this.#begun.keys()]);
    for (const api of apis) this.#resolveInBackground(api);
  }

  #resolveInBackground(api: ControlApi): void {
    this.#resolution(api).catch((error: unknown) => {
      // A broker that has become unreachable is resolved again after the reconnect.
      if (!(error instanceof ServiceError)) this.#onFault(error);
    });
  }

  #emit(api: ControlApi, event: ControlEvent): void {
    for (const listener of this.#listeners.get(api) ?? []) {
      try {
        listener(event);
      } catch (error) {
        this.#onFault(error);
      }
    }
  }

  async #closePlugin(api: ControlApi): Promise<void> {
    const plugin = this.#plugins.get(api);
    this.#plugins.delete(api);
    await plugin?.close();
  }

  async #dropBegun(api: ControlApi): Promise<void> {
    const begun = this.#begun.get(api);
    this.#begun.delete(api);
    await begun?.close();
  }
}

function refusalBy(
  { api }: ControlPlugin,
  command: string,
  { message, detail }: ControlRefusal,
  fields: Fields,
): ServiceError {
  if (detail === null) return refusalOf(api, command, message, fields);
  return new ServiceError(detail.code, message, { info: { api, command, ...detail.info } });
}

const problemOf = (plugin: ControlPlugin | null): CapabilityReason | null => plugin?.problem ?? null;

/** The current capability: a gateway plugin may have a problem since it was resolved. */
function capabilityOf({ capability, plugin }: Resolution): ControlCapability {
  const reason = problemOf(plugin);
  if (reason !== null) return withReason({ ...capability, provider: 'NONE' }, reason);
  return plugin?.limit ? withReason(capability, plugin.limit) : capability;
}

const withReason = (capability: ControlCapability, { code, text }: CapabilityReason): ControlCapability => ({
  ...capability,
  reason: text,
  reasonCode: code,
});

const mayPass = (resolution: Resolution) => resolution.mayPass || problemOf(resolution.plugin) !== null;
