import type { InputIssue } from '../../platform/errors.ts';
import { MAX_DESCRIPTION, MAX_NAME, textIssues } from '../../platform/text/texts.ts';
import type { BrokerMaximums, Engine, ListenerWanted } from '../../protocol/hosting/broker-engine.ts';

export type ListenerInput = Omit<ListenerWanted, 'number' | 'host'>;

export interface CloudBrokerInput extends BrokerMaximums {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly engine: Engine;
  readonly location: string;
  readonly listeners: readonly ListenerInput[];
}

/** Region codes of the REST interface. */
const LOCATIONS: readonly string[] = ['fsn1', 'nbg1', 'hel1', 'ash', 'hil'];
const MAX_LISTENERS = 10;
const MAX_PORT = 65_535;
const FIRST_UNPRIVILEGED_PORT = 1_024;
/** The connections of this service to the broker count, too. */
const LEAST_MAXIMUM = 20;
const MOST_MAXIMUM = 2 ** 31 - 1;

export function cloudBrokerIssues(input: CloudBrokerInput, isRootAdmin: boolean): InputIssue[] {
  const { name, description, location, listeners } = input;
  const issues = [
    ...textIssues('input.name', name.trim(), { min: 1, max: MAX_NAME }),
    ...textIssues('input.description', description, { max: MAX_DESCRIPTION }),
  ];
  if (!LOCATIONS.includes(location)) {
    issues.push({ path: 'input.location', reason: `must be one of ${LOCATIONS.join(', ')}` });
  }
  if (listeners.length === 0 || listeners.length > MAX_LISTENERS) {
    issues.push({ path: 'input.listeners', reason: `must have 1 to ${MAX_LISTENERS} entries` });
  }
  for (const name of ['maxClients', 'maxConnections'] as const) {
    const maximum = input[name] ?? LEAST_MAXIMUM;
    if (maximum < LEAST_MAXIMUM || maximum > MOST_MAXIMUM) {
      const reason = `must be a whole number from ${LEAST_MAXIMUM} to ${MOST_MAXIMUM}`;
      issues.push({ path: `input.${name}`, reason });
    }
  }
  for (const [index, listener] of listeners.entries()) {
    const { port, tls, requireCertificate, protocolLevels, proxyProtocol } = listener;
    const path = `input.listeners.${index}`;
    if (!Number.isInteger(port) || port < 0 || port > MAX_PORT) {
      issues.push({ path: `${path}.port`, reason: `must be a whole number from 0 to ${MAX_PORT}` });
    }
    if (port > 0 && port < FIRST_UNPRIVILEGED_PORT && !isRootAdmin) {
      const reason = `must be 0 or at least ${FIRST_UNPRIVILEGED_PORT}: lower ports are for root administrators`;
      issues.push({ path: `${path}.port`, reason });
    }
    const first = listeners.findIndex((other) => other.port === port);
    if (port !== 0 && first < index) {
      issues.push({ path: `${path}.port`, reason: `is that of input.listeners.${first}, too` });
    }
    if (requireCertificate && !tls) {
      issues.push({ path: `${path}.requiresCertificate`, reason: 'needs hasTls: true' });
    }
    if (protocolLevels === '') issues.push({ path: `${path}.protocolVersions`, reason: 'must have an entry' });
    if (proxyProtocol && tls) {
      issues.push({ path: `${path}.proxyProtocol`, reason: 'needs hasTls: false: TLS ends at the proxy' });
    }
  }
  return issues;
}
