import { KNOWN_APIS } from '../../../protocol/control/capability-probe.ts';
import { DYNSEC_API } from '../../../protocol/control/dynamic-security.ts';
import { type ControlApi, requestTopic, responseTopic } from '../../../protocol/control/envelope.ts';
import { SYS_FILTERS } from '../../brokers/sys-topics.ts';
import { LOG_FILTERS } from '../../clients/inspect/inspect-plugin.ts';
import type { AccessAction } from '../explain/access-explanation.ts';

export interface OwnRight {
  readonly action: AccessAction;
  readonly topic: string;
}

/** Something for which this service uses its own connection. */
export interface OwnUse {
  /** For people: what is lost without it. */
  readonly what: string;
  /** All are needed: nothing is lost with one of them where another is missing already. */
  readonly rights: readonly OwnRight[];
}

const controlUse = (api: ControlApi, what: string): OwnUse => ({
  what,
  rights: [
    { action: 'PUBLISH', topic: requestTopic(api) },
    { action: 'SUBSCRIBE', topic: responseTopic(api) },
    { action: 'RECEIVE', topic: responseTopic(api) },
  ],
});

/** What a filter brings are many topics, which the broker makes up; one stands for them all. */
const listeningUse = (filter: string, what: string): OwnUse => ({
  what,
  rights: [
    { action: 'SUBSCRIBE', topic: filter },
    { action: 'RECEIVE', topic: filter.replace(/[+#]$/, 'any') },
  ],
});

/** The most important first: the control APIs, and what the broker tells below `$SYS`. */
export const OWN_USES: readonly OwnUse[] = [
  controlUse(DYNSEC_API, "the control of the broker's access control"),
  ...KNOWN_APIS.filter((api) => api !== DYNSEC_API).map((api) => controlUse(api, `the use of ${api}`)),
  ...LOG_FILTERS.map((filter) => listeningUse(filter, 'the list of connected clients')),
  ...SYS_FILTERS.map((filter) => listeningUse(filter, 'what the broker tells of itself')),
];
