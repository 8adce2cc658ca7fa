import { builder, onBroker } from '../../../gateway/graphql/builder.ts';
import { guardedBroker } from '../../../gateway/graphql/guarded.ts';
import { eventFields, resumable, resumeArgument } from '../../../gateway/graphql/live-event.ts';
import { stateIn } from '../../../gateway/live/broadcast.ts';
import { type NamedNodeKind, namedNodeId } from '../../../gateway/named-node-id.ts';
import type { BrokerRecord } from '../../brokers/broker-cache.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import type { AccessEvent } from '../live/access-feed.ts';
import type { AccessPart } from '../reading/access-parts.ts';
import { AccessControlSummary } from './access-control-schema.ts';
import { AccessGroup, AccessRole, Account } from './access-objects-schema.ts';
import { DefaultAcl } from './access-rules-schema.ts';
import type { AccessView, WithView } from './access-view.ts';

interface SeenEvent {
  readonly broker: BrokerRecord;
  readonly event: AccessEvent;
}

/** Assumed changed objects per event and kind, for the cost of a subscription. */
const USUAL_EVENT = { field: 1, multiplier: 10 };

const viewIn = ({ event }: SeenEvent): AccessView | null => stateIn(event)?.latest() ?? null;
const differenceIn = ({ event }: SeenEvent) => (event.kind === 'CHANGE' ? event.change.difference : null);

function changed<T>(
  parent: SeenEvent,
  part: AccessPart,
  find: (view: AccessView, name: string) => WithView<T> | null,
): WithView<T>[] {
  const view = viewIn(parent);
  if (view === null) return [];
  return (differenceIn(parent)?.changed[part] ?? []).flatMap((name) => find(view, name) ?? []);
}

const KINDS: readonly (readonly [AccessPart, NamedNodeKind])[] = [
  ['clients', 'account'],
  ['groups', 'accessGroup'],
  ['roles', 'accessRole'],
];

const AccessControlEvent = builder.objectRef<SeenEvent>('AccessControlEvent').implement({
  description:
    'The first event has the current state, each further event one change. Objects are as they are when the event is sent, which may include later changes.',
  fields: (t) => ({
    ...eventFields(t, ({ event }) => event),
    accessControl: t.field({
      description: 'Counts and revision. Null if the event is neither SNAPSHOT nor CHANGE.',
      type: AccessControlSummary,
      nullable: true,
      resolve: viewIn,
    }),
    broker: t.field({
      description: 'SNAPSHOT: the broker, to select pages of its accounts, groups and roles from. Otherwise null.',
      type: Broker,
      nullable: true,
      resolve: ({ broker, event }) => (event.kind === 'SNAPSHOT' ? broker : null),
    }),
    accounts: t.field({
      description:
        'CHANGE: new and changed accounts. The members of a group are part of the accounts. A new password is no change.',
      type: [Account],
      complexity: USUAL_EVENT,
      resolve: (parent) => changed(parent, 'clients', (view, name) => view.account(name)),
    }),
    groups: t.field({
      description: 'CHANGE: new and changed groups, and those that became or no longer are the anonymous group.',
      type: [AccessGroup],
      complexity: USUAL_EVENT,
      resolve: (parent) => changed(parent, 'groups', (view, name) => view.group(name)),
    }),
    roles: t.field({
      description: 'CHANGE: new and changed roles.',
      type: [AccessRole],
      complexity: USUAL_EVENT,
      resolve: (parent) => changed(parent, 'roles', (view, name) => view.role(name)),
    }),
    removedIds: t.idList({
      description: 'CHANGE: the `id` of each removed account, group and role.',
      resolve: (parent) =>
        KINDS.flatMap(([part, kind]) =>
          (differenceIn(parent)?.removed[part] ?? []).map((name) =>
            namedNodeId({ kind, brokerId: parent.broker.id, name }),
          ),
        ),
    }),
    defaultAcl: t.field({
      description: 'SNAPSHOT: the default access. CHANGE: the same if it changed, otherwise null.',
      type: DefaultAcl,
      nullable: true,
      resolve: (parent) =>
        parent.event.kind === 'SNAPSHOT' || differenceIn(parent)?.isDefaultAclChanged ? viewIn(parent) : null,
    }),
    isConnected: t.boolean({
      description:
        'SNAPSHOT, CHANGE: whether this service is connected to the broker. While it is not, the last known state remains.',
      nullable: true,
      resolve: ({ event }) => stateIn(event)?.isConnected ?? null,
    }),
  }),
});

builder.subscriptionFields((t) => ({
  accessControl: t.field({
    description: resumable(
      'The accounts, groups, roles and the default access of a broker, live: changes by this service, by another process of it, and by other clients of the broker such as `mosquitto_ctrl`. Changes are usually sent within two seconds. Changes of others are noticed by the responses that the broker sends to them. A change whose response this service does not receive is noticed within 11 seconds if the broker counts its changes (`knowsChangeIndex`), otherwise within 30 seconds.',
    ),
    type: AccessControlEvent,
    ...onBroker('VIEWER'),
    args: {
      brokerId: t.arg.id({ required: true, description: 'The broker.' }),
      after: t.arg(resumeArgument),
    },
    subscribe: (_root, { brokerId, after }, context) =>
      guardedBroker(context, brokerId, (broker, signal) =>
        context.services.accessControl.watch(broker, { signal, after }),
      ),
    resolve: (event, { brokerId }, { services, viewer }) => ({
      broker: services.brokers.visible(brokerId, viewer),
      event,
    }),
  }),
}));
