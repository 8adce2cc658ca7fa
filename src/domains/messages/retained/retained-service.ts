import { type InputIssue, invalid, ServiceError } from '../../../platform/errors.ts';
import { DEFAULT_PAGE, type ListConnection, type PageArguments } from '../../../platform/paging.ts';
import { cursorOf, placeIn } from '../../../platform/sorting/places.ts';
import type { BrokerMessage } from '../../../protocol/mqtt/broker-session.ts';
import { readPublishProperties } from '../../../protocol/mqtt/publish-properties.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import { tailFilterProblem } from '../message-service.ts';
import type { Completeness, RetainedReadings } from './retained-readings.ts';
import { TopicPage } from './topic-page.ts';

interface RetainedServiceOptions {
  readonly readings: RetainedReadings;
  /** NOT_SUPPORTED_BY_BROKER if retained messages of a broker cannot be read (a cluster). */
  readonly requireSupport: (broker: BrokerRecord) => void;
}

interface RetainedPageInput extends PageArguments {
  readonly filter: string;
  readonly search?: string | null | undefined;
  readonly maxPayloadBytes: number;
}

export interface RetainedMessage {
  /** Truncated to `maxPayloadBytes`. */
  readonly payload: Buffer;
  readonly payloadBytes: number;
  readonly qos: 0 | 1 | 2;
  readonly contentType: string | null;
  /** Epoch milliseconds; `null` if the message does not expire, or with MQTT 3.1.1. */
  readonly expiresAt: number | null;
}

export interface RetainedView {
  readonly broker: BrokerRecord;
  readonly topic: string;
  /** `null` if it was not read, or could not be read again. */
  readonly message: RetainedMessage | null;
}

interface RetainedConnection extends ListConnection<RetainedView> {
  readonly completeness: Completeness;
}

const BY_TOPIC = { field: 'RetainedMessage', direction: 'asc' } as const;

export const MAX_FIRST = 500;
export const MAX_PREVIEW_BYTES = 65_536;
/** Of all payloads of a page. */
const MAX_PAGE_BYTES = 4 * 1_048_576;
const MAX_TEXT = 65_535;

export class RetainedService {
  readonly #options: RetainedServiceOptions;

  constructor(options: RetainedServiceOptions) {
    this.#options = options;
  }

  /**
   * Reads the topics first, and then only the messages of the page, at QoS 2 because brokers report no higher QoS than
   * the one of the subscription. Errors: INVALID, NOT_SUPPORTED_BY_BROKER, and those of RetainedReadings.
   */
  async page(broker: BrokerRecord, input: RetainedPageInput, withMessages: boolean): Promise<RetainedConnection> {
    const first = input.first ?? DEFAULT_PAGE;
    const after = input.after == null ? null : placeIn(input.after, BY_TOPIC).key;
    const issues = issuesOf(input, first);
    if (issues.length > 0) throw invalid(issues);
    this.#options.requireSupport(broker);
    const readings: TopicPage[] = [];
    const completeness = await this.#options.readings.read(broker, {
      filters: [input.filter],
      begin: () => {
        const topics = new TopicPage({ first, after, search: input.search ?? '' });
        readings.push(topics);
        return { receive: ({ topic }) => topics.add(topic) };
      },
    });
    const topics = largestOf(readings);
    const page = topics.page();
    const messages = withMessages ? await this.#messages(broker, page.topics, input.maxPayloadBytes) : new Map();
    const edges = page.topics.map((topic) => ({
      cursor: cursorOf({ value: null, key: topic }, BY_TOPIC),
      node: { broker, topic, message: messages.get(topic) ?? null },
    }));
    return {
      edges,
      pageInfo: {
        hasNextPage: page.hasMore,
        hasPreviousPage: after !== null,
        startCursor: edges[0]?.cursor ?? null,
        endCursor: edges.at(-1)?.cursor ?? null,
      },
      totalCount: topics.count,
      completeness,
    };
  }

  async #messages(broker: BrokerRecord, topics: readonly string[], maxBytes: number) {
    let found = new Map<string, RetainedMessage>();
    if (topics.length === 0) return found;
    const begin = () => {
      found = new Map();
      const receive = (message: BrokerMessage) => void found.set(message.topic, readMessage(message, maxBytes));
      return { receive, isComplete: () => found.size === topics.length };
    };
    try {
      await this.#options.readings.read(broker, { filters: topics, qos: 2, begin });
    } catch (error) {
      // The account may subscribe to the filter, but not to each topic.
      if (!(error instanceof ServiceError) || error.code !== 'NOT_ALLOWED') throw error;
    }
    return found;
  }
}

/** The reading from which the broker dropped the fewest messages; of equal ones the last. */
const largestOf = (readings: readonly TopicPage[]): TopicPage =>
  readings.reduce((one, other) => (other.count >= one.count ? other : one));

function readMessage({ payload, qos, properties }: BrokerMessage, maxBytes: number): RetainedMessage {
  const { contentType, messageExpiryInterval } = properties === undefined ? {} : readPublishProperties(properties);
  return {
    payload: Buffer.from(payload.subarray(0, maxBytes)),
    payloadBytes: payload.length,
    qos,
    contentType: contentType ?? null,
    expiresAt: messageExpiryInterval === undefined ? null : Date.now() + messageExpiryInterval * 1_000,
  };
}

function issuesOf(input: RetainedPageInput, first: number): InputIssue[] {
  const { filter, search, after, last, before, maxPayloadBytes } = input;
  const problems = {
    filter: tailFilterProblem(filter),
    search: search == null ? null : textProblem(search),
    after: after == null ? null : textProblem(after),
    first: first >= 1 && first <= MAX_FIRST ? null : `must be 1 to ${MAX_FIRST}`,
    last: last == null ? null : 'must be missing: retained messages can only be paged forwards',
    before: before == null ? null : 'must be missing: retained messages can only be paged forwards',
    maxPayloadBytes: previewProblem(maxPayloadBytes, first),
  };
  return Object.entries(problems).flatMap(([path, reason]) => (reason === null ? [] : [{ path, reason }]));
}

function textProblem(text: string): string | null {
  if (text === '') return 'must not be empty: leave it out';
  return text.length > MAX_TEXT ? `must not exceed ${MAX_TEXT} characters` : null;
}

function previewProblem(bytes: number, first: number): string | null {
  if (bytes < 0 || bytes > MAX_PREVIEW_BYTES) return `must be 0 to ${MAX_PREVIEW_BYTES}`;
  return bytes * first > MAX_PAGE_BYTES ? `must not exceed ${MAX_PAGE_BYTES} bytes, multiplied by \`first\`` : null;
}
