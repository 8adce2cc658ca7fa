import { builder, writesAccessControl } from '../../../gateway/graphql/builder.ts';
import { BROKER_QUERY_COST } from '../../../gateway/graphql/page-cost.ts';
import { inputArgument } from '../../../gateway/graphql/payloads.ts';
import { withBroker } from '../../../gateway/graphql/type-scopes.ts';
import { ofBroker, viewerCan } from '../../../gateway/graphql/viewer-can.ts';
import { mayControl } from '../../../platform/auth/viewer.ts';
import { replaceExactNumbers } from '../../../platform/text/exact-number.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import type { BridgeWrite } from '../bridge-service.ts';
import { Bridge } from './bridge-schema.ts';

const UpdateBridgeConfigInput = builder.inputType('UpdateBridgeConfigInput', {
  description: 'The new configuration of a bridge.',
  fields: (t) => ({
    brokerId: t.id({ description: 'The id of the broker.', required: true }),
    projectId: t.id({ description: 'If given, the broker must be in this project.' }),
    bridgeKey: t.string({ description: 'The key of a bridge of this broker.', required: true }),
    config: t.field({
      description:
        'The whole configuration, as the schema of the bridge describes. `***` keeps a secret if the host it is sent to (for web addresses also the path) and the TLS settings stay the same. Entries of lists are matched by `name`.',
      type: 'JSON',
      required: true,
    }),
  }),
});

const UpdateBridgeConfigPayload = builder.objectRef<BridgeWrite>('UpdateBridgeConfigPayload').implement({
  ...withBroker,
  description: 'The result of a change of a bridge.',
  fields: (t) => ({
    bridge: t.field({
      description: 'The bridge after the change; null if the broker no longer has it.',
      type: Bridge,
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: ({ readBridge }) => readBridge(),
    }),
    broker: t.field({ description: 'The broker of the bridge.', type: Broker, resolve: ({ broker }) => broker }),
  }),
});

builder.mutationFields((t) => ({
  updateBridgeConfig: t.field({
    description:
      'Replaces the configuration of a bridge. Responds when it is stored; the subscription `bridgeStatus` reports how its connections start. Unchanged connections continue undisturbed. INVALID lists all issues, with JSON pointers into the configuration as paths.',
    type: UpdateBridgeConfigPayload,
    ...writesAccessControl,
    args: inputArgument(UpdateBridgeConfigInput, 'The bridge, and its new configuration.'),
    resolve: (_root, { input: { brokerId, bridgeKey, config } }, { services, viewer }) => {
      const broker = services.brokers.visible(brokerId, viewer);
      const by = { mayControl: mayControl(viewer, broker), isRootAdmin: viewer?.isRootAdmin === true };
      return services.bridges.update(broker, bridgeKey, replaceExactNumbers(config), by);
    },
  }),
}));

builder.objectFields(Bridge, (t) => ({
  viewerCanUpdate: t.boolean(
    viewerCan('Mutation.updateBridgeConfig', 'change the configuration of the bridge', ({ broker }) =>
      ofBroker(broker),
    ),
  ),
}));
