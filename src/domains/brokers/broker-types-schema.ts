import { builder } from '../../gateway/graphql/builder.ts';
import { describedEnum } from '../../gateway/graphql/described-enum.ts';
import type { Engine } from '../../protocol/hosting/broker-engine.ts';
import type { BrokerRecord } from './broker-cache.ts';

export const BROKER_TYPES = {
  CLOUD: { description: 'A broker that this service runs.' },
  SELF_HOSTED: { description: 'A broker outside this service, reached by its URL.' },
  ON_PREMISE_SETUP: { description: 'An on-premise installation that belongs to a product.' },
} as const;

export const BrokerType = builder.enumType('BrokerType', { description: 'Where a broker runs.', values: BROKER_TYPES });

export const ClusterMode = describedEnum('ClusterMode', 'What the nodes of a cluster share.', {
  FULL: 'Access control, sessions, retained messages and all published messages. Clients connect to the leader. Requires at least three nodes with the control API cedalo/ha.',
  DYNSEC:
    'Access control: accounts, groups, roles and rules. Clients of different nodes do not exchange messages. Requires at least two nodes with dynamic security.',
  HP: 'The same as FULL, but each node has its own topic tree.',
});

export const NO_SALES = 'this service has no sales.';

export const CloudBrokerState = describedEnum('CloudBrokerState', 'The state of a broker that this service runs.', {
  ACTIVE: 'The broker runs.',
  INACTIVE: 'The broker is stopped.',
  NEW: 'The broker was created and has not been started yet.',
  PROVISIONING: 'The broker is being started.',
  UPDATING: 'The broker is being restarted.',
  ERROR: 'The broker failed: see `problem`. The service retries with an increasing delay.',
  SHUTTING_DOWN: 'The broker is being stopped.',
});

/** The database also has the states of a payment, which no broker reaches. */
export function cloudStateOf({ state }: Pick<BrokerRecord, 'state'>) {
  return state === null || state === 'STOPPING_PAYMENT' || state === 'PAYMENT_STOPPED' ? 'NEW' : state;
}

export const CloudBrokerTargetState = describedEnum(
  'CloudBrokerTargetState',
  'The state that an editor requested for a broker that this service runs.',
  {
    ACTIVE: 'The service runs the broker and restarts it after a failure.',
    INACTIVE: 'The service stops the broker. Its data remains.',
  },
);

export const CloudBrokerEngine = builder.enumType('CloudBrokerEngine', {
  description: 'The software of a broker that this service runs.',
  values: {
    EMBEDDED: { value: 'embedded' as Engine, description: 'A broker in a worker thread of this service.' },
    MOSQUITTO: {
      value: 'mosquitto' as Engine,
      description: 'A Mosquitto process of this service. Requires an installed Mosquitto.',
    },
  },
});
