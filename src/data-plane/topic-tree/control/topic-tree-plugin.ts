import { isDeepStrictEqual } from 'node:util';
import { ServiceError } from '../../../platform/errors.ts';
import { ConcurrencyLimit } from '../../../platform/scheduling/concurrency-limit.ts';
import type { ControlCommand } from '../../../protocol/control/envelope.ts';
import { fieldOf } from '../../../protocol/control/fields.ts';
import { asRefusal, refuseIssues } from '../../../protocol/control/issue-refusals.ts';
import { type ControlPlugin, ControlRefusal } from '../../../protocol/control/plugin.ts';
import { pageOf, runCommandOf } from '../../../protocol/control/plugin-arguments.ts';
import type { Stop } from '../../../protocol/mqtt/broker-session.ts';
import type { FindTopics, QueryTopics, TopicRecorder, TopicRequests } from '../model/topic-recorder.ts';
import { MAX_FILTERS, type TopicSettings, type TopicSettingsStore } from '../model/topic-settings.ts';
import { parseRequest } from './request-parser.ts';
import { ResponseBudget, shortened } from './response-budget.ts';
import { TOPIC_API } from './topic-control.ts';
import { topicListing } from './topic-listing.ts';
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
  readonly recorder: TopicRecorder;
  readonly onFault: (error: unknown) => void;
}

type FilterList = 'filters' | 'excludedFilters';

/**
 * The commands of `cedalo/topictree`, over stored settings and a recorder: as a gateway plugin, and for the embedded
 * broker. In addition to the documented commands there are requests to the recorder, `exclude` in the commands for
 * filters, and `getRecording` and `setRecording`, which change several settings together or not at all. Requests for
 * topics start the recording. Reading and changing settings does not. Refusals: `Filter not found`, `Filter already
 * exists`, `Invalid <path>: <reason>` as INVALID with all issues, and the errors of the recorder.
 */
export class TopicTreePlugin implements ControlPlugin {
  readonly api = TOPIC_API;
  /** Resolves when the initial settings are applied to the recorder. */
  readonly started: Promise<void>;
  readonly #options: TopicTreePluginOptions;
  readonly #stop: Stop;
  readonly #changes = new ConcurrencyLimit({ maxRunning: 1 });
  /** Settings that were last applied to the recorder. `null` if that may have failed. */
  #applied: TopicSettings | null = null;
  /** Size budget of the current request over MQTT. `null` if the response does not share a packet with others. */
  #budget: ResponseBudget | null = null;
  #closed = false;

  constructor(options: TopicTreePluginOptions) {
    this.#options = options;
    this.#stop = options.settings.onChange(() => void this.#follow());
    this.started = this.#follow();
  }

