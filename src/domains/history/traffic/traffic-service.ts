import { invalid, ServiceError } from '../../../platform/errors.ts';
import {
  getLastPublisher,
  type LastPublisher,
  listTopClients,
  listTopTopics,
  MAX_COUNTED_LEVELS,
  MAX_TOP,
  type TopicMeasure,
  type TopList,
  type TrafficMeasure,
  type TrafficWindow,
} from '../../../protocol/apis/clients/traffic-control.ts';
import type { ControlCaller } from '../../../protocol/control/plugin.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';

export interface TopListView extends TopList {
  readonly broker: BrokerRecord;
}

interface TopArguments<Measure extends TrafficMeasure = TrafficMeasure> {
  readonly by: Measure;
  readonly last: TrafficWindow;
  readonly first?: number | null | undefined;
}

const DEFAULT_TOP = 10;
const NOT_COUNTED =
  'The broker does not report the traffic of single clients and topics; the embedded broker of this service does. Mosquitto publishes no log lines about messages: record its topics to see them.';

/** Which clients and topics of a broker have the most traffic. Errors: NOT_SUPPORTED_BY_BROKER, those of `ask`. */
export class TrafficService {
  readonly #runtimes: BrokerRuntimes;

  constructor(runtimes: BrokerRuntimes) {
    this.#runtimes = runtimes;
  }

  topClients(broker: BrokerRecord, { by, last, first }: TopArguments): Promise<TopListView> {
    const count = countOf(first);
    return this.#top(broker, (controls) => listTopClients(controls, { by, last, count }));
  }

  /** Errors: also INVALID. */
  topTopics(
    broker: BrokerRecord,
    { by, last, first, levels = null }: TopArguments<TopicMeasure> & { readonly levels?: number | null | undefined },
  ): Promise<TopListView> {
    const count = countOf(first);
    if (levels !== null && (levels < 1 || levels > MAX_COUNTED_LEVELS))
      throw invalid([{ path: 'levels', reason: `must be 1 to ${MAX_COUNTED_LEVELS}` }]);
    return this.#top(broker, (controls) => listTopTopics(controls, { by, last, count, levels }));
  }

  lastPublisher(broker: BrokerRecord, topic: string): Promise<LastPublisher | null> {
    return this.#ask(broker, (controls) => getLastPublisher(controls, topic));
  }

  async #top(broker: BrokerRecord, request: (controls: ControlCaller) => Promise<TopList>): Promise<TopListView> {
    return { ...(await this.#ask(broker, request)), broker };
  }

  async #ask<T>(broker: BrokerRecord, request: (controls: ControlCaller) => Promise<T>): Promise<T> {
    try {
      return await this.#runtimes.ask(broker, ({ controls }) => request(controls));
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'NOT_SUPPORTED_BY_BROKER') throw error;
      throw new ServiceError(error.code, NOT_COUNTED, { info: { reason: NOT_COUNTED }, cause: error });
    }
  }
}

/** Errors: INVALID. */
function countOf(first: number | null | undefined): number {
  const count = first ?? DEFAULT_TOP;
  if (count < 0 || count > MAX_TOP) throw invalid([{ path: 'first', reason: `must be 0 to ${MAX_TOP}` }]);
  return count;
}
