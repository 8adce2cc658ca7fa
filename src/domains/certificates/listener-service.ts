import type { BrokerRecord } from '../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import type { ListenerEntry } from './certificate-commands.ts';
import { listListeners } from './certificate-control.ts';
import type { CertificateRecord } from './certificate-directory.ts';
import type { CertificateService } from './certificate-service.ts';

/** A listener as the broker tells it, with what is recorded as deployed there. */
export interface ListenerView {
  readonly entry: ListenerEntry;
  readonly certificates: readonly CertificateRecord[];
}

/** Where brokers listen. Errors: NOT_SUPPORTED_BY_BROKER where nobody tells, and those of a broker that cannot be asked. */
export class ListenerService {
  readonly #runtimes: BrokerRuntimes;
  readonly #certificates: CertificateService;

  constructor(runtimes: BrokerRuntimes, certificates: CertificateService) {
    this.#runtimes = runtimes;
    this.#certificates = certificates;
  }

  /** In the order of the broker. */
  async of(broker: BrokerRecord): Promise<ListenerView[]> {
    const entries = await this.#runtimes.ask(broker, ({ controls }) => listListeners(controls));
    const deployed = this.#certificates.deployedOn(broker);
    return entries.map((entry) => {
      const { port, bindAddress } = entry;
      const here = deployed.filter((one) => one.port === port && one.bindAddress === (bindAddress ?? ''));
      return { entry, certificates: here.map(({ certificate }) => certificate) };
    });
  }
}
