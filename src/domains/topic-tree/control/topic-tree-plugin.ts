import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '../../../platform/errors.ts';
import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import { fieldOf } from '../../../protocol/control/fields.ts';
import { type ControlPlugin, ControlRefusal } from '../../../protocol/control/plugin.ts';
import { pageOf, runCommandOf } from '../../../protocol/control/plugin-arguments.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { TopicQuestions, TopicRecorder } from '../model/topic-recorder.ts';
import { MAX_FILTERS, type TopicSettings, type TopicSettingsStore } from '../model/topic-settings.ts';
import { AnswerRoom, shortened } from './answer-room.ts';
import { TOPIC_API } from './topic-control.ts';
import { topicListing } from './topic-listing.ts';
import { readQuestion, refuse } from './topic-questions.ts';
import {
  recordFilterProblem,
  SETTING_KEYS,
  settingFields,
  topicSettingIssues,
  type UncheckedChange,
  WIRE_NAMES,
} from './topic-setting-issues.ts';

interface TopicTreePluginOptions {
  readonly settings: TopicSettingsStore;
  /** Closed by its creator. */
  readonly recorder: TopicRecorder;
  /** Reports an unexpected error of the recorder that belongs to no caller. */
  readonly onFault: (error: unknown) => void;
}

type FilterList = 'filters' | 'excludedFilters';

/**
 * The commands of `cedalo/topictree`, over stored settings and a recorder. It serves remote brokers as a gateway
 * plugin, and the embedded broker. Field names are case-insensitive.
 *
 * In addition to the documented commands there are those of this service:
 * - requests to the recorder,
 * - `exclude` in the commands for filters,
 * - `getRecording` and `setRecording` for all settings, so that several change together or not at all.
 *
 * Changes are executed one after another: each is validated, stored and applied to the recorder. A change to equal
 * values does nothing. Changes by other processes are applied when they are noticed. Requests for topics start the
 * recording. Reading and changing settings does not.
 *
 * Refusals: `Filter not found`, `Filter already exists`, `Invalid <path>: <reason>` as INVALID with all issues, and the
 * errors of the recorder.
 */
export class TopicTreePlugin implements ControlPlugin {
  readonly api = TOPIC_API;
  /** Resolves when the initial settings are applied to the recorder. */
  readonly started: Promise<void>;
  readonly #options: TopicTreePluginOptions;
  readonly #stop: Stop;
  /** Settings that were last applied to the recorder. `null` if that may have failed. */
  #applied: TopicSettings | null = null;
  /** The last change. Never rejects. */
  #tail: Promise<unknown> = Promise.resolve();
  /** Size budget of the current request over MQTT. */
  #room: AnswerRoom | null = null;
  #closed = false;

  constructor(options: TopicTreePluginOptions) {
    this.#options = options;
    this.#stop = options.settings.onChange(() => this.#follow());
    this.#follow();
    this.started = this.#tail.then(() => undefined);
  }

