import { LISTED } from '../../../data-plane/history/client-events/client-events-module.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { Sealer } from '../../../platform/storage/encryption/sealed.ts';
import { isClientEventsChanged } from '../../../protocol/apis/clients/client-events.ts';
import { INSPECT_API } from '../../../protocol/apis/clients/inspect-control.ts';
import { REFUSALS_API } from '../../../protocol/apis/refusals/refusal-control.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import type { BrokerRuntime } from '../../brokers/broker-runtime.ts';
import type { ClientService } from '../../clients/client-service.ts';
import type { RefusalService } from '../../refusals/refusal-service.ts';
import type { EventWriter } from './event-writer.ts';
import { writeListedEvents } from './listed-events.ts';
import { NumberedEvents } from './numbered-events.ts';
import { RefusalEvents } from './refusal-events.ts';

interface BrokerEventsOptions {
  readonly broker: BrokerRecord;
  readonly runtime: BrokerRuntime;
  readonly writer: EventWriter;
  readonly sealer: Pick<Sealer, 'seal'>;
  readonly clients: ClientService;
  readonly refusals: RefusalService;
  readonly isOwn: (clientId: string) => boolean;
  readonly onFault: (error: unknown) => void;
}

/** Refusals are read at most once in this time, so that a flood is few events. */
const REFUSALS_MS = 1_000;
/** Events are read again although none was reported, because a report can be lost. */
const AGAIN_MS = 10_000;

/** Records the events of one broker, while this process is the one that does. */
export class BrokerEvents {
  readonly #options: BrokerEventsOptions;
  readonly #numbered: NumberedEvents;
  readonly #refusals: RefusalEvents;
  readonly #stops: (() => void)[] = [];
  readonly #closed = new AbortController();
  #reading: Promise<void> | null = null;
  /** Since when there is more to read than the current reading may have read. */
  #readAgainSince: number | null = null;
  /** Since when there is something to read, in epoch milliseconds: events and refusals. */
  readonly #unread = new Set<{ readonly since: number }>();
  #isListed = false;
  /** The log of the last START; `null` after a STOP. */
  #notedLog: string | null = null;
  #refusalTimer: NodeJS.Timeout | null = null;

  constructor(options: BrokerEventsOptions) {
    const { broker, runtime, writer, sealer, isOwn, onFault } = options;
    const { controls, link } = runtime;
    this.#options = options;
    this.#numbered = new NumberedEvents({ controls, writer, isOwn });
    this.#refusals = new RefusalEvents({ broker: broker.id, writer, sealer });
    // Before something is written. What is written needs the result, so it is not written if this fails.
    writer.end().catch(onFault);
    const timer = setInterval(() => this.#readSoon(), AGAIN_MS).unref();
    this.#stops.push(
      controls.onEvent(INSPECT_API, (event) => isClientEventsChanged(event) && this.#readSoon()),
      controls.onEvent(REFUSALS_API, () => this.#refusalsSoon()),
      link.onStatus(({ state }) => {
        if (state !== 'CONNECTED') {
          this.#noteStop();
          return;
        }
        this.#readSoon();
        this.#refusalsSoon();
      }),
      () => clearInterval(timer),
      () => this.#refusalTimer && clearTimeout(this.#refusalTimer),
    );
    if (link.status.state !== 'CONNECTED') return;
    this.#readSoon();
    this.#refusalsSoon();
  }

  /** Everything until then is written, in epoch milliseconds, except events that are late by up to LATE_EVENT_MS. */
  get writtenUntil(): number {
    return Math.min(Date.now(), ...Array.from(this.#unread, ({ since }) => since)) - this.#numbered.lateMs;
  }

  /** Notes again that the broker is followed, if the last note may expire soon. */
  repeatStart(): void {
    this.#options.writer.repeatStart(this.writtenUntil);
  }

  /** Writes nothing more. */
  close(): void {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort(new ServiceError('BROKER_UNREACHABLE', 'The events of the broker are not recorded any longer'));
    for (const stop of this.#stops.splice(0)) stop();
    if (this.#isListed) this.#options.writer.note('STOP', LISTED);
    else this.#noteStop();
  }

  /** Notes until when the record is complete, in case that this process is gone before it reads again. */
  #noteStop(): void {
    if (this.#notedLog !== null) this.#options.writer.note('STOP', this.#notedLog, this.#numbered.completeUntil);
    this.#notedLog = null;
  }

  #readSoon(since = Date.now()): void {
    if (this.#closed.signal.aborted || this.#isListed) return;
    if (this.#reading !== null) {
      this.#readAgainSince ??= since;
      return;
    }
    this.#reading = this.#whileUnread(since, () => this.#read())
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#reading = null;
        const again = this.#readAgainSince;
        this.#readAgainSince = null;
        if (again !== null) this.#readSoon(again);
      });
  }

  async #whileUnread(since: number, read: () => Promise<void>): Promise<void> {
    const unread = { since };
    this.#unread.add(unread);
    try {
      await read();
    } finally {
      this.#unread.delete(unread);
    }
  }

  async #read(): Promise<void> {
    const { runtime } = this.#options;
    if (runtime.link.status.state !== 'CONNECTED') return;
    const { provider } = await runtime.controls.capability(INSPECT_API);
    if (this.#closed.signal.aborted) return;
    if (provider === 'NONE') {
      this.#noteStop();
      return;
    }
    const isNumbered = await this.#numbered.read().catch((error: unknown) => {
      if (error instanceof ServiceError && error.code === 'NOT_SUPPORTED_BY_BROKER') return false;
      throw error;
    });
    if (this.#closed.signal.aborted) return;
    const { log } = this.#numbered;
    if (!isNumbered) void this.#list();
    else if (log !== null && log !== this.#notedLog) {
      this.#notedLog = log;
      this.#options.writer.note('START', log, this.#numbered.completeUntil);
    }
  }

  /** Never rejects. */
  async #list(): Promise<void> {
    const { broker, clients, writer, isOwn } = this.#options;
    const { signal } = this.#closed;
    this.#isListed = true;
    try {
      await writeListedEvents(writer, await clients.watch(broker, { signal }), isOwn);
    } catch (error) {
      this.#failed(error);
    }
    // Tried again with the next connection, or the next check.
    this.#isListed = false;
  }

  #refusalsSoon(): void {
    if (this.#closed.signal.aborted) return;
    if (this.#refusalTimer !== null) return;
    const whenDue = new Promise<void>((resolve) => {
      this.#refusalTimer = setTimeout(resolve, REFUSALS_MS).unref();
    });
    this.#whileUnread(Date.now(), async () => {
      await whenDue;
      this.#refusalTimer = null;
      await this.#readRefusals();
    }).catch((error: unknown) => this.#failed(error));
  }

  async #readRefusals(): Promise<void> {
    const { runtime, refusals } = this.#options;
    if (runtime.link.status.state !== 'CONNECTED') return;
    const { provider } = await runtime.controls.capability(REFUSALS_API);
    if (provider === 'NONE') return;
    const list = await refusals.reported(runtime);
    if (!this.#closed.signal.aborted) await this.#refusals.write(list);
  }

  /** The next report, connection or check reads again; numbers and times show what is missing then. */
  #failed(error: unknown): void {
    this.#noteStop();
    if (!(error instanceof ServiceError)) this.#options.onFault(error);
  }
}
