import { ServiceError } from '../../platform/errors.ts';
import type { BrokerSession, LinkStatus, Stop } from '../mqtt/broker-session.ts';
import { unreachable, whenConnected } from '../mqtt/when-connected.ts';
import { KNOWN_APIS, PatientProbes, probe } from './capability-probe.ts';
import { ControlClient } from './control-client.ts';
import type { ControlApi, ControlEvent } from './envelope.ts';
import { isRead } from './payloads.ts';
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
import { withoutNulls } from './without-nulls.ts';

/**
 * The control APIs of one broker, whoever serves them: the broker itself if it answers, else a plugin of ours on the same
 * session, else nobody, with a reason.
 *
 * Who serves an API is found out when it is first needed, once for all who ask at that time, remembered for the connection and
 * found out again after a reconnect; `eager` APIs, those with listeners and those whose plugins begin with the connection right then. That nobody serves it because the broker
 * refused something is remembered for `doubtMs`, and not over a change of the broker's access control that is seen. While the broker is away
 * and has not been asked yet, a plugin of ours that keeps something serves until it can be. A plugin that serves an API `instead` of the
 * broker serves it in any case. A hosted plugin lives on over reconnects,
 * since it has to bridge the gap, and ends when the broker turns out to serve the API, when the link gets other settings, or
 * with `close`.
 */
export interface BrokerControlsOptions {
  /** Longest wait for one answer. */
  readonly timeoutMs: number;
  /** How long a broker may be silent until an API counts as not served; null: it answers in any case, however late. Default 1000. */
  readonly silenceMs?: number | null;
  /** How long a refusal is remembered. Default 30,000. */
  readonly doubtMs?: number;
  readonly plugins?: readonly PluginFactory[];
  /** APIs that are resolved as soon as the broker is connected, because their plugins follow what happens. */
  readonly eager?: readonly ControlApi[];
  /** A listener or plugin threw: a bug that concerns no caller. */
  readonly onFault?: (error: unknown) => void;
}

interface Resolution {
  readonly capability: ControlCapability;
  readonly plugin: ControlPlugin | null;
  /** It may be otherwise without a reconnect. */
  readonly mayPass: boolean;
}

interface Resolving {
  readonly result: Promise<Resolution>;
  /** Null while it waits for the connection or an answer: the loss of the connection ends it, its coming does not. */
  done: Resolution | null;
}

/** Its writes may grant what was refused. */
const ACCESS_API: ControlApi = 'dynamic-security';

export class BrokerControls implements ControlCaller {
  readonly #session: BrokerSession;
  readonly #client: ControlClient;
  readonly #options: BrokerControlsOptions;
  readonly #factories: ReadonlyMap<ControlApi, PluginFactory>;
  readonly #onFault: (error: unknown) => void;
  readonly #resolutions = new Map<ControlApi, Resolving>();
  readonly #plugins = new Map<ControlApi, ControlPlugin>();
  /** Begun with the connection, while it is found out whether they are needed. */
  readonly #begun = new Map<ControlApi, BegunPlugin>();
  /** Why plugins of ours cannot work on this connection, for which some have to wait seconds; `since` in epoch milliseconds. */
  readonly #unhosted = new Map<ControlApi, { readonly why: Unavailable; readonly since: number }>();
  readonly #listeners = new Map<ControlApi, Set<(event: ControlEvent) => void>>();
  readonly #patient = new PatientProbes();
  readonly #stopStatus: Stop;
  /** Counts changes of the link's settings. */
  #generation = 0;
  #closed = false;

  constructor(session: BrokerSession, options: BrokerControlsOptions) {
    this.#session = session;
    this.#options = options;
    this.#client = new ControlClient(session, options);
    this.#factories = new Map(options.plugins?.map((factory) => [factory.api, factory]));
    this.#onFault = options.onFault ?? (() => undefined);
    this.#stopStatus = session.onStatus((status) => this.#statusChanged(status));
    this.#client.onForeignAnswers(ACCESS_API, (commands) => this.#seen(ACCESS_API, commands));
    if (session.status.state === 'CONNECTED') this.#connectionBegan();
  }

