import type { introspection } from '../../src/generated/graph.d.ts';
import { catalogue } from '../texts/texts.ts';

type Kind = introspection['types']['ProblemKind']['enumValues'];

/** What is wrong, by the kind of the problem. */
export const titleTexts = catalogue<Kind>('problems/title', {
  BROKER_UNREACHABLE: 'The broker cannot be reached',
  BROKER_UNAUTHORIZED: 'The broker does not accept the credentials of this service',
  BROKER_RIGHTS_MISSING: 'The account of this service lacks rights',
  CAPABILITY_MISSING: 'A function of the broker is not available',
  LOG_NOT_UNDERSTOOD: 'The log of the broker has lines that this service does not understand',
  LIST_INCOMPLETE: 'The list of clients is incomplete',
  BRIDGE_DOWN: 'A bridge is not connected',
  BRIDGE_QUEUE_FILLING: 'The queue of a bridge is filling',
  BRIDGE_DROPPING: 'A bridge loses messages',
  BRIDGE_LOOP: 'Messages of a bridge go in a circle',
  STREAM_FAILING: 'A stream cannot process messages',
  STREAM_NOT_STORING: 'A stream does not store messages',
  REFUSALS_RISING: 'Many attempts of clients are denied',
  CLIENT_ID_CONFLICT: 'Several clients use one client id',
  CLIENT_FLOODING: 'A client sends very many messages',
  QUEUES_DROPPING: 'The broker drops messages for slow clients',
  RETAINED_LIMIT: 'The broker stores no further retained messages',
  CERTIFICATE_EXPIRING: 'A certificate expires soon, or has expired',
  TOKEN_EXPIRING: 'A token expires soon, or has expired',
  CLUSTER_NODE_DOWN: 'A node of a cluster cannot be reached',
  CLUSTER_DRIFTED: 'A node of a cluster has other access control than the cluster',
  CLOUD_BROKER_ERROR: 'A broker of this service does not run as it should',
  PROCESS_AWAY: 'A process of the service is not there',
  DATABASE_SLOW: 'The database is slow',
  DATABASE_AWAY: 'The database does not respond',
  DISK_LOW: 'A disk has little free space, or cannot be written',
  AUDIT_WAITING: 'Audit entries cannot be written',
  LINK_LIMIT: 'The service has no connection for further brokers',
});