  execute(command: ControlCommand): unknown {
    if (this.#closed) throw new ControlRefusal('Topics are not served any more', { code: 'BROKER_UNREACHABLE' });
    return runCommandOf(
      {
        topiccount: () => this.#count(),
        listtopics: (c) => this.#list(c),
        getttl: () => ({ ttl: this.#settings.ttlSeconds }),
        setttl: (c) => this.#set({ ttlSeconds: fieldOf(c, 'ttl') ?? null }),
        addfilter: (c) => this.#addFilter(c),
        removefilter: (c) => this.#removeFilter(c),
        clearfilters: (c) => this.#clearFilters(c),
        listfilters: () => {
          const { filters, excludedFilters } = this.#settings;
          return { filters, excludedFilters };
        },
        getlimits: () => {
          const { publishLimit, subscribeLimit, payloadLimit } = this.#settings;
          return { publishLimit, subscribeLimit, payloadLimit };
        },
        setlimits: (c) => this.#set(given(c, ['publishLimit', 'subscribeLimit', 'payloadLimit'])),
        getrecording: () => settingFields(this.#settings),
        setrecording: (c) => this.#set(given(c, SETTING_KEYS)),
        gettopicstatus: (c) => this.#answer('status', c),
        findtopics: (c) => this.#answer('find', c),
        listlevels: (c) => this.#answer('levels', c),
        gettopic: (c) => this.#answer('topic', c),
        topicchanges: (c) => this.#answer('changes', c),
      },
      command,
    );
  }

  /** Called before a request over MQTT. Such requests are executed one after another. */
  async prepare(commands: readonly ControlCommand[]): Promise<void> {
    this.#room = new AnswerRoom(commands.length);
  }

  async settle(): Promise<void> {
    this.#room = null;
  }

  /** Waits for running changes. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#stop();
    await this.#tail;
  }

  get #settings(): TopicSettings {
    return this.#options.settings.get();
  }

  async #count(): Promise<object> {
    const { published, subscribed, subscribedReason } = await this.#ask('status', {});
    const isTruncated = published.isTruncated || subscribed?.isTruncated === true;
    return {
      publishCount: published.count,
      ...(subscribed === null
        ? { unavailable: { subscribeCount: subscribedReason } }
        : { subscribeCount: subscribed.count }),
      ...(isTruncated ? { truncated: true } : {}),
    };
  }

  async #list(command: ControlCommand): Promise<object> {
    const room = this.#freeRoom();
    const { offset, count } = pageOf(command);
    const status = await this.#ask('status', {});
    const place = { offset, count, maxBytes: room?.bytesEach ?? Number.POSITIVE_INFINITY };
    const listing = await topicListing(status, (kind, page) => this.#ask('find', { kind, ...page }), place);
    room?.take(listing);
    return listing;
  }

  async #answer<Type extends keyof TopicQuestions>(type: Type, command: ControlCommand): Promise<unknown> {
    const room = this.#freeRoom();
    const question = readQuestion[type](command);
    if (room === null) return this.#ask(type, question);
    const fitting = 'first' in question ? { ...question, first: room.firstOf(question.first) } : question;
    const answer = await this.#ask(type, fitting);
    const told = shortened[type](answer, room.bytesEach);
    room.take(told);
    return told;
  }

  /** Returns `null` if the response does not share a packet with others. */
  #freeRoom(): AnswerRoom | null {
    if (this.#room?.isFull !== true) return this.#room;
    throw new ControlRefusal('The answer would be too large: ask for less in one request', { code: 'TOO_LARGE' });
  }

  async #ask<Type extends keyof TopicQuestions>(
    type: Type,
    question: TopicQuestions[Type]['question'],
  ): Promise<TopicQuestions[Type]['answer']> {
    await this.started;
    return asked(this.#options.recorder.ask(type, question));
  }

  #addFilter(command: ControlCommand): Promise<void> {
    const list = listOf(command);
    const filter = fieldOf(command, 'filter');
    const problem = recordFilterProblem(filter);
    if (problem !== null) refuse([{ path: '/filter', reason: problem }]);
    return this.#change((settings) => {
      const filters = settings[list];
      if (filters.includes(filter as string)) throw new ControlRefusal('Filter already exists');
      if (filters.length >= MAX_FILTERS) {
        refuse([{ path: '/filter', reason: `must not be more than the ${MAX_FILTERS} that there are` }]);
      }
      return { ...settings, [list]: [...filters, filter] };
    });
  }

  #removeFilter(command: ControlCommand): Promise<void> {
    const list = listOf(command);
    const filter = fieldOf(command, 'filter');
    if (typeof filter !== 'string') refuse([{ path: '/filter', reason: 'must be a topic filter' }]);
    return this.#change((settings) => {
      const filters = settings[list].filter((one) => one !== filter);
      if (filters.length === settings[list].length) throw new ControlRefusal('Filter not found');
      return { ...settings, [list]: filters };
    });
  }

  /**
   * According to the documentation, everything is recorded afterwards. So `excludedFilters` is also cleared unless
   * `exclude` is given.
   */
  #clearFilters(command: ControlCommand): Promise<void> {
    const isGiven = (fieldOf(command, 'exclude') ?? null) !== null;
    const cleared = isGiven ? { [listOf(command)]: [] } : { filters: [], excludedFilters: [] };
    return this.#change((settings) => ({ ...settings, ...cleared }));
  }

  async #set(change: UncheckedChange): Promise<void> {
    refuse(topicSettingIssues(change, WIRE_NAMES));
    await this.#change((settings) => ({ ...settings, ...(change as Partial<TopicSettings>) }));
  }

  #change(changed: (settings: TopicSettings) => TopicSettings): Promise<void> {
    return this.#inOrder(async () => {
      const { settings } = this.#options;
      const before = settings.get();
      const after = changed(before);
      if (!isDeepStrictEqual(after, before)) await asked(settings.put(after));
      await this.#apply();
    });
  }

  #follow(): void {
    this.#inOrder(() => this.#apply()).catch(this.#options.onFault);
  }

  async #apply(): Promise<void> {
    const settings = this.#settings;
    if (isDeepStrictEqual(settings, this.#applied)) return;
    this.#applied = null;
    try {
      await this.#options.recorder.apply(settings);
      this.#applied = settings;
    } catch (error) {
      // The settings are stored, and the recorder uses them when it starts again.
      if (!(error instanceof ServiceError)) throw error;
    }
  }

  #inOrder<T>(step: () => Promise<T>): Promise<T> {
    const done = this.#tail.then(step);
    this.#tail = done.catch(() => undefined);
    return done;
  }
}

/** Returns the given settings with unvalidated values. A field that is null counts as missing. */
function given(command: ControlCommand, keys: readonly (keyof TopicSettings)[]): UncheckedChange {
  const entries = keys.map((key) => [key, fieldOf(command, WIRE_NAMES[key]) ?? undefined] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function listOf(command: ControlCommand): FilterList {
  const exclude = fieldOf(command, 'exclude') ?? false;
  if (typeof exclude !== 'boolean') refuse([{ path: '/exclude', reason: 'must be true or false' }]);
  return exclude ? 'excludedFilters' : 'filters';
}

/** Returns errors of the recorder or the database to the caller as refusals. */
async function asked<T>(question: Promise<T>): Promise<T> {
  try {
    return await question;
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const { code, message, info } = error;
    throw new ControlRefusal(message, { code, ...(info === undefined ? {} : { info }) });
  }
}
