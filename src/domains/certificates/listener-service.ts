import type { BrokerRecord } from '../brokers/broker-cache.ts';
import type { BrokerRuntimes } from '../brokers/broker-runtimes.ts';
import type { CertificateRecord } from './certificate-cache.ts';
import type { ListenerEntry } from './certificate-control.ts';
import { listListeners } from './certificate-control.ts';
import type { CertificateService } from './certificate-service.ts';

export interface ListenerView {
  readonly entry: ListenerEntry;
  readonly certificates: readonly CertificateRecord[];
}

export class ListenerService {
  readonly #runtimes: BrokerRuntimes;
  readonly #certificates: CertificateService;

  constructor(runtimes: BrokerRuntimes, certificates: CertificateService) {
    this.#runtimes = runtimes;
    this.#certificates = certificates;
  }

  /** In the order that the broker reports. Errors: NOT_SUPPORTED_BY_BROKER, and those of an unreachable broker. */
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
