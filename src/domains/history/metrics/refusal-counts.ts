import { REFUSALS_API } from '../../../protocol/apis/refusals/refusal-control.ts';
import { fieldsOf } from '../../../protocol/control/fields.ts';
import type { BrokerRuntime } from '../../brokers/broker-runtime.ts';
import type { BrokerRuntimes } from '../../brokers/broker-runtimes.ts';

interface Counted {
  /** The run of the log; another one counts from zero. */
  log: string | null;
  /** Of earlier runs. */
  before: number;
  sequence: number;
}

/** How many refusals each broker has reported, as a counter that never decreases while this service runs. */
export class RefusalCounts {
  readonly #counts = new Map<string, Counted>();

  constructor(runtimes: Pick<BrokerRuntimes, 'onRuntime'>) {
    runtimes.onRuntime((runtime, change) => {
      if (change === 'CLOSING') this.#counts.delete(runtime.id);
      else this.#follow(runtime);
    });
  }

  /** `null`: the broker does not report refusals, or has not yet. */
  of(brokerId: string): number | null {
    const counted = this.#counts.get(brokerId);
    return counted === undefined || counted.log === null ? null : counted.before + counted.sequence;
  }

  /** The listeners last as long as the runtime. */
  #follow({ id, controls, link }: BrokerRuntime): void {
    const counted: Counted = { log: null, before: 0, sequence: 0 };
    this.#counts.set(id, counted);
    controls.onEvent(REFUSALS_API, (event) => count(counted, event));
    const read = () => {
      // A broker that does not serve the API has no count.
      controls.call(REFUSALS_API, 'listRefusals', { count: 1 }).then(
        (list) => count(counted, list),
        () => undefined,
      );
    };
    link.onStatus(({ state }) => {
      if (state === 'CONNECTED') read();
    });
    if (link.status.state === 'CONNECTED') read();
  }
}

function count(counted: Counted, said: unknown): void {
  const { log, sequence } = fieldsOf(said);
  if (typeof log !== 'string' || !Number.isSafeInteger(sequence)) return;
  if (counted.log !== null && counted.log !== log) {
    counted.before += counted.sequence;
    counted.sequence = 0;
  }
  counted.log = log;
  // The response to a request may be older than an event.
  counted.sequence = Math.max(counted.sequence, Number(sequence), 0);
}
