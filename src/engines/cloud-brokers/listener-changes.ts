import type { Broker, BrokerListener, CertificateDeployment, Prisma } from '../../generated/sqlite/client.ts';
import { type InputIssue, invalid } from '../../platform/errors.ts';
import type { CloudEngines } from './cloud-engines.ts';
import { cloudBrokerIssues, type ListenerInput } from './cloud-input.ts';

type StoredBroker = Broker & {
  readonly listeners: readonly BrokerListener[];
  readonly deployments: readonly CertificateDeployment[];
};

/** The number of a listener, and what is changed. */
export type ListenersChange =
  | { readonly add: ListenerInput }
  | { readonly update: number; readonly port: number }
  | { readonly remove: number };

interface ChangeRules {
  readonly isRootAdmin: boolean;
  readonly engines: Pick<CloudEngines, 'settingIssues'>;
}

/** Whether two lists are different. */
export const areOther = (after: readonly BrokerListener[], before: readonly BrokerListener[]): boolean =>
  JSON.stringify(after) !== JSON.stringify(before);

/** The change of the rows. Errors: INVALID. */
export async function listenersUpdate(
  broker: StoredBroker,
  change: ListenersChange,
  { isRootAdmin, engines }: ChangeRules,
): Promise<Prisma.BrokerUpdateInput> {
  const { id: brokerId, listeners, deployments } = broker;
  const number = 'add' in change ? 0 : 'update' in change ? change.update : change.remove;
  const current = listeners.find((listener) => listener.number === number);
  if (!('add' in change) && current === undefined) {
    throw invalid([{ path: 'input.number', reason: `is no listener of the broker: ${numbersOf(listeners)}` }]);
  }
  if ('remove' in change) {
    if (listeners.length === 1) throw invalid([{ path: 'input.number', reason: 'is the last listener of the broker' }]);
    if (deployments.some(({ port }) => port === current?.port)) {
      throw invalid([{ path: 'input.number', reason: 'has deployed certificates: remove them first' }]);
    }
    return { listeners: { delete: { brokerId_number: { brokerId, number } } } };
  }
  const changed = 'add' in change ? change.add : { ...(current as BrokerListener), port: change.port };
  const others = listeners.filter((listener) => listener.number !== number);
  const issues = await issuesOf(broker, changed, others, isRootAdmin, engines);
  if (issues.length > 0) throw invalid(issues);
  if ('add' in change) {
    // A listener with deployed certificates is not removed, so none is left under this number.
    const next = Math.max(...listeners.map((listener) => listener.number)) + 1;
    return { listeners: { create: { ...change.add, number: next } } };
  }
  return {
    listeners: { update: { where: { brokerId_number: { brokerId, number } }, data: { port: change.port } } },
    deployments: { updateMany: { where: { port: current?.port ?? 0 }, data: { port: change.port } } },
  };
}

/** The issues of one listener. The others may have privileged ports that a root administrator chose. */
async function issuesOf(
  { name, location, engine }: StoredBroker,
  changed: ListenerInput,
  others: readonly BrokerListener[],
  isRootAdmin: boolean,
  engines: ChangeRules['engines'],
): Promise<InputIssue[]> {
  const listeners = [...others, changed];
  const input = {
    name,
    engine: engine === 'mosquitto' ? engine : 'embedded',
    location: location ?? 'fsn1',
    listeners,
  } as const;
  const last = `input.listeners.${others.length}`;
  const found = [
    ...cloudBrokerIssues(input, isRootAdmin),
    ...(await engines.settingIssues({ ...input, listeners: [changed] })),
  ];
  return found.flatMap(({ path, reason }) => {
    if (path === 'input.listeners') return [{ path: 'input', reason: `the listeners of the broker ${reason}` }];
    if (path.startsWith(`${last}.`)) return [{ path: path.replace(last, 'input'), reason: withoutPaths(reason) }];
    return path.startsWith('input.listeners.0') && others.length === 0 ? [{ path: 'input', reason }] : [];
  });
}

const withoutPaths = (reason: string): string =>
  reason.replace(/is that of input\.listeners\.\d+, too/, 'is that of another listener of the broker');

const numbersOf = (listeners: readonly BrokerListener[]): string =>
  `it has ${listeners.map(({ number }) => number).join(', ')}`;
