import {
  getDocumentedSettings,
  TOPIC_API,
  updateDocumentedSettings,
} from '../../../data-plane/topic-tree/control/topic-control.ts';
import {
  type TopicSettingsChange,
  topicSettingIssues,
} from '../../../data-plane/topic-tree/control/topic-setting-issues.ts';
import type { QueryTopics, RecorderStatus } from '../../../data-plane/topic-tree/model/topic-recorder.ts';
import type { TopicSettings } from '../../../data-plane/topic-tree/model/topic-settings.ts';
import { invalid, ServiceError } from '../../../platform/errors.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import { filterProblem } from '../../../protocol/mqtt/topics.ts';
import { MirroredTopics } from './mirrored-topics.ts';
import { getRecording, queryRecorder, recordingOf, setRecording } from './recorder-client.ts';
import { missingReceiveRight, withheldFilters } from './withheld-filters.ts';

export interface TopicSourcesOptions {
  /** Time without requests in milliseconds after which mirrored topics are discarded. Default: 600,000. */
  readonly idleMs?: number;
  /** As in MirroredTopics. */
  readonly maxAgeMs?: number;
}

export class TopicSources {
  readonly #options: TopicSourcesOptions;
  readonly #sources = new WeakMap<ControlCaller, TopicSource>();
  readonly #mirroring = new Set<TopicSource>();

  constructor(options: TopicSourcesOptions = {}) {
    this.#options = options;
  }

  of(controls: ControlCaller): TopicSource {
    let source = this.#sources.get(controls);
    if (source === undefined) {
      source = new TopicSource(controls, this.#options, this.#mirroring);
      this.#sources.set(controls, source);
    }
    return source;
  }

  close(): void {
    for (const source of this.#mirroring) source.discardMirror();
  }
}

/** OWN: a plugin of this service. DOCUMENTED: another implementation with only the documented commands. */
type Provider = 'OWN' | 'DOCUMENTED';

/**
 * The topics and recording settings of one broker, whichever plugin records them. Errors: those of `ControlCaller` and
 * of the recorder; INVALID with all issues.
 */
export class TopicSource {
  readonly #caller: ControlCaller;
  readonly #options: TopicSourcesOptions;
  readonly #mirroring: Set<TopicSource>;
  /** The provider on one connection, which is identified by the time at which the capability was determined. */
  #provider: { readonly since: number; readonly probe: Promise<Provider> } | null = null;
  #mirror: MirroredTopics | null = null;
  #idle: NodeJS.Timeout | null = null;

  constructor(caller: ControlCaller, options: TopicSourcesOptions, mirroring: Set<TopicSource>) {
    this.#caller = caller;
    this.#options = options;
    this.#mirroring = mirroring;
  }

  readonly query: QueryTopics = async (type, request) => {
    const filter = 'filter' in request ? request.filter : undefined;
    const problem = filter === undefined ? null : filterProblem(filter);
    if (problem !== null) throw invalid([{ path: '/filter', reason: problem }]);
    if ((await this.#findProvider()) === 'OWN') return queryRecorder(this.#caller, type, request);
    return this.#openMirror().query(type, request);
  };

  /** Also reports DENIED, with the cause, if access control withholds all messages from `username`. */
  async status(username: string | null): Promise<RecorderStatus> {
    const status = await this.query('status', {});
    if (status.state !== 'RECORDING' || status.messages > 0) return status;
    const { provider } = await this.#caller.capability(TOPIC_API);
    if (provider !== 'GATEWAY') return status;
    const { filters } = await this.settings();
    const deniedFilters = await withheldFilters(this.#caller, username, filters.length === 0 ? ['#'] : filters);
    if (deniedFilters.length === 0) return status;
    return { ...status, state: 'DENIED', deniedFilters, reason: missingReceiveRight(deniedFilters, username) };
  }

  async settings(): Promise<TopicSettings> {
    const provider = await this.#findProvider();
    return provider === 'OWN' ? getRecording(this.#caller) : getDocumentedSettings(this.#caller);
  }

  /** Applies all given settings or none. Commercial brokers execute one command after another. */
  async updateSettings(change: TopicSettingsChange): Promise<void> {
    const issues = topicSettingIssues(change);
    if (issues.length > 0) throw invalid(issues);
    const provider = await this.#findProvider();
    await (provider === 'OWN' ? setRecording(this.#caller, change) : updateDocumentedSettings(this.#caller, change));
  }

  discardMirror(): void {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#idle = null;
    this.#mirror = null;
    this.#mirroring.delete(this);
  }

  #openMirror(): MirroredTopics {
    const { idleMs = 600_000, maxAgeMs } = this.#options;
    this.#mirror ??= new MirroredTopics({ caller: this.#caller, maxAgeMs });
    this.#mirroring.add(this);
    if (this.#idle === null) this.#idle = setTimeout(() => this.discardMirror(), idleMs).unref();
    else this.#idle.refresh();
    return this.#mirror;
  }

  async #findProvider(): Promise<Provider> {
    const { provider, since } = await this.#caller.capability(TOPIC_API);
    // If there is no provider, the first command returns the reason.
    if (provider !== 'BROKER') return 'OWN';
    if (this.#provider?.since === since) return this.#provider.probe;
    const current = { since, probe: this.#probe() };
    this.#provider = current;
    try {
      const found = await current.probe;
      if (found === 'OWN') this.discardMirror();
      return found;
    } catch (error) {
      if (this.#provider === current) this.#provider = null;
      throw error;
    }
  }

  /** Sends a command that starts no recording, together with one that every implementation supports. */
  async #probe(): Promise<Provider> {
    const [own, documented] = await this.#caller.callAll(TOPIC_API, [
      { command: 'getRecording' },
      { command: 'getTtl' },
    ]);
    if (own?.status === 'fulfilled') return recordingOf(own.value) === null ? 'DOCUMENTED' : 'OWN';
    if (documented?.status === 'fulfilled' || isUnsupported(own?.reason)) return 'DOCUMENTED';
    throw documented?.reason;
  }
}

const isUnsupported = (error: unknown): boolean =>
  error instanceof ServiceError && error.code === 'NOT_SUPPORTED_BY_BROKER';
