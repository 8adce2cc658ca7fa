import { builder, writesAccessControl } from '../../../gateway/graphql/builder.ts';
import { BROKER_QUERY_COST } from '../../../gateway/graphql/page-cost.ts';
import { mayControl } from '../../../platform/auth/viewer.ts';
import { Broker } from '../../brokers/broker-schema.ts';
import type { BridgeWrite } from '../bridge-service.ts';
import { Bridge } from './bridge-schema.ts';

const UpdateBridgeConfigInput = builder.inputType('UpdateBridgeConfigInput', {
  description: 'What a bridge is to do.',
  fields: (t) => ({
    brokerId: t.id({ description: 'The broker that it is about.', required: true }),
    projectId: t.id({ description: 'When given, the broker must be in this project.' }),
    bridgeId: t.id({ description: 'Of a bridge of this broker.', required: true }),
    config: t.field({
      description:
        'Whole, as the schema of the bridge says. `***` in place of a secret keeps it, while the host it is sent to (for web addresses also the path) and the settings of TLS stay the same; entries of lists are known by their `name`.',
      type: 'JSON',
      required: true,
    }),
  }),
});

const BridgePayload = builder.objectRef<BridgeWrite>('BridgePayload').implement({
  description: 'The bridge that something was done to.',
  fields: (t) => ({
    bridge: t.field({
      description: 'As it is after that; null: the broker does not have it any more.',
      type: Bridge,
      nullable: true,
      complexity: BROKER_QUERY_COST,
      resolve: ({ readBridge }) => readBridge(),
    }),
    broker: t.field({ description: 'The one that it stands beside.', type: Broker, resolve: ({ broker }) => broker }),
  }),
});

builder.mutationFields((t) => ({
  updateBridgeConfig: t.field({
    description:
      'Replaces the configuration of a bridge. Answers when it is kept; subscription `bridgeStatus` tells how its connections come up. Connections that it leaves as they are go on undisturbed. INVALID tells all that is wrong, with JSON pointers into the configuration as paths.',
    type: BridgePayload,
    ...writesAccessControl,
    args: {
      input: t.arg({
        description: 'Which bridge, and its configuration.',
        type: UpdateBridgeConfigInput,
        required: true,
      }),
    },
    resolve: (_root, { input: { brokerId, bridgeId, config } }, { services, viewer }) => {
      const broker = services.brokers.visible(brokerId, viewer);
      const by = { mayControl: mayControl(viewer, broker), isRootAdmin: viewer?.isRootAdmin === true };
      return services.bridges.update(broker, bridgeId, config, by);
    },
  }),
}));
