import { invalid, ServiceError } from '../../../platform/errors.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import { filterProblem } from '../../../protocol/mqtt/topics.ts';
import type { RecorderStatus, TopicQuestions, TopicRecorder } from '../model/topic-recorder.ts';
import type { TopicSettings } from '../model/topic-settings.ts';
import { getDocumentedSettings, updateDocumentedSettings } from './documented-settings.ts';
import { MirroredTopics } from './mirrored-topics.ts';
import { askRecorder, getRecording, recordingOf, setRecording } from './recording-control.ts';
import { TOPIC_API } from './topic-control.ts';
import { type TopicSettingsChange, topicSettingIssues } from './topic-setting-issues.ts';
import { missingReceiveRight, unheardFilters } from './unheard-filters.ts';

/**
 * Access to the topics and recording settings of one broker, whichever plugin records them.
 *
 * Errors: those of the caller and of the recorder, and INVALID with all issues. Paths are `/filter` for requests, and
 * those of TopicSettings for changes.
 */
export interface TopicAsker extends Pick<TopicRecorder, 'ask'> {
  /**
   * As `ask('status')`. Also reports DENIED, with the cause, if the broker's access control withholds all messages from
   * `username`.
   */
  status(username: string | null): Promise<RecorderStatus>;
  settings(): Promise<TopicSettings>;
  /**
   * Applies all given settings or none if a plugin of this service records. Commercial brokers execute one command
   * after another.
   */
  updateSettings(change: TopicSettingsChange): Promise<void>;
}

export interface TopicAskersOptions {
  /** Time without requests in milliseconds after which mirrored topics are discarded. Default: 600,000. */
  readonly idleMs?: number;
  /** As in MirroredTopicsOptions. */
  readonly freshMs?: number;
}

/** Determines for each broker how its topics are requested. */
export class TopicAskers {
  readonly #options: TopicAskersOptions;
  readonly #askers = new WeakMap<ControlCaller, BrokerTopics>();
  /** Askers that mirror topics in this process. */
  readonly #mirroring = new Set<BrokerTopics>();

  constructor(options: TopicAskersOptions = {}) {
    this.#options = options;
  }

  /** Returns the same asker for the same caller. */
  of(controls: ControlCaller): TopicAsker {
    let asker = this.#askers.get(controls);
    if (asker === undefined) {
      asker = new BrokerTopics(controls, this.#options, this.#mirroring);
      this.#askers.set(controls, asker);
    }
    return asker;
  }

  close(): void {
    for (const asker of this.#mirroring) asker.forget();
  }
}

/**
 * OURS: a plugin of this service, in the gateway or in the embedded broker. DOCUMENTED: another implementation that
 * supports only the documented commands.
 */
type Way = 'OURS' | 'DOCUMENTED';

class BrokerTopics implements TopicAsker {
  readonly #caller: ControlCaller;
  readonly #options: TopicAskersOptions;
  readonly #mirroring: Set<BrokerTopics>;
  /** The result for one connection, which is identified by the time at which the capability was determined. */
  #way: { readonly since: number; readonly found: Promise<Way> } | null = null;
  #mirror: MirroredTopics | null = null;
  #idle: NodeJS.Timeout | null = null;

  constructor(caller: ControlCaller, options: TopicAskersOptions, mirroring: Set<BrokerTopics>) {
    this.#caller = caller;
    this.#options = options;
    this.#mirroring = mirroring;
  }

  async ask<Type extends keyof TopicQuestions>(
    type: Type,
    question: TopicQuestions[Type]['question'],
  ): Promise<TopicQuestions[Type]['answer']> {
    const filter = 'filter' in question ? question.filter : undefined;
    const problem = filter === undefined ? null : filterProblem(filter);
    if (problem !== null) throw invalid([{ path: '/filter', reason: problem }]);
    if ((await this.#found()) === 'OURS') return askRecorder(this.#caller, type, question);
    return this.#mirrored().ask(type, question);
  }

  async status(username: string | null): Promise<RecorderStatus> {
    const status = await this.ask('status', {});
    if (status.state !== 'RECORDING' || status.messages > 0) return status;
    const { provider } = await this.#caller.capability(TOPIC_API);
    if (provider !== 'GATEWAY') return status;
    const { filters } = await this.settings();
    const deniedFilters = await unheardFilters(this.#caller, username, filters.length === 0 ? ['#'] : filters);
    if (deniedFilters.length === 0) return status;
    return { ...status, state: 'DENIED', deniedFilters, reason: missingReceiveRight(deniedFilters, username) };
  }

  async settings(): Promise<TopicSettings> {
    const way = await this.#found();
    return way === 'OURS' ? getRecording(this.#caller) : getDocumentedSettings(this.#caller);
  }

  async updateSettings(change: TopicSettingsChange): Promise<void> {
    const issues = topicSettingIssues(change);
    if (issues.length > 0) throw invalid(issues);
    const way = await this.#found();
    await (way === 'OURS' ? setRecording(this.#caller, change) : updateDocumentedSettings(this.#caller, change));
  }

  /** Discards the mirrored topics. */
  forget(): void {
    if (this.#idle !== null) clearTimeout(this.#idle);
    this.#idle = null;
    this.#mirror = null;
    this.#mirroring.delete(this);
  }

  #mirrored(): MirroredTopics {
    const { idleMs = 600_000, freshMs } = this.#options;
    this.#mirror ??= new MirroredTopics({ caller: this.#caller, ...(freshMs === undefined ? {} : { freshMs }) });
    this.#mirroring.add(this);
    if (this.#idle === null) this.#idle = setTimeout(() => this.forget(), idleMs).unref();
    else this.#idle.refresh();
    return this.#mirror;
  }

  async #found(): Promise<Way> {
    const { provider, since } = await this.#caller.capability(TOPIC_API);
    // If there is no provider, the first command returns the reason.
    if (provider !== 'BROKER') return 'OURS';
    const known = this.#way;
    if (known?.since === since) return known.found;
    const way = { since, found: this.#find() };
    this.#way = way;
    way.found.then(
      (found) => found === 'OURS' && this.forget(),
      () => {
        if (this.#way === way) this.#way = null;
      },
    );
    return way.found;
  }

  /** Sends a command that starts no recording, together with one that every implementation supports. */
  async #find(): Promise<Way> {
    const [ours, documented] = await this.#caller.callAll(TOPIC_API, [
      { command: 'getRecording' },
      { command: 'getTtl' },
    ]);
    if (ours?.status === 'fulfilled') return recordingOf(ours.value) === null ? 'DOCUMENTED' : 'OURS';
    if (documented?.status === 'fulfilled' || isUnknown(ours?.reason)) return 'DOCUMENTED';
    throw documented?.reason;
  }
}

const isUnknown = (error: unknown): boolean =>
  error instanceof ServiceError && error.code === 'NOT_SUPPORTED_BY_BROKER';
