import { clientPath } from '../clients/client-address.ts';
import type { ShownProblem } from './operations.ts';

type Problem = Pick<ShownProblem, 'kind' | 'broker' | 'project' | 'subjectName'>;
type Kind = ShownProblem['kind'];

/** The screen of a broker on which the cause is seen. */
const SCREEN: Partial<Record<Kind, string>> = {
  BRIDGE_DOWN: 'bridges',
  BRIDGE_DROPPING: 'bridges',
  BRIDGE_LOOP: 'bridges',
  BRIDGE_QUEUE_FILLING: 'bridges',
  CLIENT_FLOODING: 'clients',
  CLIENT_ID_CONFLICT: 'refusals',
  LIST_INCOMPLETE: 'clients',
  QUEUES_DROPPING: 'clients?sort=DROPPED_MESSAGES&order=DESC',
  REFUSALS_RISING: 'refusals',
  RETAINED_LIMIT: 'topics',
  STREAM_FAILING: 'streams',
  STREAM_NOT_STORING: 'streams',
};
const SCREEN_OF_PROJECT: Partial<Record<Kind, string>> = {
  CERTIFICATE_EXPIRING: 'certificates',
  CLUSTER_DRIFTED: 'clusters',
  CLUSTER_NODE_DOWN: 'clusters',
  TOKEN_EXPIRING: 'tokens',
};

/** The key of the screen of a broker or a project on which problems of a kind are seen; `null`: on no certain one. */
export function screenOf(kind: Kind, place: 'BROKER' | 'PROJECT'): string | null {
  const address = (place === 'BROKER' ? SCREEN : SCREEN_OF_PROJECT)[kind];
  return address?.split('?')[0] ?? null;
}

/** Where to go from a problem; `null` for one of the service itself. */
export function problemAddress({ kind, broker, project, subjectName }: Problem) {
  if (broker && kind === 'CLIENT_FLOODING' && subjectName !== null) return clientPath(broker.id, subjectName);
  const ofProject = SCREEN_OF_PROJECT[kind];
  if (project && (ofProject !== undefined || !broker)) return `/projects/${project.id}/${ofProject ?? ''}`;
  if (broker) return `/brokers/${broker.id}/${SCREEN[kind] ?? ''}`.replace(/\/$/, '');
  return null;
}
