import { graphql, type ResultOf } from '../graph/graphql.ts';

export const BRIDGES = graphql(`query Bridges($id: ID!) {
  broker(id: $id) {
    bridges { id key name isActive isConfigurable provider origin viewerCanUpdate }
  }
}`);

export const STATUS = graphql(`subscription BridgeStatus($brokerId: ID!, $bridgeId: ID!, $after: SafeInt) {
  bridgeStatus(brokerId: $brokerId, bridgeId: $bridgeId, after: $after) {
    kind
    sequence
    isConnected
    connections {
      name
      state
      isConnected
      since
      error
      queuedMessages
      queuedBytes
      received
      delivered
      dropped
      rejected
      lastRejection { at reason }
      loop { reason }
    }
  }
}`);

export const CONFIG = graphql(`query BridgeConfig($id: ID!, $key: String!) {
  broker(id: $id) { bridge(key: $key) { config(strict: true) schema(strict: true) } }
}`);

export const UPDATE = graphql(`mutation UpdateBridge($input: UpdateBridgeConfigInput!) {
  updateBridgeConfig(input: $input) { bridge { id isActive } }
}`);

export type Bridge = NonNullable<NonNullable<ResultOf<typeof BRIDGES>['broker']>['bridges']>[number];
export type StatusEvent = ResultOf<typeof STATUS>['bridgeStatus'];
export type Connection = StatusEvent['connections'][number];