  /** The APIs that there is a plugin of ours for, hosted or not. */
  get hostable(): readonly ControlApi[] {
    return [...this.#factories.keys()];
  }

  async call<T = unknown>(
    api: ControlApi,
    command: string,
    fields: Readonly<Record<string, unknown>> = {},
  ): Promise<T> {
    const plugin = await this.#provider(api);
    if (plugin) return (await this.#execute(plugin, command, fields, this.#options.timeoutMs)) as T;
    const answer = await this.#client.call(api, command, fields);
    this.#seen(api, [command]);
    return answer as T;
  }

  async callAll(
    api: ControlApi,
    commands: readonly ControlCall[],
    options: { readonly timeoutMs?: number } = {},
  ): Promise<PromiseSettledResult<unknown>[]> {
    let plugin: ControlPlugin | null;
    try {
      plugin = await this.#provider(api);
    } catch (reason) {
      return commands.map(() => ({ status: 'rejected', reason }));
    }
    if (!plugin) {
      const answers = await this.#client.callAll(api, commands, options);
      this.#seen(
        api,
        commands.map(({ command }) => command),
      );
      return answers;
    }
    const results: PromiseSettledResult<unknown>[] = [];
    const timeoutMs = options.timeoutMs ?? this.#options.timeoutMs;
    for (const { command, fields = {} } of commands) {
      results.push(...(await Promise.allSettled([this.#execute(plugin, command, fields, timeoutMs)])));
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
      if (!this.#isInstead(api)) this.#client.onEvent(api, (event) => this.#tell(api, event));
    }
    listeners.add(listener);
    if (this.#session.status.state === 'CONNECTED') this.#resolveInBackground(api);
    return () => listeners.delete(listener);
  }

  /** Errors: BROKER_UNREACHABLE while it cannot be found out. */
  async capability(api: ControlApi): Promise<ControlCapability> {
    return capabilityOf(await this.#resolution(api));
  }

  /** All well-known APIs and those we could host. Errors: as `capability`. */
  capabilities(): Promise<ControlCapability[]> {
    const apis = new Set<ControlApi>([...KNOWN_APIS, ...this.hostable]);
    return Promise.all([...apis].map((api) => this.capability(api)));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopStatus();
    this.#client.close();
    this.#listeners.clear();
    this.#resolutions.clear();
    await Promise.all([this.#closePlugins(), this.#dropAllBegun()]);
  }

  /** The plugin of ours that serves the API; null: the broker does. Errors: NOT_SUPPORTED_BY_BROKER, as `capability`. */
  async #provider(api: ControlApi): Promise<ControlPlugin | null> {
    const resolution = await this.#resolution(api);
    const capability = capabilityOf(resolution);
    if (capability.provider !== 'NONE') return resolution.plugin;
    throw new ServiceError('NOT_SUPPORTED_BY_BROKER', capability.reason ?? `Nobody serves ${api}`, {
      info: { api, reason: capability.reason },
    });
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
    if (this.#isInstead(api)) return this.#hosted(api, `Nobody serves ${api}`);
    try {
      await whenConnected(this.#session, timeoutMs);
    } catch (error) {
      const kept = await this.#hostKept(api);
      if (kept === null) throw error;
      // The connection that comes finds it out anew, unless it came meanwhile.
      if (this.#session.status.state !== 'CONNECTED') return kept;
    }
    const { served, reason, refused } =
      silenceMs === null
        ? await this.#patient.ask(this.#client, api, timeoutMs)
        : await probe(this.#client, api, silenceMs);
    if (served) {
      const since = Date.now();
      await Promise.all([this.#closePlugin(api), this.#dropBegun(api)]);
      return { capability: { api, provider: 'BROKER', since }, plugin: null, mayPass: false };
    }
    return this.#hosted(api, reason, refused);
  }

  /** Where the broker does not serve it, for that reason. */
  async #hosted(api: ControlApi, reason: string, refused = false): Promise<Resolution> {
    const since = Date.now();
    const hosted = await this.#host(api);
    if (hosted && !('unavailable' in hosted)) {
      return { capability: { api, provider: 'GATEWAY', since }, plugin: hosted, mayPass: false };
    }
    return {
      capability: { api, provider: 'NONE', since, reason: hosted?.unavailable ?? reason },
      plugin: null,
      mayPass: refused || hosted?.refused === true || hosted?.mayPass === true,
    };
  }

  #isInstead(api: ControlApi): boolean {
    return this.#factories.get(api)?.instead === true;
  }

  /** Null: nothing of ours can serve it while the broker is away. */
  async #hostKept(api: ControlApi): Promise<Resolution | null> {
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

  /** Commands that the broker has answered to somebody: a write to its access control may have granted what it refused. */
  #seen(api: ControlApi, commands: readonly string[]): void {
    if (api !== ACCESS_API || commands.every(isRead)) return;
    for (const [name, { done }] of this.#resolutions) if (done?.mayPass) this.#resolutions.delete(name);
  }

  async #host(api: ControlApi): Promise<ControlPlugin | Unavailable | null> {
    const running = this.#plugins.get(api);
    if (running) {
      await this.#dropBegun(api);
      if (problemOf(running) !== null || running.limit !== undefined) await running.lookAgain?.();
      return running;
    }
    const known = this.#unhosted.get(api);
    if (known && !known.why.refused && !(known.why.mayPass && this.#isOld(known.since))) return known.why;
    const generation = this.#generation;
    const begun = this.#begun.get(api);
    this.#begun.delete(api);
    const plugin = await (begun ? begun.finish() : this.#factories.get(api)?.create(this.#hostOf(api)));
    if (!plugin) return null;
    if ('unavailable' in plugin) {
      if (generation === this.#generation) this.#unhosted.set(api, { why: plugin, since: Date.now() });
      return plugin;
    }
    if (this.#closed || generation !== this.#generation) {
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
      emit: (event) => this.#tell(api, event),
      isHeard: () => (this.#listeners.get(api)?.size ?? 0) > 0,
    };
  }

  async #execute(
    plugin: ControlPlugin,
    command: string,
    fields: Readonly<Record<string, unknown>>,
    timeoutMs: number,
  ): Promise<unknown> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        reject(new ServiceError('BROKER_TIMEOUT', `${command} of ${plugin.api} took longer than ${timeoutMs} ms`));
      }, timeoutMs);
    });
    try {
      return await Promise.race([plugin.execute({ ...withoutNulls(plugin.api, fields), command }), late]);
    } catch (error) {
      if (error instanceof ControlRefusal) throw refusalBy(plugin, command, error, fields);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #statusChanged({ state }: LinkStatus): void {
    this.#unhosted.clear();
    this.#patient.forget();
    if (state === 'CONNECTING') {
      // Other settings: it may be another broker, of which the plugins know nothing.
      this.#generation += 1;
      this.#resolutions.clear();
      this.#closePlugins().catch(this.#onFault);
      this.#dropAllBegun().catch(this.#onFault);
    } else if (state === 'CONNECTED') {
      const before = [...this.#resolutions].filter(([, { done }]) => done !== null).map(([api]) => api);
      for (const api of before) this.#resolutions.delete(api);
      this.#connectionBegan();
      // What we host may have become possible, or unnecessary, with the restart of the broker.
      for (const api of before) if (this.#factories.has(api)) this.#resolveInBackground(api);
    }
  }

  #connectionBegan(): void {
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
      // A broker that went away meanwhile is resolved again when it is back.
      if (!(error instanceof ServiceError)) this.#onFault(error);
    });
  }

  #tell(api: ControlApi, event: ControlEvent): void {
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

  async #dropAllBegun(): Promise<void> {
    await Promise.all([...this.#begun.keys()].map((api) => this.#dropBegun(api)));
  }

  async #closePlugins(): Promise<void> {
    await Promise.all([...this.#plugins.keys()].map((api) => this.#closePlugin(api)));
  }
}

function refusalBy(
  { api }: ControlPlugin,
  command: string,
  { message, detail }: ControlRefusal,
  fields: Readonly<Record<string, unknown>>,
): ServiceError {
  if (detail === null) return refusalOf(api, command, message, fields);
  return new ServiceError(detail.code, message, { info: { api, command, ...detail.info } });
}

const problemOf = (plugin: ControlPlugin | null): string | null => plugin?.problem ?? null;

/** What is so now: a plugin of ours may have got a problem since. */
function capabilityOf({ capability, plugin }: Resolution): ControlCapability {
  const reason = problemOf(plugin);
  if (reason !== null) return { api: capability.api, provider: 'NONE', since: capability.since, reason };
  return plugin?.limit ? { ...capability, reason: plugin.limit } : capability;
}

const mayPass = (resolution: Resolution) => resolution.mayPass || problemOf(resolution.plugin) !== null;