  execute(command: ControlCommand): unknown {
    if (this.#closed)
      throw new ControlRefusal('The topic tree of this broker is closed', { code: 'BROKER_UNREACHABLE' });
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
        gettopicstatus: (c) => this.#query('status', c),
        findtopics: (c) => this.#query('find', c),
        listlevels: (c) => this.#query('levels', c),
        gettopic: (c) => this.#query('topic', c),
        topicchanges: (c) => this.#query('changes', c),
      },
      command,
    );
  }

  /** Called before a request over MQTT. Such requests are executed one after another. */
  async prepare(commands: readonly ControlCommand[]): Promise<void> {
    this.#budget = new ResponseBudget(commands.length);
  }

  async settle(): Promise<void> {
    this.#budget = null;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stop();
    await this.#changes.run(async () => undefined);
  }

  get #settings(): TopicSettings {
    return this.#options.settings.get();
  }

  async #count(): Promise<object> {
    const { published, subscribed, subscribedReason } = await this.#queryRecorder('status', {});
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
    const budget = this.#assertBudget();
    const { offset, count } = pageOf(command);
    const status = await this.#queryRecorder('status', {});
    const find = (request: FindTopics) => this.#queryRecorder('find', request);
    const listing = await topicListing(status, find, offset, count, budget?.bytesEach);
    budget?.spend(listing);
    return listing;
  }

  async #query<Type extends keyof TopicRequests>(type: Type, command: ControlCommand): Promise<unknown> {
    const budget = this.#assertBudget();
    const request = parseRequest(type, command);
    if (budget === null) return this.#queryRecorder(type, request);
    const limited = 'first' in request ? { ...request, first: budget.limitPage(request.first) } : request;
    const response = shortened[type](await this.#queryRecorder(type, limited), budget.bytesEach);
    budget.spend(response);
    return response;
  }

  /** Errors: TOO_LARGE if the earlier responses of the request have exhausted its budget. */
  #assertBudget(): ResponseBudget | null {
    if (this.#budget?.isExhausted !== true) return this.#budget;
    throw new ControlRefusal('The response would be too large: send fewer commands in one request', {
      code: 'TOO_LARGE',
    });
  }

  readonly #queryRecorder: QueryTopics = async (type, request) => {
    await this.started;
    return asRefusal(this.#options.recorder.query(type, request));
  };

  #addFilter(command: ControlCommand): Promise<void> {
    const list = listOf(command);
    const filter = fieldOf(command, 'filter');
    const problem = recordFilterProblem(filter);
    if (problem !== null) refuseIssues([{ path: '/filter', reason: problem }]);
    return this.#change((settings) => {
      const filters = settings[list];
      if (filters.includes(filter as string)) throw new ControlRefusal('Filter already exists');
      if (filters.length >= MAX_FILTERS) {
        refuseIssues([{ path: '/filter', reason: `must not be added: the list already has ${MAX_FILTERS} filters` }]);
      }
      return { ...settings, [list]: [...filters, filter] };
    });
  }

  #removeFilter(command: ControlCommand): Promise<void> {
    const list = listOf(command);
    const filter = fieldOf(command, 'filter');
    if (typeof filter !== 'string') refuseIssues([{ path: '/filter', reason: 'must be a topic filter' }]);
    return this.#change((settings) => {
      const filters = settings[list].filter((one) => one !== filter);
      if (filters.length === settings[list].length) throw new ControlRefusal('Filter not found');
      return { ...settings, [list]: filters };
    });
  }

  /** Also clears `excludedFilters` unless `exclude` is given: everything is recorded afterwards. */
  #clearFilters(command: ControlCommand): Promise<void> {
    const isGiven = (fieldOf(command, 'exclude') ?? null) !== null;
    const cleared = isGiven ? { [listOf(command)]: [] } : { filters: [], excludedFilters: [] };
    return this.#change((settings) => ({ ...settings, ...cleared }));
  }

  async #set(change: UncheckedChange): Promise<void> {
    refuseIssues(topicSettingIssues(change, WIRE_NAMES));
    await this.#change((settings) => ({ ...settings, ...(change as Partial<TopicSettings>) }));
  }

  #change(changed: (settings: TopicSettings) => TopicSettings): Promise<void> {
    return this.#changes.run(async () => {
      const { settings } = this.#options;
      const previous = settings.get();
      const next = changed(previous);
      if (!isDeepStrictEqual(next, previous)) await asRefusal(settings.put(next));
      await this.#apply();
    });
  }

  #follow(): Promise<void> {
    return this.#changes.run(() => this.#apply()).catch(this.#options.onFault);
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
}

/** Returns the given settings with unvalidated values. A field that is null counts as missing. */
function given(command: ControlCommand, keys: readonly (keyof TopicSettings)[]): UncheckedChange {
  const entries = keys.map((key) => [key, fieldOf(command, WIRE_NAMES[key]) ?? undefined] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function listOf(command: ControlCommand): FilterList {
  const exclude = fieldOf(command, 'exclude') ?? false;
  if (typeof exclude !== 'boolean') refuseIssues([{ path: '/exclude', reason: 'must be true or false' }]);
  return exclude ? 'excludedFilters' : 'filters';
}
