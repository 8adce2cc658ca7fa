import { invalid } from '../../platform/errors.ts';
import type { TestLimit } from '../../platform/limits/test-limit.ts';
import { textIssues } from '../../platform/text/texts.ts';
import { withoutNulls } from '../../platform/without-nulls.ts';
import { BrokerControls } from '../../protocol/control/broker-controls.ts';
import type { ControlCapability } from '../../protocol/control/plugin.ts';
import { BrokerLink } from '../../protocol/mqtt/broker-link.ts';
import type { LinkStatus } from '../../protocol/mqtt/broker-session.ts';
import { newReadingLimits } from '../../protocol/mqtt/reading-limits.ts';
import { ReadingTimeLimit } from '../../protocol/mqtt/reading-time-limit.ts';
import { lengthProblem } from '../../protocol/mqtt/topics.ts';
import { whenConnected } from '../../protocol/mqtt/when-connected.ts';
import type { BrokerInput, BrokerService, BrokerWriter } from './broker-service.ts';
import { type LinkSettingsOptions, linkSettings } from './link-settings.ts';

export interface BrokerTest {
  readonly connection: LinkStatus;
  readonly capabilities: readonly ControlCapability[];
  /** Of the filters below. */
  readonly deniedFilters: readonly string[];
}

/** APIs that no plugin of this service replaces. */
const APIS = ['dynamic-security', 'broker'] as const;
/** The numbers of a broker, and the clients of a Mosquitto. */
const FILTERS = ['$SYS/broker/version', '$SYS/broker/log/#'] as const;

type BrokerTestInput = BrokerInput & { readonly clientId?: string | null | undefined };

interface BrokerTestsOptions extends Pick<LinkSettingsOptions, 'sealer' | 'rules'> {
  readonly brokers: BrokerService;
  readonly timeoutMs: number;
  readonly limit: TestLimit;
}

/** Tests connections to brokers before they are added. Nothing is stored. */
export class BrokerTests {
  readonly #options: BrokerTestsOptions;
  readonly #readingLimits = newReadingLimits(new ReadingTimeLimit());

  constructor(options: BrokerTestsOptions) {
    this.#options = options;
  }

  /** Errors: INVALID as for a new broker; RATE_LIMITED. */
  run({ clientId, ...input }: BrokerTestInput, by: BrokerWriter, callerId: string): Promise<BrokerTest> {
    const { brokers, timeoutMs, sealer, rules, limit } = this.#options;
    return limit.run(callerId, async () => {
      const issues = textIssues('input.clientId', clientId, { min: 1, max: 65_535 });
      const reason = clientId == null ? null : lengthProblem(clientId);
      if (reason !== null) issues.push({ path: 'input.clientId', reason });
      if (issues.length > 0) throw invalid(issues);
      const broker = await brokers.unsaved(input, by);
      const settings = await linkSettings(broker, { sealer, rules });
      const own = { id: broker.id, timeoutMs, readingLimits: this.#readingLimits, sessionExpirySeconds: 0 };
      const link = new BrokerLink({ ...settings, ...own, ...withoutNulls({ clientId, group: broker.projectId }) });
      const controls = new BrokerControls(link, { timeoutMs });
      link.open();
      try {
        const isConnected = await whenConnected(link, timeoutMs).then(
          () => true,
          () => false,
        );
        if (!isConnected) return { connection: link.status, capabilities: [], deniedFilters: [] };
        const [capabilities, denied] = await Promise.all([
          Promise.all(APIS.map((api) => controls.capability(api))),
          Promise.all(FILTERS.map((filter) => isDenied(link, filter))),
        ]);
        return { connection: link.status, capabilities, deniedFilters: FILTERS.filter((_filter, at) => denied[at]) };
      } finally {
        await controls.close();
        await link.close();
      }
    });
  }
}

const isDenied = (link: BrokerLink, filter: string): Promise<boolean> =>
  link
    .subscribe(filter, () => undefined)
    .then(
      () => false,
      () => true,
    );
