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
 * The topics of one broker and how they are recorded, whoever does it.
 *
 * Errors: those of the caller, of the recorder, and INVALID with all issues: `/filter` of a question, paths of TopicSettings of a change.
 */
export interface TopicAsker extends Pick<TopicRecorder, 'ask'> {
  /** As `ask` tells it, and why nothing comes where the broker's access control keeps all of it from `username`: DENIED. */
  status(username: string | null): Promise<RecorderStatus>;
  settings(): Promise<TopicSettings>;
  /** All that is given or nothing, where a plugin of ours records; a commercial broker takes one thing after the other. */
  updateSettings(change: TopicSettingsChange): Promise<void>;
}

export interface TopicAskersOptions {
  /** Mirrors that nobody asks are given up after so many milliseconds. Default 600,000. */
  readonly idleMs?: number;
  /** As MirroredTopicsOptions has it. */
  readonly freshMs?: number;
}

/** Finds out for each broker how it is asked for its topics. */
export class TopicAskers {
  readonly #options: TopicAskersOptions;
  readonly #askers = new WeakMap<ControlCaller, BrokerTopics>();
  /** Those that hold topics here. */
  readonly #mirroring = new Set<BrokerTopics>();

  constructor(options: TopicAskersOptions = {}) {
    this.#options = options;
  }

  /** The same for the same broker. */
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

/** OURS: a plugin of ours serves it, here or as the embedded broker. DOCUMENTED: another maker's, with the documented commands alone. */
type Way = 'OURS' | 'DOCUMENTED';

class BrokerTopics implements TopicAsker {
  readonly #caller: ControlCaller;
  readonly #options: TopicAskersOptions;
  readonly #mirroring: Set<BrokerTopics>;
  /** Found out for a connection, which is known by when the capability was. */
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

  /** Gives up what is held here of the broker's topics. */
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
    // Where nobody serves it the first command says why.
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

  /** One that begins no recording, beside one that every such broker knows. */
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
