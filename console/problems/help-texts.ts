import type { introspection } from '../../src/generated/graph.d.ts';
import { catalogue } from '../texts/texts.ts';

type Kind = introspection['types']['ProblemKind']['enumValues'];

/** What an operator can do, by the kind of the problem. Some problems have more precise words of the service. */
export const helpTexts = catalogue<Kind>('problems/help', {
  BROKER_UNREACHABLE:
    'Check that the broker runs, and that its address and port are correct and reachable from this service.',
  BROKER_UNAUTHORIZED: 'Correct the user name and the password in the settings of the broker, or enable the account.',
  BROKER_RIGHTS_MISSING: 'Give the missing rights to the account with which this service connects.',
  CAPABILITY_MISSING: 'The capabilities of the broker describe what is missing.',
  LOG_NOT_UNDERSTOOD: 'Update this service. Until then, lists of clients may be incomplete.',
  LIST_INCOMPLETE: 'Clients that connected before this service are listed when they connect again.',
  BRIDGE_DOWN: 'Check that the other side of the bridge runs, and the address and the credentials of the bridge.',
  BRIDGE_QUEUE_FILLING: 'Check why the other side of the bridge is slow or not connected, or forward fewer topics.',
  BRIDGE_DROPPING:
    'Check the queue and the rejected messages of the bridge: messages were dropped or cannot be delivered.',
  BRIDGE_LOOP: 'Remove the topic from one direction of the bridges, or give the directions different prefixes.',
  STREAM_FAILING: 'Compare the query of the stream with the messages: they may not be JSON, or lack a number.',
  STREAM_NOT_STORING: 'Free disk space, raise STREAM_STORAGE_MAX_MB, or shorten how long messages are stored.',
  REFUSALS_RISING: 'The list of what the broker denied has each reason, and what would help.',
  CLIENT_ID_CONFLICT: 'Configure another client id in all of these clients but one.',
  CLIENT_FLOODING: 'Check the program of the client, disconnect it or disable its account, or raise the threshold.',
  QUEUES_DROPPING:
    'Check clients with long queues: they are slow or not connected. Delete their sessions, set a session expiry, or raise the limit of queued messages.',
  RETAINED_LIMIT: 'Delete retained messages that are not used: the limit of retained messages is reached.',
  CERTIFICATE_EXPIRING: 'Upload a new certificate in its place, and deploy it to the listeners.',
  TOKEN_EXPIRING: 'Rotate the token, and configure the new secret in the programs that use it.',
  CLUSTER_NODE_DOWN: 'Start the node, or check the network between this service and the node.',
  CLUSTER_DRIFTED: 'Repair the node: this writes the access control of the cluster to it, or adopts that of the node.',
  CLOUD_BROKER_ERROR: 'Correct the cause that is named, then start the broker again.',
  PROCESS_AWAY:
    'Start the process again. If it was removed on purpose, acknowledge the problem, which closes after a day.',
  DATABASE_SLOW: 'Check the load and the disk of the database, and the network to it.',
  DATABASE_AWAY: 'Start the database, or check the network to it. Nothing can be changed until then.',
  DISK_LOW: 'Free space on the disk of the data folder, or shorten how long messages are stored.',
  AUDIT_WAITING: 'Check the database and its disk. If too many entries wait, all changes are denied.',
  LINK_LIMIT: 'Raise MAX_BROKER_LINKS, or remove brokers that are not used.',
});
